"""Rows of table ``session_message`` to messages and parts (docs/contract/formats.md#b1, #b2).

The client decodes ``{...data, id, type}``; the columns win. A row that does not decode makes its whole load fail
(``MessageDecodeError``), so each such fault is fatal here; the rest of the session is still read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.collector import undisturbed
from sessions_app.domain.dialects.farparts import FarMessage
from sessions_app.domain.fartexts import FarRow
from sessions_app.domain.model import (
    V2,
    Message,
    Part,
    Row,
    RowFault,
    Session,
    SessionRows,
    ToolPart,
)
from sessions_app.domain.patience import paced

from . import schemas, telltales
from .items import OtherItem, ReasoningItem, TextItem, ToolItem
from .shape import Mismatch, expected, within

ID_PREFIX: Final = "msg_"
"""What the id of every row begins with (docs/contract/v2-server.md#repairing)."""


@undisturbed
def decode_messages(rows: SessionRows, generation: int | None = None) -> tuple[list[Message], list[RowFault]]:
    """The messages of table ``session_message`` in order of ``seq``, and what the client cannot decode in them.

    ``generation`` holds for every row; where it is None each row's tell-tales say (docs/contract/formats.md#b0).
    """
    messages: list[Message] = []
    faults: list[RowFault] = []
    readable: list[Message] = []
    for row in paced(_in_order(rows.session_message)):
        message, fault = _parsed(row)
        messages.append(message)
        if fault is None:
            readable.append(message)
        else:
            faults.append(fault)
    for message, number in zip(paced(readable), _generations(rows, readable, generation), strict=True):
        message.generation = number
        fault = _check(message)
        _add_parts(message, faults)
        if fault is not None and message.fault is None:
            message.fault = fault
            faults.append(fault)
    return messages, faults


def decode_messages_again(
    rows: SessionRows, generation: int | None, known: Session
) -> tuple[list[Message], list[RowFault]]:
    """As ``decode_messages``; a row that a message of ``known`` came from is not decoded again. Where the generation
    has to be told, a row has no number or something did not decode, all of them are."""
    ordered = _in_order(rows.session_message)
    if generation is None or known.faults or ordered is rows.session_message:
        return decode_messages(rows, generation)
    messages = {id(message.row): message for message in known.history(V2)}
    changed = [row for row in ordered if id(row) not in messages]
    fresh, faults = decode_messages(replace(rows, session_message=changed), generation)
    messages |= {id(message.row): message for message in fresh}
    return [messages[id(row)] for row in ordered], faults


def _generations(rows: SessionRows, messages: Sequence[Message], given: int | None) -> Sequence[int]:
    if given is not None:
        return [given] * len(messages)
    found = [telltales.candidates(message.kind, message.data) for message in messages]
    return telltales.settle(found, str(rows.session.get("version") or ""))


def _in_order(rows: list[Row]) -> list[Row]:
    """By ``seq``; as given where a row has none (the store orders a table without that column by time)."""
    if any(not isinstance(row.get("seq"), int) for row in rows):
        return rows
    return sorted(rows, key=lambda row: (row["seq"], str(row.get("id", ""))))


def _parsed(row: Row) -> tuple[Message, RowFault | None]:
    """The message of a row without its parts, and why its JSON cannot be read."""
    raw = row.get("data")
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "replace")
    text = raw if isinstance(raw, str) else ""
    data: dict[str, Any] = {}
    fault: RowFault | None = None
    try:
        value = jsjson.loads(text)
        if isinstance(value, dict):
            data = value
        else:
            fault = _fault(row, expected("object", value), "undecodable-row")
    except ValueError as error:
        fault = _fault(row, Mismatch(f"Not JSON: {error}"), "corrupt-json")
    time = data.get("time")
    created = row.get("time_created")
    if not isinstance(created, int):
        created = time.get("created") if isinstance(time, dict) else 0
    seq = row.get("seq")
    message = (FarMessage if isinstance(row, FarRow) else Message)(
        id=str(row.get("id", "")),
        session_id=str(row.get("session_id", "")),
        kind=str(row.get("type", "")),
        data=data,
        raw=text,
        row=row,
        time_created=int(created) if isinstance(created, (int, float)) else 0,
        seq=seq if isinstance(seq, int) else None,
        fault=fault,
    )
    return message, fault


def _fault(row: Row, mismatch: Mismatch, rule: Any) -> RowFault:
    path = ".".join(str(step) for step in mismatch.path)
    return RowFault(
        "session_message",
        str(row.get("id", "")),
        path,
        mismatch.reason,
        rule,
        fatal=True,
        words=mismatch.words,
        spare=mismatch.spare,
    )


def _check(message: Message) -> RowFault | None:
    """What the client's schema refuses in the row, its content items apart."""
    try:
        if not message.id.startswith(ID_PREFIX):
            within(_misnamed, message.id, "id")
        check = schemas.ROWS[message.generation].get(message.kind)
        if check is None:
            raise expected("a message type that this generation knows", message.kind)
        check(message.data)
        if message.kind == "assistant":
            content = message.data.get("content")
            if not isinstance(content, list):
                within(_no_list, content, "content")
    except Mismatch as mismatch:
        return _fault(message.row, mismatch, "undecodable-row")
    return None


def _misnamed(value: Any) -> None:
    raise Mismatch(f"Expected a string starting with {jsjson.dumps(ID_PREFIX)}, got {jsjson.dumps(value)}")


def _no_list(value: Any) -> None:
    raise Mismatch("Missing key") if value is None else expected("array", value)


def _add_parts(message: Message, faults: list[RowFault]) -> None:
    content = message.data.get("content")
    if message.kind != "assistant" or not isinstance(content, list):
        return
    check = schemas.ITEMS[message.generation]
    prefix = message.id + "#"
    for index, item in enumerate(content):
        fault = None
        try:
            check(item)
        except Mismatch as mismatch:
            mismatch.path = ("content", index, *mismatch.path)
            fault = _fault(message.row, mismatch, "undecodable-row")
            faults.append(fault)
            message.fault = message.fault or fault
        part = _part(message, prefix + str(index), index, item)
        part.fault = fault
        message.parts.append(part)


def _part(message: Message, id: str, index: int, item: Any) -> Part:
    if not isinstance(item, dict):
        return OtherItem(id, message.id, index, "", {}, "", message.row)
    kind = item.get("type")
    if kind == "tool":
        return _tool(message, id, index, item)
    if kind == "text":
        return TextItem(id, message.id, index, "text", item, "", message.row, None, item.get("text"))
    if kind == "reasoning":
        state = provider_state(item, "state") if message.generation > 1 else item.get("providerMetadata")
        metadata = state if isinstance(state, dict) else {}
        return ReasoningItem(
            id, message.id, index, "reasoning", item, "", message.row, None, item.get("text"), metadata
        )
    return OtherItem(id, message.id, index, kind if isinstance(kind, str) else "", item, "", message.row)


def _tool(message: Message, id: str, index: int, item: dict[str, Any]) -> ToolPart:
    state = item.get("state")
    if not isinstance(state, dict):
        state = {}
    status = state.get("status")
    call_id, name = item.get("id"), item.get("name")
    return ToolItem(
        id,
        message.id,
        index,
        "tool",
        item,
        "",
        message.row,
        None,
        call_id if isinstance(call_id, str) else "",
        name if isinstance(name, str) else "",
        status if isinstance(status, str) else "",
        state.get("input"),
        "input" in state,
        state,
        _hosted(item, message.generation),
        status == "error" and _never_ran(item),
    )


def _hosted(item: dict[str, Any], generation: int) -> bool:
    if generation > 1:
        return item.get("executed") is True
    provider = item.get("provider")
    return isinstance(provider, dict) and provider.get("executed") is True


def _never_ran(item: dict[str, Any]) -> bool:
    """``time.ran`` is set when the arguments are complete and the tool starts; a failure before that leaves it out
    (docs/contract/formats.md#b2)."""
    time = item.get("time")
    return not (isinstance(time, dict) and "ran" in time)


def provider_state(value: dict[str, Any], key: str) -> Any:
    """The provider state under ``native``, its spelling in one commit of generation 3, else under ``key``
    (docs/contract/formats.md#b0)."""
    native = value.get("native")
    return value.get(key) if native is None else native
