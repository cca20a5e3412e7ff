"""What the toy's lines mean."""

from __future__ import annotations

from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.dialects import Decoded, LineDialect
from sessions_app.domain.model import Message, OtherPart, Part, Row, RowFault, SessionRows, TextPart, ToolPart
from sessions_app.domain.repair import Edit, OperationError

_PLACES: dict[str | int, str] = {"callID": "call", "tool": "name", "text": "text"}


class ToyDialect(LineDialect):
    """A message is a user line, or an assistant line with the tool lines behind it."""

    name = "toy"
    lowering = "tests.dialects.toy.lowering"
    writer = "v1"
    rules = frozenset({"duplicate-call-id-in-message", "duplicate-call-id-across-turns", "corrupt-json"})

    def decode(self, rows: SessionRows, generation: int | None = None) -> Decoded:
        found = Decoded([])
        for row in rows.lines:
            try:
                line, fault = _object(row["data"]), None
            except ValueError as error:
                line, fault = {}, RowFault("line", row["id"], "", str(error), "corrupt-json")
                found.faults.append(fault)
            if line.get("type") != "session":
                _add(found.messages, rows, row, line, fault)
        return found

    def place(self, edit: Edit) -> tuple[str | int, ...]:
        if not edit.path:
            return ()
        if edit.path[0] in _PLACES:
            return (_PLACES[edit.path[0]], *edit.path[1:])
        if edit.path[0] == "state" and len(edit.path) > 1 and edit.path[1] in ("input", "output"):
            return edit.path[1:]
        raise OperationError(f"a toy line has no place for {edit.path}")


def _object(text: str) -> dict[str, Any]:
    value = jsjson.loads(text)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def _add(messages: list[Message], rows: SessionRows, row: Row, line: dict[str, Any], fault: RowFault | None) -> None:
    kind = line.get("type", "")
    if kind in ("user", "assistant") or not messages:
        provider, _, model = str(line.get("model", "")).partition("/")
        named = {"providerID": provider, "modelID": model} if model else {}
        role = "user" if kind == "user" else "assistant"
        data = {"role": role, **({"model": named} if kind == "user" and named else named)}
        time = rows.session["time_created"]
        messages.append(Message(f"@{row['id']}", rows.id, role, data, row["data"], row, time_created=time))
    owner = messages[-1]
    owner.parts.append(_part(row, line, fault, owner))


def _part(row: Row, line: dict[str, Any], fault: RowFault | None, owner: Message) -> Part:
    place = (row["id"], owner.id, len(owner.parts))
    if line.get("type") in ("user", "assistant"):
        shown = {"type": "text", "text": line.get("text", "")}
        return TextPart(*place, "text", shown, row["data"], row, fault, text=shown["text"])
    if line.get("type") != "tool":
        return OtherPart(*place, str(line.get("type", "")), line, row["data"], row, fault)
    state = {"status": "completed", "input": line.get("input"), "output": line.get("output")}
    shown = {"type": "tool", "callID": line.get("call", ""), "tool": line.get("name", ""), "state": state}
    return ToolPart(
        *(*place, "tool", shown, row["data"], row, fault),
        call_id=shown["callID"],
        tool=shown["tool"],
        status="completed",
        input=state["input"],
        state=state,
    )
