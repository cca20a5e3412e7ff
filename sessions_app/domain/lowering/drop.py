"""The one choice "which failed turn loses its tools" (docs/contract/design.md#drop).

A failed turn that is sent to the model it came from is sent without its provider state. A reasoning part that had
nothing else (its text was withheld, its signature is not reused) is then filtered out, and the tool calls it led to
would stand there without the thinking they were signed with, which providers refuse. Such a turn is sent without its
tools.
"""

from __future__ import annotations

from collections.abc import Iterable

from sessions_app.domain.model import Message, Part, ReasoningPart


def loses_tools(message: Message, provider: str, model: str) -> bool:
    """Whether the failed turn ``message``, sent to ``provider``/``model``, loses a reasoning part and so its tool calls
    and results.

    False after a model switch, where reasoning is plain text on purpose, and where every reasoning part still has text.
    """
    return (
        "error" in message.data
        and message.provider == provider
        and message.model == model
        and loses_reasoning(message.parts)
    )


def loses_reasoning(parts: Iterable[Part]) -> bool:
    """Whether a reasoning part has nothing but provider state. One such part among others is enough
    (docs/contract/formats.md#b7)."""
    return any(isinstance(part, ReasoningPart) and part.text == "" for part in parts)
