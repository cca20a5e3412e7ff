"""How much a session holds: what came or went since a plan was made shows in it."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.domain.model import SessionRows

_OWNED = ("message", "part", "session_message")


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a session holds: table -> (rows, bytes of ``data``). Rows that came or went since a plan was made show
    here."""

    session_id: str
    tables: tuple[tuple[str, int, int], ...]


def extent(rows: SessionRows) -> Extent:
    """The extent of a session: of its V1 tables where it has V1 rows, of its V2 table where it has V2 rows."""
    tables = (
        *(_OWNED[:2] if rows.messages or rows.parts else ()),
        *(_OWNED[2:] if rows.session_message else ()),
    )
    held = {"message": rows.messages, "part": rows.parts, "session_message": rows.session_message}
    # A part may be filed under another session than its message (docs/contract/rules.md#2.29); SQL counts by the
    # column.
    own = {
        name: [row for row in found if row.get("session_id") == rows.session.get("id")] for name, found in held.items()
    }
    return Extent(
        rows.id,
        tuple(
            (name, len(own[name]), sum(_bytes(row.get("data")) for row in own[name]))
            for name in _OWNED
            if name in tables
        ),
    )


def _bytes(value: object) -> int:
    if isinstance(value, bytes):
        return len(value)
    return len(str(value).encode("utf-8", "surrogateescape")) if value is not None else 0
