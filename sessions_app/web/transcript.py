"""A session as something to read away from the dashboard: every part's texts in full up to a limit, for print and as
Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.secrets import masked
from sessions_app.models import Session
from sessions_app.selectors.sessions import SessionDetail
from sessions_app.selectors.timeline import MessageBlock, Outline, PartRow, TurnBlock, timeline_window

from . import present
from .text import plain

PRINTED = 4_000
"""Characters of one text on paper."""
WRITTEN = 100_000
"""Characters of one text in Markdown."""
WINDOW = 2_000
"""Parts that are read at once: each reading looks through the whole outline."""
_FENCE = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Text:
    """``label`` is "" for what is simply said; ``total`` counts the characters that are stored."""

    label: str
    text: str
    total: int

    @property
    def cut(self) -> int:
        return self.total - len(self.text)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part to be read: what it is, its ids, its texts."""

    row: PartRow
    word: str
    texts: tuple[Text, ...]


def piece(row: PartRow, role: str, limit: int) -> Piece:
    return Piece(row, present.kind(row.kind, role).word, tuple(_texts(row, limit)))


def _texts(row: PartRow, limit: int) -> Iterator[Text]:
    value = row.value or {}
    if row.problem:
        yield _text("Does not decode", row.problem, limit)
        return
    state = value.get("state")
    if row.kind == "tool" and isinstance(state, dict):
        for label, names in (("Input", ("input",)), ("Output", ("output", "content")), ("Error", ("error",))):
            held = next((state[name] for name in names if state.get(name) not in (None, "", {}, [])), None)
            if held is not None:
                yield _text(label, held, limit)
    elif isinstance(value.get("text"), str):
        yield _text("", value["text"], limit)
    elif row.kind not in ("step-start", "step-finish", "snapshot"):
        yield _text("Stored", value, limit)


def _text(label: str, held: Any, limit: int) -> Text:
    text = plain(held if isinstance(held, str) else json.dumps(held, ensure_ascii=False, indent=2))
    return Text(label, text[:limit], len(text))


def markdown(session: Session, detail: SessionDetail, outline: Outline) -> Iterator[str]:
    """The whole session as Markdown, a window at a time. What looks like a key is masked."""
    row = detail.row
    yield f"# {_line(row.name)}\n\n"
    facts = {
        "Id": f"`{row.stored_id}`",
        "Health": present.HEALTH.get(row.health, present.UNKNOWN).word,
        "Directory": _line(row.directory),
        "Model": _line(f"{row.provider}/{row.model}") if row.model else "",
    }
    yield "".join(f"- {name}: {value}\n" for name, value in facts.items() if value)
    yield "\n## Findings\n\n"
    lines = [
        f"- **{present.SEVERITY.get(fault.severity, present.UNKNOWN).word}** `{fault.rule}`: {_line(fault.summary)}"
        f"{' (ignored)' if fault.ignored else ''}\n"
        for fault in outline.faults
    ]
    yield "".join(lines) or "None.\n"
    start = 0
    while start < outline.parts:
        window = timeline_window(session, outline, since=start, limit=WINDOW)
        for turn in window.turns:
            yield "".join(_turn(turn))
        if window.end <= start:
            break
        start = window.end


def _turn(turn: TurnBlock) -> Iterator[str]:
    yield f"\n## Turn {turn.head.number}{' (continued)' if turn.continued else ''}\n"
    for message in turn.messages:
        yield from _message(message)


def _message(message: MessageBlock) -> Iterator[str]:
    by = f" ({_line(message.provider)}/{_line(message.model)})" if message.model else ""
    yield f"\n### {(message.kind or 'unreadable message').capitalize()}{by} `{message.stored_id}`\n"
    for row in message.parts:
        part = piece(row, message.kind, WRITTEN)
        if not part.texts:
            continue
        names = " ".join(_line(word) for word in (part.word, row.tool, row.status) if word)
        yield f"\n**{names}** `{row.stored_id}`{f' call `{row.call_id}`' if row.call_id else ''}\n"
        for fault in row.faults:
            yield f"\n> {fault.severity}: {_line(fault.summary)}\n"
        for text in part.texts:
            yield _fenced(text)
    if message.error:
        yield f"\n> {_line(str(message.error.get('name') or 'Error'))}: {_line(message.error_words)}\n"


def _fenced(text: Text) -> str:
    """Text of a transcript stays text: a fence longer than any inside it."""
    inside = masked(text.text)
    longest = max(map(len, _FENCE.findall(inside)), default=2) if "```" in inside else 2
    fence = "`" * (longest + 1)
    more = f"\n({text.cut:,} more characters are left out)\n" if text.cut > 0 else ""
    return f"\n{f'{text.label}:' if text.label else ''}\n{fence}\n{inside}\n{fence}\n{more}"


def _line(text: str) -> str:
    """Transcript text inside a line of Markdown, with nothing that Markdown or HTML would act on."""
    flat = " ".join(masked(plain(text)).split())
    return re.sub(r"([\\`*_\[\]<>#|!])", r"\\\1", flat)
