"""A V1 history as the plain text that a compaction summarises (docs/contract/wire.md#c2, #6.8.b).

One section per message, an empty line between; what the client's own instruction says around it is left out. The client
leaves the newest part of a large history out of its summary request; by which budget is not known, so here everything
is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.model import (
    CompactionPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Session,
    TextPart,
    ToolPart,
)

from .replay import replayed
from .v1 import CLEARED

LONGEST_OUTPUT: Final = 2000
"""Characters of a tool's output that the client lets a summary see."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """``text`` is the history since the last finished compaction; ``prior`` that compaction's summary, None where there
    is none."""

    text: str
    prior: str | None


def conversation(session: Session, next_prompt: str | None = None, whole: bool = False) -> Conversation:
    """What a summary of ``session`` is made from. A compaction that was started for an overflow ends it before the last
    prompt, which is sent again behind the summary; ``whole`` keeps it."""
    messages = replayed(session)
    prior = None
    if len(messages) > 1 and _compaction(messages[0]) and messages[1].data.get("summary"):
        prior = "\n".join(
            part.text for part in messages[1].parts if isinstance(part, TextPart) and isinstance(part.text, str)
        )
        messages = messages[2:]
    cut = None if whole else _overflow_cut(messages)
    sections = [section for message in messages[:cut] if (section := "\n".join(_lines(message)))]
    if next_prompt and cut is None:
        sections.append(f"[User]: {next_prompt}")
    return Conversation("\n\n".join(sections), prior)


def _overflow_cut(messages: list[Message]) -> int | None:
    """Where the conversation ends: before the last prompt in front of an open overflow compaction; None = at the
    end."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].is_assistant and messages[index].data.get("finish"):
            return None
        compaction = _compaction(messages[index])
        if compaction is not None:
            if not compaction.overflow:
                return None
            prompts = (at for at in range(index - 1, -1, -1) if messages[at].is_user and not _compaction(messages[at]))
            return next(prompts, None)
    return None


def _compaction(message: Message) -> CompactionPart | None:
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None) if message.is_user else None


def _lines(message: Message) -> Iterator[str]:
    if message.is_user:
        said = [text for part in message.parts if (text := _user_text(part)) is not None]
        if said:
            yield "[User]: " + "\n".join(said)
    elif message.is_assistant:
        yield from answer_lines(message, _tool_lines)


def answer_lines(message: Message, tool_lines: Callable[[ToolPart], Iterator[str]]) -> Iterator[str]:
    """An answer's parts, its calls as ``tool_lines`` tells them."""
    for part in message.parts:
        if isinstance(part, TextPart) and part.text:
            yield f"[Assistant]: {part.text}"
        elif isinstance(part, ReasoningPart) and part.text:
            yield f"[Assistant reasoning]: {part.text}"
        elif isinstance(part, ToolPart):
            yield from tool_lines(part)


def _user_text(part: Part) -> str | None:
    if isinstance(part, TextPart) and not part.ignored and isinstance(part.text, str) and part.text:
        return part.text
    return attached(part.mime, part.filename) if isinstance(part, FilePart) else None


def _tool_lines(part: ToolPart) -> Iterator[str]:
    """The call; its output or error where it has ended."""
    yield f"[Assistant tool call]: {part.tool}({jsjson.encode(part.input)})"
    if part.status == "error":
        yield f"[Tool error]: {part.state.get('error')}"
    elif part.status == "completed":
        time = part.state.get("time")
        if isinstance(time, dict) and time.get("compacted"):
            yield f"[Tool result]: {CLEARED}"
            return
        output = part.state.get("output")
        yield f"[Tool result]: {shortened(output if isinstance(output, str) else jsjson.encode(output))}"
        yield from (attached(item.get("mime"), item.get("filename")) for item in members(part.state.get("attachments")))


def shortened(text: str) -> str:
    """As much of an output as the client lets a summary see."""
    return text if len(text) <= LONGEST_OUTPUT else text[:LONGEST_OUTPUT] + "\n[truncated]"


def attached(mime: Any, filename: Any) -> str:
    """The line that stands for a file."""
    return f"[Attached {mime}: {filename or 'file'}]"


def members(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a list, nothing for what is none."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
