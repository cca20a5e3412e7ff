"""A part as the timeline shows it: look, one-line summary, what is open and what is fetched when opened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sessions_app.selectors.outline import Fault, Twin
from sessions_app.selectors.timeline import PartRow

from . import present
from .partnames import Other
from .text import has_ansi, plain, summary_line

OPEN_LINES = 40
OPEN_CHARACTERS = 6_000
"""User and assistant text up to this is open in the page; longer text is cut and fetched when opened."""

QUIET_KINDS = frozenset({"step-start", "step-finish", "snapshot"})


@dataclass(frozen=True, slots=True)
class Mark:
    """A fault's mark at a part: shape, word, tone, and the fault it leads to."""

    look: present.Look
    tone: str
    fault: Fault


@dataclass(frozen=True, slots=True)
class Body:
    """Something of a part that can be opened. ``text`` is in the page already, "" = fetched from ``name`` when
    opened."""

    name: str
    label: str
    text: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class PartCard:
    row: PartRow
    look: present.Look
    css: str
    line: str
    text: str
    cut: bool
    """``text`` is the beginning only."""
    bodies: tuple[Body, ...]
    marks: tuple[Mark, ...]
    took: int | None
    quiet: bool
    """A boundary, drawn as a thin line."""
    name: str = ""
    """What it is called in its turn: "bash call 2"."""
    others: tuple[Other, ...] = ()
    """Parts that share its call id."""
    images: tuple[int, ...] = ()
    ansi: bool = False

    @property
    def heading(self) -> str:
        """Its name; of what is no call whose it is, with the number of the name."""
        if self.row.kind == "tool" and self.name:
            return self.name
        number = self.name.rpartition(" ")[2]
        return f"{self.look.word} {number}" if number.isdecimal() else self.look.word

    @property
    def child(self) -> str:
        """The stored id of the session that a sub-agent worked in, "" for every other part."""
        metadata = _state(self.row.value or {}).get("metadata")
        named = metadata.get("sessionId") if isinstance(metadata, dict) and self.row.kind == "tool" else None
        return named if isinstance(named, str) else ""

    @property
    def twin(self) -> Twin | None:
        return self.row.twin


def part_card(row: PartRow, role: str, name: str = "", others: tuple[Other, ...] = ()) -> PartCard:
    """Everything a part's template needs; texts are still raw and are escaped where they are printed."""
    value = row.value or {}
    text, cut = _open_text(row, value)
    marks = tuple(_mark(fault) for fault in row.faults)
    quiet = row.kind in QUIET_KINDS and not marks and not row.problem
    return PartCard(
        row=row,
        look=present.kind(row.kind, role),
        css=_css(row, role, marks),
        line=_line(row, value),
        text=text,
        cut=cut,
        bodies=() if quiet else tuple(_bodies(row, value, cut)),
        marks=marks,
        took=_took(value),
        quiet=quiet,
        name=name,
        others=others,
        images=_images(row, value),
        ansi=has_ansi(str(_state(value).get("output") or "")),
    )


def _mark(fault: Fault) -> Mark:
    severity = present.SEVERITY.get(fault.severity, present.UNKNOWN)
    return Mark(present.mark(fault.rule, fault.severity), severity.tone, fault)


def _css(row: PartRow, role: str, marks: tuple[Mark, ...]) -> str:
    """Border pattern and colour: the kind's own, then the worst fault's, then the pattern of its shape."""
    names = [f"kind-{present.kind(row.kind, role).tone}", "part-tool" if row.kind == "tool" else ""]
    severities = [mark.fault.severity for mark in marks]
    for severity, name in (("blocked", "blocked"), ("at-risk", "risk"), ("info", "info")):
        if severity in severities:
            names.append(f"mark-{name}-line")
            break
    names += [f"mark-{mark.look.tone}" for mark in marks]
    if row.twin:
        names.append("mark-duplicate")
    if row.problem:
        names.append("mark-unreadable")
    return " ".join(name for name in names if name)


def _open_text(row: PartRow, value: dict[str, Any]) -> tuple[str, bool]:
    """The text that stands open in the page, and whether it is cut."""
    if row.problem or row.kind != "text":
        return "", False
    text = value.get("text")
    if not isinstance(text, str):
        return "", False
    shown = plain(text[: OPEN_CHARACTERS * 2])
    lines = shown.split("\n")
    if len(lines) > OPEN_LINES or len(shown) > OPEN_CHARACTERS:
        return "\n".join(lines[:OPEN_LINES])[:OPEN_CHARACTERS], True
    return shown, len(text) > OPEN_CHARACTERS * 2


def _line(row: PartRow, value: dict[str, Any]) -> str:
    """What the part says, on one line."""
    if row.problem:
        return row.problem
    match row.kind:
        case "tool":
            return _arguments(_state(value).get("input", value.get("input")))
        case "reasoning":
            text = value.get("text")
            return summary_line(text) if isinstance(text, str) and text.strip() else "(no text)"
        case "file":
            url = str(value.get("url") or "")
            where = "data in the part" if url.startswith("data:") else url
            return summary_line(f"{value.get('filename') or ''} {value.get('mime') or ''} {where}".strip())
        case "patch":
            files = value.get("files")
            return (
                f"{len(files)} files: {summary_line(', '.join(map(str, files[:5])))}" if isinstance(files, list) else ""
            )
        case "compaction":
            kept = "A tail of it is kept." if value.get("tail_start_id") else "What is above is not sent any more."
            return f"The conversation is summarised here. {kept}"
        case "subtask" | "agent":
            return summary_line(str(value.get("description") or value.get("name") or ""))
        case "step-finish":
            return _finish_line(value)
        case "text" | "step-start" | "snapshot":
            return ""
        case _:
            return summary_line(json.dumps(value, ensure_ascii=False))


def _finish_line(value: dict[str, Any]) -> str:
    tokens = value.get("tokens")
    words = [str(value.get("reason") or "")]
    if isinstance(tokens, dict):
        words += [f"{tokens.get('input', 0):,} in" if isinstance(tokens.get("input"), int) else ""]
        words += [f"{tokens.get('output', 0):,} out" if isinstance(tokens.get("output"), int) else ""]
    return ", ".join(word for word in words if word)


def _arguments(given: object) -> str:
    """Up to three arguments as key=value."""
    if not isinstance(given, dict):
        return summary_line(json.dumps(given, ensure_ascii=False)) if given not in (None, "") else "no arguments stored"
    if not given:
        return "no arguments"
    pairs = [f"{key}={_short(item)}" for key, item in list(given.items())[:3]]
    more = f" and {len(given) - 3} more" if len(given) > 3 else ""
    return summary_line("  ".join(pairs), 200) + more


def _short(item: object) -> str:
    return summary_line(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False), 70)


def _state(value: dict[str, Any]) -> dict[str, Any]:
    state = value.get("state")
    return state if isinstance(state, dict) else {}


def _took(value: dict[str, Any]) -> int | None:
    times = _state(value).get("time") or value.get("time")
    if not isinstance(times, dict):
        return None
    start, end = times.get("start"), times.get("end")
    return int(end - start) if isinstance(start, (int, float)) and isinstance(end, (int, float)) else None


def _bodies(row: PartRow, value: dict[str, Any], cut: bool) -> list[Body]:
    if row.id is None:
        return []
    if row.problem or row.kind not in present.KIND:
        return [Body("raw", "Stored text", open=True)]
    found = []
    state = _state(value)
    if row.kind == "text" and cut:
        found.append(Body("text", "Whole text"))
    if row.kind == "reasoning" and str(value.get("text") or "").strip():
        found.append(Body("text", "Reasoning"))
    if row.kind == "tool":
        if state.get("input") not in (None, {}, ""):
            found.append(Body("input", "Input"))
        output = state.get("output", state.get("content"))
        if output not in (None, "", []):
            found.append(Body("output", f"Output, {len(str(output)):,} characters"))
        if state.get("error"):
            found.append(Body("error", "Error", text=plain(_error_text(state["error"]))[:2_000], open=True))
    if row.faults and row.kind not in ("text", "tool", "reasoning"):
        found.append(Body("raw", "Stored JSON"))
    return found


def _error_text(error: object) -> str:
    if isinstance(error, dict):
        return str(error.get("message") or json.dumps(error, ensure_ascii=False))
    return str(error)


def _images(row: PartRow, value: dict[str, Any]) -> tuple[int, ...]:
    return tuple(index for index, file in enumerate(part_files(value)) if is_image(file)) if row.id else ()


def part_files(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The files a part carries: itself, or a tool's attachments."""
    if value.get("type") == "file" or ("mime" in value and "url" in value):
        return [value]
    attachments = _state(value).get("attachments")
    return [item for item in attachments if isinstance(item, dict)] if isinstance(attachments, list) else []


def is_image(file: dict[str, Any]) -> bool:
    mime, url = file.get("mime"), file.get("url")
    return isinstance(mime, str) and mime.startswith("image/") and isinstance(url, str) and url.startswith("data:")
