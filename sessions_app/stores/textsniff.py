"""Finding the sessions in a text: exports and row documents, with chatter around them, several, or cut short
(docs/contract/rules.md#6)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

from sessions_app.domain.jsontext import Member, NotJson, members, value_end

from .ground import StoreError

_OPENING = re.compile(
    r'\{\s*"(?:info|messages|session|session_message|session_context_epoch|session_input|event_sequence|last_event|projects?|parts|siblings|target|generation|as_stored)"\s*:'
)
_LINE_OPENING = re.compile(r"^[ \t]*\{", re.MULTILINE)
_CUT_OPENING = re.compile(r'\{\s*(?:"[a-z_]{0,20}"?\s*)?\Z')
_SESSION_ID = re.compile(r"\bses_[0-9A-Za-z]+")
_FALSE_STARTS = 200
_PIPE = 65_536


class Found(NamedTuple):
    """A document in a text. ``members``: its top level."""

    kind: Literal["export", "rows"]
    start: int
    end: int
    members: list[Member]


def documents(text: str, name: Path | str) -> list[Found]:
    """The documents in a text, in order; text around them (the client's own lines, plugins' messages) is passed over.

    Raises ``StoreError``: nothing there, not JSON, or a truncated export.
    """
    check_filled(text, name)
    found: list[Found] = []
    at = false_starts = 0
    while false_starts < _FALSE_STARTS:
        opening, known = _next_opening(text, at)
        if opening < 0:
            break
        try:
            top, end = members(text, opening, _shallow)
        except NotJson as error:
            if known or (error.cut and not found and not text[:opening].strip()):
                raise _broken(text, name, error) from None
            at, false_starts = opening + 1, false_starts + 1
            continue
        kind = _kind(top)
        if kind is not None:
            found.append(Found(kind, opening, end, top))
        at = end
    if not found:
        raise _nothing(text, name)
    return found


def check_filled(text: str, name: Path | str) -> None:
    if not text:
        raise StoreError(
            "empty-file",
            name,
            "The file is empty (zero bytes).",
            "Look for a backup of it, or export the session again.",
        )
    if not text.strip("\0"):
        raise StoreError(
            "nul-filled",
            name,
            "The file holds nothing but NUL bytes, as after a crash or a full disk.",
            "Look for a backup of it.",
        )


def _shallow(text: str, at: int, key: str) -> tuple[None, int]:
    return None, value_end(text, at)[1]


def _next_opening(text: str, at: int) -> tuple[int, bool]:
    """(offset of the next object that may be a document, whether its first key says that it is one); -1 where there is
    none."""
    known = _OPENING.search(text, at)
    line = _LINE_OPENING.search(text, at)
    places = [match.end() - 1 for match in (line,) if match] + ([known.start()] if known else [])
    if not places:
        return -1, False
    first = min(places)
    return first, known is not None and known.start() == first


def _kind(top: list[Member]) -> Literal["export", "rows"] | None:
    keys = {member.key for member in top}
    if "info" in keys:
        return "export"
    return "rows" if keys & {"session", "messages", "session_message"} else None


def _broken(text: str, name: Path | str, error: NotJson) -> StoreError:
    if not error.cut:
        return StoreError("not-json", name, f"The JSON in the file is broken: {error}.", "Export the session again.")
    return truncated(text, name)


def truncated(text: str, name: Path | str) -> StoreError:
    """The words for an export that ends in the middle (docs/contract/formats.md#a5: a pipe cuts it at 64 KiB, with exit
    code 0)."""
    size = len(text.encode("utf-8", "surrogateescape"))
    session = _SESSION_ID.search(text)
    why = (
        f" It is exactly {size:,} bytes long, which is where a pipe cuts the client's output."
        if size % _PIPE == 0
        else ""
    )
    command = f"opencode export {session[0] if session else '<session id>'} > session.json"
    return StoreError(
        "truncated-export",
        name,
        f"The export is truncated: it ends in the middle of the JSON.{why}",
        f"Export again with > file, not through a pipe: {command}",
    )


def _nothing(text: str, name: Path | str) -> StoreError:
    if _CUT_OPENING.search(text):
        return truncated(text, name)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = "".join(char if char.isprintable() else "?" for char in first[:120])
    return StoreError(
        "not-a-store",
        name,
        f'There is no session in this text; it begins with "{shown}".',
        "Give an export, a row document, a database or a storage folder.",
    )
