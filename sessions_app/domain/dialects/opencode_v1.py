"""The opencode-v1 dialect: tables ``message`` and ``part`` (docs/contract/formats.md#a3).

``data`` holds the object without ``id``, ``sessionID`` and ``messageID``, which are columns. Order: messages by
(time_created, id), parts by id (docs/contract/wire.md#6.1.1; docs/contract/formats.md#a8: never by id alone).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_, itemgetter
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.fartexts import FarRow
from sessions_app.domain.model import (
    V1,
    CompactionPart,
    FilePart,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    Row,
    RowFault,
    Session,
    SessionRows,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from sessions_app.domain.patience import paced
from sessions_app.domain.repair import Operation, OperationError, RowChange
from sessions_app.domain.rowcodec import to_text

from . import opencode_v1_schema as schema
from .base import Decoded
from .farparts import FAR, FarMessage
from .opencode import OpencodeDialect, reads_v2
from .rowedit import changed_columns, edited_data, row_change
from .unread import plain_message, unread_part


class OpencodeV1(OpencodeDialect):
    """Tables ``message`` and ``part``."""

    name = V1
    tables = ("message", "part")
    filed = "message"
    lowering = "sessions_app.domain.lowering.opencode_v1"
    writer = "v1"
    exported = True
    compacted = True

    def current(self, rows: SessionRows) -> bool:
        return not reads_v2(rows)

    def decode(self, rows: SessionRows, generation: int | None = None) -> Decoded:
        return self._with_orphans(rows, *decode_messages(rows))

    def decode_again(self, rows: SessionRows, generation: int | None, known: Session) -> Decoded:
        return self._with_orphans(rows, *decode_messages_again(rows, known.history(V1)))

    def _with_orphans(self, rows: SessionRows, messages: list[Message], faults: list[RowFault]) -> Decoded:
        orphans = decode_orphans(rows)
        # No client loads them, so nothing stops at them.
        faults += [replace(part.fault, fatal=False, words="") for part in orphans if part.fault is not None]
        return Decoded(messages, faults, orphans)

    def compile_rows(self, rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        """One row change per row: messages are inserted before their parts and deleted after them."""
        return _Compiler(rows).run(operations)

    def ordered(self, table: str, rows: Iterable[Row]) -> list[Row]:
        return in_message_order(rows) if table == "message" else in_part_order(rows)


def decode_messages(rows: SessionRows) -> tuple[list[Message], list[RowFault]]:
    """The messages of tables ``message`` and ``part`` in order, and what is wrong with single rows. Nothing is left
    out."""
    faults: list[RowFault] = []
    messages = [_message(row, faults) for row in paced(rows.messages)]
    messages.sort(key=lambda message: (message.time_created, message.id))
    by_id = {message.id: message for message in messages}
    for row in paced(in_part_order(rows.parts)):
        owner = by_id.get(row.get("message_id", ""))
        if owner is not None:
            parts = owner.parts
            part = _part(row, len(parts))
            parts.append(part)
            if part.fault is not None:
                faults.append(part.fault)
    return messages, faults


def decode_messages_again(rows: SessionRows, known: Iterable[Message]) -> tuple[list[Message], list[RowFault]]:
    """As ``decode_messages``; a row that one of ``known`` came from is not decoded again, and a message of which
    nothing changed is the same object."""
    as_they_were = {id(message.row): message for message in known}
    parts = {id(part.row): part for message in as_they_were.values() for part in message.parts}
    messages = [as_they_were.get(id(row)) or _message(row, []) for row in paced(rows.messages)]
    faults = [message.fault for message in messages if message.fault is not None]
    messages.sort(key=lambda message: (message.time_created, message.id))
    held: dict[Any, list[Part]] = {message.id: [] for message in messages}
    for row in paced(in_part_order(rows.parts)):
        siblings = held.get(row.get("message_id", ""))
        if siblings is None:
            continue
        part = parts.get(id(row))
        if part is None or part.index != len(siblings):
            part = _part(row, len(siblings))
        siblings.append(part)
        if part.fault is not None:
            faults.append(part.fault)
    owners = {message.id: at for at, message in enumerate(messages)}  # of two with one id the last has the parts
    return [
        _holding(message, held[message.id] if owners[message.id] == at else []) for at, message in enumerate(messages)
    ], faults


def _holding(message: Message, parts: list[Part]) -> Message:
    """The message with these parts: itself where it has them."""
    same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
    return message if same else replace(message, parts=parts)


def decode_orphans(rows: SessionRows) -> list[Part]:
    """Parts whose message is not in the session; the client never loads them."""
    known = {row.get("id") for row in rows.messages}
    if known.issuperset([row.get("message_id") for row in rows.parts]):
        return []
    strays = [row for row in rows.parts if row.get("message_id") not in known]
    return [_part(row, index) for index, row in enumerate(in_part_order(strays))]


def in_message_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of table ``message`` by (time_created, id)."""
    return sorted(rows, key=lambda row: (_created(row, {}), str(row.get("id", ""))))


def in_part_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of table ``part`` by (message_id, id)."""
    listed = list(rows)
    if all(type(row.get("id")) is type(row.get("message_id")) is str for row in listed):
        listed.sort(key=itemgetter("message_id", "id"))
        return listed
    return sorted(listed, key=lambda row: (str(row.get("message_id", "")), str(row.get("id", ""))))


def _message(row: Row, faults: list[RowFault]) -> Message:
    if type(row) is dict and (plain := plain_message(row.get("data"))) is not None:
        id_, session = str(row.get("id", "")), str(row.get("session_id", ""))
        return Message(id_, session, plain["role"], plain, row["data"], row, time_created=_created(row, plain))
    data, raw, fault = _decoded(row, "message")
    if fault is None:
        fault = schema.message_fault(str(row.get("id", "")), data)
    if fault is not None:
        faults.append(fault)
    kind = data.get("role")
    return (FarMessage if isinstance(row, FarRow) else Message)(
        id=str(row.get("id", "")),
        session_id=str(row.get("session_id", "")),
        kind=kind if isinstance(kind, str) else "",
        data=data,
        raw=raw,
        row=row,
        time_created=_created(row, data),
        fault=fault,
    )


def _decoded(row: Row, table: str) -> tuple[dict[str, Any], str, RowFault | None]:
    """``data`` as an object, its text, and what is wrong with it. The client parses it before anything else, so text
    that is not JSON ends every prompt and the export too (docs/contract/formats.md#a6)."""
    raw = row.get("data")
    reason = ""
    if isinstance(raw, str):
        try:
            value = jsjson.loads(raw)
        except ValueError as error:
            reason = str(error)
        else:
            if isinstance(value, dict):
                return value, raw, None
            fault = RowFault(
                table,
                str(row.get("id", "")),
                "",
                f"Expected an object, got {schema.shown(value)}",
                "undecodable-row",
            )
            return {}, raw, fault
    elif isinstance(raw, bytes):
        raw, reason = raw.decode("utf-8", "replace"), "a BLOB, not text"
    else:
        raw, reason = "" if raw is None else str(raw), f"{schema.shown(raw)}, not text"
    fault = RowFault(table, str(row.get("id", "")), "", reason, "corrupt-json", fatal=True, words=schema.UNEXPECTED)
    return {}, raw, fault


def _created(row: Row, data: Mapping[str, Any]) -> int:
    """``time_created``; where the column is left out (a lenient row document), the time inside."""
    value = row.get("time_created")
    if not isinstance(value, (int, float)):
        time = data.get("time")
        value = time.get("created") if isinstance(time, dict) else None
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63 else 0


def _part(row: Row, index: int) -> Part:
    if type(row) is dict and (unread := unread_part(row, index)) is not None:
        return unread
    data, raw, fault = _decoded(row, "part")
    kind = data.get("type")
    if not isinstance(kind, str):
        kind = ""
    if fault is None:
        fault = schema.part_fault(str(row.get("id", "")), kind, data)
    build, fields = _KINDS.get(kind, _OTHER)
    if isinstance(row, FarRow):
        build = FAR[build]
    return build(
        str(row.get("id", "")),
        str(row.get("message_id", "")),
        index,
        kind,
        data,
        raw,
        row,
        fault,
        *fields(data),
    )


def _none(data: Mapping[str, Any]) -> tuple[()]:
    return ()


def _text(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Text, synthetic, ignored."""
    return data.get("text"), data.get("synthetic") is True, bool(data.get("ignored"))


def _reasoning(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Text, metadata."""
    return data.get("text"), _object(data.get("metadata"))


def _tool(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Call id, tool, status, input, has_input, state, provider_executed, interrupted."""
    state = _object(data.get("state"))
    status = state.get("status")
    call_id = data.get("callID")
    tool = data.get("tool")
    return (
        call_id if isinstance(call_id, str) else "",
        tool if isinstance(tool, str) else "",
        status if isinstance(status, str) else "",
        state.get("input"),
        "input" in state,
        state,
        bool(_object(data.get("metadata")).get("providerExecuted")),
        _object(state.get("metadata")).get("interrupted") is True,
    )


def _step_finish(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Reason, tokens, cost."""
    reason = data.get("reason")
    return reason if isinstance(reason, str) else "", _object(data.get("tokens")), data.get("cost", 0)


def _file(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Mime, url, filename."""
    mime, url, name = data.get("mime"), data.get("url"), data.get("filename")
    return (
        mime if isinstance(mime, str) else "",
        url if isinstance(url, str) else "",
        name if isinstance(name, str) else None,
    )


def _compaction(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Auto, overflow, tail."""
    tail = data.get("tail_start_id")
    return (
        data.get("auto") is True,
        data.get("overflow") is True,
        tail if isinstance(tail, str) and tail else None,
    )


type _Kind = tuple[Callable[..., Part], Callable[[Mapping[str, Any]], tuple[Any, ...]]]
"""What a part of a kind is, and its own fields in their order."""

_OTHER: _Kind = (OtherPart, _none)
_KINDS: dict[str, _Kind] = {
    "text": (TextPart, _text),
    "reasoning": (ReasoningPart, _reasoning),
    "tool": (ToolPart, _tool),
    "step-start": (StepStartPart, _none),
    "step-finish": (StepFinishPart, _step_finish),
    "file": (FilePart, _file),
    "compaction": (CompactionPart, _compaction),
}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class _Compiler:
    """Rows as they are after the operations so far, beside the rows they came from."""

    def __init__(self, rows: SessionRows) -> None:
        self.rows = rows
        self.before: dict[str, dict[str, Row]] = {
            "message": {str(row.get("id")): row for row in rows.messages},
            "part": {str(row.get("id")): row for row in rows.parts},
        }
        self.after: dict[str, dict[str, Row | None]] = {"message": {}, "part": {}}

    def run(self, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        for operation in operations:
            table = operation.subject
            if table == "session":
                raise OperationError("a session is no message or part")
            key = operation.part_id if table == "part" else operation.message_id
            if operation.action == "insert":
                self._insert(table, key, operation)
            elif operation.action == "delete":
                self._delete(table, key)
            else:
                row = self._current(table, key)
                self.after[table][key] = changed_columns(edited_data(row, operation.edits), operation.columns)
        return self._changes()

    def _current(self, table: str, key: str) -> Row:
        row = self.after[table].get(key, self.before[table].get(key))
        if row is None:
            raise OperationError(f"{table} {key} is not stored")
        return row

    def _delete(self, table: str, key: str) -> None:
        self._current(table, key)
        self.after[table][key] = None
        if table == "message":
            for part_id, row in {**self.before["part"], **self.after["part"]}.items():
                if row is not None and row.get("message_id") == key:
                    self.after["part"][part_id] = None

    def _insert(self, table: str, key: str, operation: Operation) -> None:
        if operation.data is None or not key:
            raise OperationError(f"a new {table} needs an id and data")
        if self.after[table].get(key, self.before[table].get(key)) is not None:
            raise OperationError(f"{table} {key} is stored already")
        row: Row = {"id": key}
        if table == "part":
            message = self._current("message", operation.message_id)
            row["message_id"] = operation.message_id
            times = message
        else:
            times = self.rows.session
        row["session_id"] = self.rows.id
        for column in ("time_created", "time_updated"):
            row[column] = operation.columns.get(
                column, operation.columns.get("time_created", times.get("time_created"))
            )
        row["data"] = to_text(operation.data)
        self.after[table][key] = changed_columns(row, operation.columns)

    def _changes(self) -> tuple[RowChange, ...]:
        written: list[RowChange] = []
        deleted: list[RowChange] = []
        for table in ("message", "part"):
            for key, after in self.after[table].items():
                before = self.before[table].get(key)
                if before == after:
                    continue
                (deleted if after is None else written).append(row_change(table, before, after))
        deleted.reverse()
        return (*written, *deleted)
