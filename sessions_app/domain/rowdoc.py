"""Row documents: the rows of one session as one JSON document, lossless both ways (docs/contract/design.md#8).

``{"session":{row},"messages":[{row,"parts":[{row}]}],"session_message":[{row}],"projects":[{row}]}``; keys are column
names. More members go beyond that shape so that nothing is lost: ``parts`` (rows whose message is not in the
document), ``session_context_epoch``, ``session_input``, ``event_sequence``, ``last_event`` (a number),
``siblings``, and the ``lines`` of dialects
that keep files of lines. Other members (``target``, ``generation`` ...) are not rows and are passed over.

Values that JSON cannot say are wrapped (``rowcodec``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from .dialects import rows_hash
from .model import Row, SessionRows
from .rowcodec import WrappedValueError, is_wrapped, to_text, unwrapped, wrapped_row

__all__ = ["RowDocumentError", "document", "dump", "parse", "parse_value", "pieces", "rows_hash"]

_PLAIN = frozenset({str, int, float, type(None)})
_decode = msgspec.json.Decoder().decode
_OVERFLOW = 10**309
"""Reads as Infinity in JavaScript, as every JSON number beyond a double's range does, and can be written as JSON."""


class RowDocumentError(ValueError):
    """A document that is no row document. ``path`` is where ("messages[3].id"; "" = the document as a whole)."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


def parse(document: str | bytes | Mapping[str, Any]) -> SessionRows:
    """Rows of a row document given as JSON text, UTF-8 bytes or an already read object.

    ``data`` and other JSON columns may be objects: they are written once as compact JSON text. ``project`` (one row) is
    accepted for ``projects``; tables and columns may be absent. Raises ``RowDocumentError`` with the path at fault.
    """
    if isinstance(document, Mapping):
        return parse_value(document)
    try:
        value = _read(document)
    except RecursionError:
        raise RowDocumentError("", "nested too deeply") from None
    except UnicodeDecodeError as error:
        raise RowDocumentError("", f"not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise RowDocumentError("", f"not JSON: {error}") from None
    return parse_value(value)


def parse_value(document: Any) -> SessionRows:
    """As ``parse``, for a document that has been read already."""
    if not isinstance(document, Mapping):
        raise RowDocumentError("", f"expected an object, got {_kind(document)}")
    messages: list[Row] = []
    parts = _rows(document, "parts", "")
    message_ids: set[str] = set()
    part_ids: set[str] = set()
    _check_ids(parts, part_ids, "parts")
    for index, value in enumerate(_list(document, "messages", "")):
        path = f"messages[{index}]"
        row = _row(value, path, skip="parts")
        _check_ids([row], message_ids, "messages", index)
        messages.append(row)
        own = _rows(value, "parts", path)
        _check_ids(own, part_ids, f"{path}.parts")
        for part in own:
            part.setdefault("message_id", row["id"])
            if "session_id" in row:
                part.setdefault("session_id", row["session_id"])
        parts += own
    session_message, lines = _rows(document, "session_message", ""), _rows(document, "lines", "")
    _check_ids(session_message, set(), "session_message")
    _check_lines(lines)
    epochs, sequences = _rows(document, "session_context_epoch", ""), _rows(document, "event_sequence", "")
    return SessionRows(
        session=_session(document, (*messages, *session_message)),
        messages=_ordered(messages, "time_created", "id"),
        parts=_ordered(parts, "message_id", "id"),
        session_message=_ordered(session_message, "seq"),
        projects=_rows(document, "projects", "") or _rows(document, "project", ""),
        epoch=epochs[0] if epochs else None,
        siblings=_rows(document, "siblings", ""),
        lines=lines,
        inputs=_ordered(_rows(document, "session_input", ""), "admitted_seq"),
        sequence=sequences[0] if sequences else None,
        last_event=_last_event(document),
    )


def dump(rows: SessionRows) -> str:
    """The row document of ``rows`` as one line of JSON; ``parse(dump(rows)) == rows``."""
    return "".join(pieces(rows))


def document(rows: SessionRows) -> dict[str, Any]:
    """The row document of ``rows`` as an object (JSON columns stay text)."""
    return {name: list(value) if isinstance(value, Iterator) else value for name, value in _members(rows)}


def pieces(rows: SessionRows, before: Mapping[str, Any] | None = None) -> Iterator[str]:
    """``dump`` piece by piece, a message with its parts at most; with the members of ``before`` in front."""
    start = "{"
    for name, value in chain((before or {}).items(), _members(rows)):
        yield f"{start}{to_text(name)}:"
        start = ","
        if isinstance(value, Iterator):
            yield "["
            for index, item in enumerate(value):
                yield f",{to_text(item)}" if index else to_text(item)
            yield "]"
        else:
            yield to_text(value)
    yield "}"


def _members(rows: SessionRows) -> Iterator[tuple[str, Any]]:
    """The members of a row document in order; iterators are arrays."""
    by_message: dict[Any, list[Row]] = {row.get("id"): [] for row in rows.messages}
    strays: list[Row] = []
    for part in rows.parts:
        by_message.get(part.get("message_id"), strays).append(part)
    yield "session", wrapped_row(rows.session)
    yield (
        "messages",
        ({**wrapped_row(row), "parts": [*map(wrapped_row, by_message[row.get("id")])]} for row in rows.messages),
    )
    yield "session_message", map(wrapped_row, rows.session_message)
    yield "projects", map(wrapped_row, rows.projects)
    further = {
        "parts": strays,
        "session_context_epoch": [] if rows.epoch is None else [rows.epoch],
        "session_input": rows.inputs,
        "event_sequence": [] if rows.sequence is None else [rows.sequence],
        "last_event": rows.last_event,
        "siblings": rows.siblings,
        "lines": rows.lines,
    }
    for name, value in further.items():
        if isinstance(value, list):
            if value:
                yield name, map(wrapped_row, value)
        elif value is not None:
            yield name, value


def _read(document: str | bytes) -> Any:
    try:
        return _decode(document)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # Lone surrogates and numbers out of range, which msgspec refuses, and whatever is no JSON at all.
        return json.loads(document, parse_float=_number, parse_int=_integer, parse_constant=_no_constant)


def _last_event(document: Mapping[str, Any]) -> int | None:
    value = document.get("last_event")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise RowDocumentError("last_event", f"expected a whole number, got {_kind(value)}")
    return value


def _session(document: Mapping[str, Any], others: Iterable[Row]) -> Row:
    """The session row; where it is left out, the id that its rows name."""
    given = document.get("session")
    row = _row(given, "session") if given is not None else {}
    if row.get("id") is None:
        named = next((other["session_id"] for other in others if other.get("session_id")), "")
        row = {"id": named, **{name: value for name, value in row.items() if name != "id"}}
    return row


def _list(holder: Mapping[str, Any], name: str, path: str) -> list[Any]:
    value = holder.get(name)
    where = f"{path}.{name}" if path else name
    if value is None:
        return []
    if isinstance(value, Mapping) and name in ("project", "session_context_epoch", "event_sequence"):
        return [value]
    if not isinstance(value, list):
        raise RowDocumentError(where, f"expected an array of rows, got {_kind(value)}")
    return value


def _rows(holder: Mapping[str, Any], name: str, path: str) -> list[Row]:
    where = f"{path}.{name}" if path else name
    return [_row(value, f"{where}[{index}]") for index, value in enumerate(_list(holder, name, path))]


def _row(value: Any, path: str, skip: str | None = None) -> Row:
    if not isinstance(value, Mapping):
        raise RowDocumentError(path, f"expected a row (an object), got {_kind(value)}")
    row: Row = dict(value)
    if skip is not None:
        row.pop(skip, None)
    for column, cell in row.items():
        # Nearly every cell is plain text or a number.
        if type(cell) not in _PLAIN:
            row[column] = _cell(cell, f"{path}.{column}")
    return row


def _cell(value: Any, path: str) -> Any:
    if isinstance(value, bool):
        return int(value)
    if is_wrapped(value):
        try:
            return unwrapped(value)
        except WrappedValueError as error:
            raise RowDocumentError(path, str(error)) from None
    if isinstance(value, (Mapping, list)):
        try:
            return _compact(value)
        except RecursionError:
            raise RowDocumentError(path, "nested too deeply") from None
        except (TypeError, ValueError) as error:
            raise RowDocumentError(path, f"cannot be written as JSON: {error}") from None
    if isinstance(value, (str, int, float, bytes)):
        return value
    raise RowDocumentError(path, f"no column value: {_kind(value)}")


def _compact(value: Any) -> str:
    try:
        return to_text(value)
    except ValueError:
        return to_text(_in_range(value))


def _in_range(value: Any) -> Any:
    """``value`` with infinite numbers (1e400, as Python reads it) as numbers that JSON can say and that mean the
    same."""
    if isinstance(value, Mapping):
        return {key: _in_range(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_range(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return _OVERFLOW if value > 0 else -_OVERFLOW
    return value


def _check_ids(rows: list[Row], seen: set[str], path: str, first: int = 0) -> None:
    for index, row in enumerate(rows, first):
        key = row.get("id")
        if not isinstance(key, str):
            raise RowDocumentError(
                f"{path}[{index}].id", "missing" if key is None else f"expected a string, got {_kind(key)}"
            )
        if key in seen:
            raise RowDocumentError(f"{path}[{index}].id", f"a second row with the id {key}")
        seen.add(key)


def _check_lines(lines: list[Row]) -> None:
    _check_ids(lines, set(), "lines")
    for index, row in enumerate(lines):
        for column, kinds in (("file", str), ("line", (int, float)), ("data", str)):
            if not isinstance(row.get(column), kinds):
                raise RowDocumentError(f"lines[{index}].{column}", f"got {_kind(row.get(column))}")


def _ordered(rows: list[Row], *columns: str) -> list[Row]:
    """Rows in the store's order; as given where a column of the order is missing (the dialect orders by what is inside
    then)."""
    keys = [tuple(row.get(column) for column in columns) for row in rows]
    if any(value is None for key in keys for value in key):
        return rows
    try:
        order = sorted(range(len(rows)), key=keys.__getitem__)
    except TypeError:
        return rows
    return [rows[index] for index in order]


def _number(text: str) -> float | int:
    value = float(text)
    return value if math.isfinite(value) else _OVERFLOW if value > 0 else -_OVERFLOW


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # more digits than Python converts: beyond a double's range all the same
        return -_OVERFLOW if text.startswith("-") else _OVERFLOW


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__)
