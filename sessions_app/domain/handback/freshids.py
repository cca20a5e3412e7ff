"""Sessions under fresh ids, every reference between them kept (docs/handing-back.md#export).

``opencode import`` changes nothing over ids that it knows (docs/contract/formats.md#a5), so what is to be imported
beside the original has to be called something else. The ids come out of what the session holds: the same rows always
get the same ids, other rows get others.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sessions_app.domain.fartexts import beside
from sessions_app.domain.ids import parse_id, stamp_of
from sessions_app.domain.jsjson import loads
from sessions_app.domain.jsonedit import edit
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.repair import Edit, JsonPath
from sessions_app.domain.rowdoc import rows_hash

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_STAMPS = 1 << 48
_REFERENCE = re.compile(r"(?:.*ID|.*Id|.*_id)\Z")
_SAID = frozenset({"input", "output"})
"""Members whose content is what the model and the tool said: never rewritten, whatever it names."""
_SESSION_JSON = ("revert", "metadata")


def renamed(sessions: Sequence[SessionRows]) -> tuple[list[SessionRows], dict[str, str]]:
    """The sessions with fresh ids of sessions, messages and parts, and the map from old to new.

    References inside the given sessions follow (a child's parent, ``parentID``, ``tail_start_id``, a pending revert, a
    task call's session); ids of anything else stay as they are. Messages keep the order (time_created, id), parts the
    order of their ids, and the new ids ascend in that order. V1 rows only: V2 rows and
    what lies beside them are left out.
    """
    names = fresh_names(sessions)
    return [renamed_by(names, rows) for rows in sessions], names


def fresh_names(sessions: Sequence[SessionRows]) -> dict[str, str]:
    """The map of ``renamed`` alone."""
    return {old: new for rows in sessions for old, new in _names(rows)}


def _names(rows: SessionRows) -> Iterator[tuple[str, str]]:
    salt = bytes.fromhex(rows_hash(rows))
    session = rows.session
    known = parse_id(rows.id)
    # Session ids run backwards, so that the newest sorts first (docs/contract/formats.md#a3).
    stamp = known.stamp if known else _STAMPS - 1 - stamp_of(_time(session))
    yield rows.id, _id("ses_", stamp, salt, rows.id)
    stamps = dict(zip((str(row["id"]) for row in rows.messages), message_stamps(rows.messages), strict=True))
    for message_id, stamp in stamps.items():
        yield message_id, _id("msg_", stamp, salt, message_id)
    counts: dict[str, int] = {}
    for row in rows.parts:
        owner = str(row.get("message_id"))
        if owner in stamps:
            counts[owner] = counts.get(owner, 0) + 1
            yield str(row["id"]), _id("prt_", stamps[owner] + counts[owner], salt, str(row["id"]))


def message_stamps(messages: Sequence[Row]) -> list[int]:
    """An ascending stamp for each message, in the order given: its own time's, or just above the one before.

    Where the ids wrap in the middle (docs/contract/formats.md#a8), what lies before the wrap is moved to just behind
    it, so that the client's next id is the greatest again.
    """
    own = [stamp_of(_time(row)) for row in messages]
    wraps = [index for index in range(1, len(own)) if own[index] < own[index - 1] - _STAMPS // 2]
    if wraps:
        last = wraps[-1]
        for index in range(last):
            own[index] = max(0, own[last] - (last - index))
    for index in range(1, len(own)):
        own[index] = max(own[index], own[index - 1] + 1)
    return [min(stamp, _STAMPS - 1 - 0x100000) for stamp in own]


def _time(row: Row) -> int:
    value = row.get("time_created")
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0


def _id(prefix: str, stamp: int, salt: bytes, old: str) -> str:
    digest = hashlib.blake2b(old.encode("utf-8", "surrogatepass"), key=salt, digest_size=12).digest()
    number, tail = int.from_bytes(digest, "big"), ""
    for _ in range(14):
        number, digit = divmod(number, 62)
        tail += _DIGITS[digit]
    return f"{prefix}{stamp % _STAMPS:012x}{tail}"


def renamed_by(names: Mapping[str, str], rows: SessionRows) -> SessionRows:
    """``rows``, which may be some of a session's, under the names of ``fresh_names``."""

    def new(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else value

    session = {
        **rows.session,
        "id": names[rows.id],
        **{column: new(rows.session[column]) for column in ("parent_id",) if column in rows.session},
    }
    for column in _SESSION_JSON:
        if isinstance(session.get(column), str):
            session[column] = _pointed(session[column], names)
    kept = {str(row["id"]) for row in rows.messages}
    return replace(
        rows,
        session=session,
        messages=[_row(row, names, session_id=session["id"]) for row in rows.messages],
        parts=[
            _row(row, names, session_id=session["id"], message_id=new(row["message_id"]))
            for row in rows.parts
            if row.get("message_id") in kept
        ],
        session_message=[],
        epoch=None,
        inputs=[],
        sequence=None,
        last_event=None,
    )


def _row(row: Row, names: Mapping[str, str], **owner: str) -> Row:
    return beside(row, {**row, "id": names[str(row["id"])], **owner, "data": _pointed(row.get("data"), names)})


def _pointed(data: Any, names: Mapping[str, str]) -> Any:
    """JSON text whose reference members name the new ids; every other byte stays. What does not parse is given back as
    it is."""
    if not isinstance(data, str):
        return data
    try:
        value = loads(data)
    except (ValueError, RecursionError):
        return data
    return edit(data, [Edit(path, names[old]) for path, old in _references(value) if old in names])


def _references(value: Any) -> Iterator[tuple[JsonPath, str]]:
    """Members that name rows. No recursion: foreign JSON is nested as deeply as it likes."""
    waiting: list[tuple[JsonPath, Any]] = [((), value)]
    while waiting:
        path, held = waiting.pop()
        if isinstance(held, dict):
            for key, item in held.items():
                if isinstance(item, str) and _REFERENCE.match(key):
                    yield (*path, key), item
                elif isinstance(item, (dict, list)) and key not in _SAID:
                    waiting.append(((*path, key), item))
        elif isinstance(held, list):
            waiting += [((*path, index), item) for index, item in enumerate(held)]
