"""The request that a V1 client sends first where a compaction is pending (docs/contract/wire.md#c2, #6.8.b)."""

from __future__ import annotations

from typing import Final

from sessions_app.domain.model import V1, Session
from sessions_app.domain.wire.lowered import NOBODY, Lowered, LoweringError

from .conversation import conversation

INSTRUCTION: Final = "[the client's own instruction for the summary, which is left out here as its system prompt is]"
_HEAD: Final = "Here is the conversation so far:"
_PRIOR: Final = "Here is the summary of the conversation before the <conversation> above:"


def summary_request(session: Session, next_prompt: str | None = None) -> Lowered:
    """One user message with the whole conversation as text; ``INSTRUCTION`` stands for the client's own words behind
    it. The client leaves the newest part of a large history out; by which budget is not known, so all of it is here.

    Raises ``LoweringError`` for a session whose client sends no such request.
    """
    if session.dialect != V1:
        raise LoweringError("no-summary", "Only opencode's V1 client sends a summary request of this form.")
    said = conversation(session, next_prompt)
    text = f"{_HEAD}\n\n<conversation>\n{said.text}\n</conversation>\n\n"
    if said.prior is not None:
        text += f"{_PRIOR}\n\n<prior-summary>\n{said.prior}\n</prior-summary>\n\n"
    message = {"role": "user", "content": [{"type": "text", "text": text + INSTRUCTION}]}
    return Lowered([message], [[NOBODY]])
