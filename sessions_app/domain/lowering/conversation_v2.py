"""A V2 history as the plain text that a compaction summarises (docs/contract/formats.md#b4: the wording of ``recent``),
media and huge outputs left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.model import V2, Message, Session, ToolPart

from .conversation import Conversation, answer_lines, attached, members, shortened


def conversation_v2(session: Session) -> Conversation:
    """The V2 history since its last finished compaction, and that compaction's summary."""
    prior, since = None, 0
    for index, message in enumerate(session.history(V2)):
        if message.kind == "compaction" and _finished(message):
            summary = message.data.get("summary")
            prior, since = summary if isinstance(summary, str) else "", index + 1
    sections = ["\n".join(_lines(message)) for message in session.history(V2)[since:]]
    return Conversation("\n\n".join(section for section in sections if section), prior)


def _finished(message: Message) -> bool:
    """Generation 1 writes the row only when it is done (docs/contract/formats.md#b2)."""
    return message.generation == 1 or message.data.get("status") == "completed"


def _lines(message: Message) -> Iterator[str]:
    text = message.data.get("text")
    if message.kind in ("user", "synthetic") and isinstance(text, str) and text:
        yield f"[User]: {text}"
    if message.kind == "user":
        for file in members(message.data.get("files")):
            yield attached(file.get("mime"), file.get("name"))
    elif message.kind == "shell":
        yield f"[Shell command]: {message.data.get('command')}"
        output = message.data.get("output")
        yield f"[Shell output]: {_shortened(output.get('output') if isinstance(output, dict) else output)}"
    elif message.is_assistant:
        yield from answer_lines(message, _tool)


def _tool(part: ToolPart) -> Iterator[str]:
    given = part.input if isinstance(part.input, str) else jsjson.encode(part.input)
    yield f"[Assistant tool call]: {part.tool}({_shortened(given)})"
    if part.status == "error":
        error = part.state.get("error")
        yield f"[Tool error]: {_shortened(error.get('message') if isinstance(error, dict) else error)}"
    elif part.status == "completed":
        for item in members(part.state.get("content")):
            if item.get("type") == "text":
                yield f"[Tool result]: {_shortened(item.get('text'))}"
            else:
                yield attached(item.get("mime"), item.get("name"))


def _shortened(value: Any) -> str:
    return shortened(value if isinstance(value, str) else "" if value is None else jsjson.encode(value))
