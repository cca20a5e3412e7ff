"""The raw tab: every stored row of a session, as its row document has it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from sessions_app.models import Session
from sessions_app.selectors.storedrows import MEMBERS, StoredHead, StoredRows
from sessions_app.web.http import VIEW, HtmxRequest, allowed, load_session, whole
from sessions_app.web.reader import REST, Head, Piece, answer, reader
from sessions_app.web.shell import session_shell


class RowDocument:
    """The rows of messages with their parts (or of lines), and the session's row beside them. A pointer is one of the
    row document whose JSON columns are objects."""

    noun, rest, first = "rows", "The session’s own row", 0

    def __init__(self, session: Session) -> None:
        self._session, self._rows = session, StoredRows(session)

    def __len__(self) -> int:
        return len(self._rows)

    def heads(self, start: int, count: int) -> list[Head]:
        return [Head(_name(row), row.kind or "does not decode", _kinds(row)) for row in self._rows.heads(start, count)]

    def pieces(self, index: int) -> list[Piece]:
        if index == REST:
            return [Piece("/session", self._session.stored_row)]
        row, parts = self._rows.row(index)
        place = f"/{MEMBERS[row.table]}/{row.position}"
        at = row.stored_id if row.table != "line" else ""
        return [
            _piece(f"{place}/data", row.value, at, row.stored_id),
            *(
                _piece(f"{place}/parts/{number}/data", part.value, part.stored_id, part.stored_id)
                for number, part in enumerate(parts)
            ),
        ]

    def holding(self, words: list[str]) -> Iterator[int]:
        yield REST
        yield from self._rows.holding(words)

    def entry_of(self, pointer: str) -> int | None:
        member, _, inside = pointer.removeprefix("/").partition("/")
        if member == "session":
            return REST
        position = whole(inside.partition("/")[0])
        return None if position is None else self._rows.number(member, position)

    def origin(self, pointer: str) -> str:
        index = self.entry_of(pointer)
        if index is None or index == REST:
            return ""
        return next((piece.at for piece in self.pieces(index) if f"{pointer}/".startswith(f"{piece.pointer}/")), "")


def _name(row: StoredHead) -> str:
    """Its place in the row document; a line is called by its file and number."""
    return row.stored_id if row.table == "line" else f"{MEMBERS[row.table]}[{row.position}]"


def _kinds(row: StoredHead) -> str:
    """What its parts are: "text, bash 3 times"."""
    counts = Counter(row.parts).most_common(6)
    return ", ".join(kind if count == 1 else f"{kind} {count} times" for kind, count in counts)


def _piece(pointer: str, stored: object, at: str, title: str) -> Piece:
    try:
        value: Any = json.loads(str(stored))
    except (ValueError, RecursionError):
        return Piece(pointer, stored, at, title, plain=True)
    return Piece(pointer, value, at, title)


@require_GET
@allowed(VIEW)
def raw(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    document = RowDocument(load_session(session_id))
    kept = {"list": request.GET["list"]} if request.GET.get("list") else {}
    partial = answer(request, document, kept, session_id)
    if partial is not None:
        return partial
    context = session_shell(request, session_id, "raw") | {"reader": reader(request, document, kept, session_id)}
    return render(request, "sessions/raw.html", context)
