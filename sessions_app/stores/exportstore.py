"""``opencode export`` files as a store (docs/contract/formats.md#a5, #c2): rows keep the text they have in the file,
and go back into it in the same shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sessions_app.domain.dialects import apply
from sessions_app.domain.jsontext import Member, NotJson, items, members, value_end, with_members, without
from sessions_app.domain.model import Row, SessionRows
from sessions_app.domain.patience import go_on
from sessions_app.domain.repair import RowChange

from . import infocolumns
from .changes import Difference, GuardRefused
from .ground import Problem, StoreError
from .storagefiles import IDS
from .textsniff import documents
from .textstore import TextStore, changes_of

MESSAGE_IDS, PART_IDS = IDS["message"], IDS["part"]
V2 = "session_message"
V2_IDS = {"id": "id", "type": "type"}
"""The members of a message of 2.x that are columns of its row."""


@dataclass(slots=True)
class _Piece:
    """A part or a message's ``info`` in the text; ``front``: its ids come first; ``names``: the id members it has."""

    start: int
    end: int
    row: Row
    front: bool = False
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class _Message:
    """A message of the text. One of 2.x is its ``info`` as a whole, a row of ``session_message``."""

    start: int
    end: int
    info: _Piece
    parts: list[_Piece] = field(default_factory=list)
    parts_at: tuple[int, int] | None = None

    @property
    def v2(self) -> bool:
        return "seq" in self.info.row


@dataclass(slots=True)
class _Export:
    start: int
    end: int
    info: tuple[int, int]
    messages: list[_Message]
    messages_at: tuple[int, int] | None


class ExportStore(TextStore):
    """One export, or several one after the other."""

    kind = "export"

    def _load(self, text: str) -> None:
        self._exports: dict[str, _Export] = {}
        for number, document in enumerate(found for found in documents(text, self.path) if found.kind == "export"):
            top = {member.key: member for member in document.members}
            session = self._session_row(text, top["info"])
            if session["id"] in self.loaded:
                self.problems.append(
                    Problem(
                        f"export {number + 1}",
                        f"A second export of session {session['id']} was passed over.",
                        "",
                        session["id"],
                    )
                )
                continue
            holder = top.get("messages")
            reader = _Reader(text, session["id"], self.problems)
            found = reader.messages(holder)
            self.loaded[session["id"]] = SessionRows(
                session=session,
                messages=sorted(
                    (message.info.row for message in found if not message.v2),
                    key=lambda row: (row["time_created"], row["id"]),
                ),
                session_message=[message.info.row for message in found if message.v2],
                parts=sorted(
                    (piece.row for message in found for piece in message.parts),
                    key=lambda row: (row["message_id"], row["id"]),
                ),
            )
            at = (holder.value_start, holder.end) if holder is not None else None
            self._exports[session["id"]] = _Export(
                document.start, document.end, (top["info"].value_start, top["info"].end), found, at
            )

    def _session_row(self, text: str, info: Member) -> Row:
        try:
            session = infocolumns.session_row(text, info.value_start)
        except NotJson as error:
            words = f'The "info" of the export is no session object: {error}.'
            raise StoreError("not-a-store", self.path, words) from error
        if not isinstance(session["id"], str):
            words = 'The "info" of the export has no session id.'
            raise StoreError("not-a-store", self.path, words, "Export the session again.")
        return session

    def rendered(self, changes: Sequence[RowChange]) -> str:
        """One export: without the chatter around it. Raises ``GuardRefused`` for rows that an export cannot hold."""
        for change in changes:
            if change.table not in ("session", "message", "part", V2) or (
                change.table == "session" and change.after is None
            ):
                raise GuardRefused(
                    [
                        Difference(
                            change.table,
                            str(change.key.get("id")),
                            "",
                            "an export file does not hold such rows",
                        )
                    ]
                )
        pieces = []
        for session_id, export in self._exports.items():
            own = changes_of(self.loaded[session_id], changes)
            text = self.text[export.start : export.end]
            pieces.append(_Writer(self.text, export, self.loaded[session_id], own).text() if own else text)
        return "\n".join(pieces) + "\n"


class _Raw(NamedTuple):
    """An object's place in the text and its members; ``members`` None: it is no object."""

    start: int
    end: int
    members: list[Member] | None


def _raw(text: str, at: int) -> tuple[_Raw, int]:
    if not text.startswith("{", at):
        end = value_end(text, at)[1]
        return _Raw(at, end, None), end
    found, end = members(text, at)
    return _Raw(at, end, found), end


def _message_member(text: str, at: int, key: str) -> tuple[Any, int]:
    """``info`` as its members (None: no object), ``parts`` as a list of ``_Raw`` (other values: no list)."""
    if key == "parts" and text.startswith("[", at):
        return items(text, at, _raw)
    if key == "parts":
        return None, value_end(text, at)[1]
    if key == "info":
        raw, end = _raw(text, at)
        return raw.members, end
    return value_end(text, at)


class _Reader:
    def __init__(self, text: str, session_id: str, problems: list[Problem]) -> None:
        self.text = text
        self.session_id = session_id
        self.problems = problems
        self.seen: set[tuple[str, str]] = set()
        self.count = 0

    def messages(self, holder: Member | None) -> list[_Message]:
        if holder is None or not self.text.startswith("[", holder.value_start):
            self._problem("messages", "The export has no list of messages.")
            return []
        found, _ = items(self.text, holder.value_start, self._message)
        return found

    def _message(self, text: str, at: int) -> tuple[_Message, int]:
        go_on()
        where = f"messages[{self.count}]"
        self.count += 1
        if not text.startswith("{", at):
            raw, end = _raw(text, at)
            return _Message(at, end, self._piece("message", raw, where, {})), end
        top, end = members(text, at, _message_member)
        found = {member.key: member for member in top}
        info = found.get("info")
        if info is None and "type" in found and "role" not in found:
            owner = {"session_id": self.session_id, "seq": self.count - 1}
            return _Message(at, end, self._piece(V2, _Raw(at, end, top), where, owner)), end
        raw = _Raw(at, end, top) if info is None else _Raw(info.value_start, info.end, info.value)
        message = _Message(at, end, self._piece("message", raw, where, {"session_id": self.session_id}))
        parts = found.get("parts")
        if parts is not None and isinstance(parts.value, list):
            row = message.info.row
            owner = {"session_id": self.session_id, "message_id": row["id"], "time": row["time_created"]}
            message.parts_at = (parts.value_start, parts.end)
            message.parts = [
                self._piece("part", part, f"{where}.parts[{n}]", owner) for n, part in enumerate(parts.value)
            ]
        return message, end

    def _piece(self, table: str, raw: _Raw, where: str, owner: Mapping[str, Any]) -> _Piece:
        """A row out of an object. The place in the file wins over the ids inside, as in the client's import."""
        ids = V2_IDS if table == V2 else IDS[table]
        row_id: Any = None
        data, front, names, value = self.text[raw.start : raw.end], False, tuple(ids), {}
        if raw.members is not None:
            value = {member.key: member.value for member in raw.members}
            row_id = value.get("id")
            data = without(self.text, raw.start, raw.end, raw.members, ids)
            front = bool(raw.members) and raw.members[0].key in ids
            names = tuple(member.key for member in raw.members if member.key in ids)
            for name, column in ids.items():
                if column in owner and name in value and value[name] != owner[column]:
                    self._problem(where, f"{name} is {value[name]!r}, but it stands under {owner[column]}.")
        else:
            self._problem(where, "This is no object.", "undecodable-row")
        if not isinstance(row_id, str) or not row_id:
            self._problem(where, "It has no id; the place in the file stands for it.", "undecodable-row")
            row_id = where
        if (table, row_id) in self.seen:
            self._problem(
                where,
                f"A second {table} with the id {row_id}; the place in the file stands for it.",
                "undecodable-row",
            )
            row_id = where
        self.seen.add((table, row_id))
        return _Piece(raw.start, raw.end, _row(table, row_id, self.session_id, data, value, owner), front, names)

    def _problem(self, where: str, reason: str, rule: Any = "") -> None:
        self.problems.append(Problem(where, reason, rule, self.session_id))


def _row(
    table: str, row_id: str, session_id: str, data: str, value: Mapping[str, Any], owner: Mapping[str, Any]
) -> Row:
    """Times are those inside the object; parts have none of their own in a file and take their message's."""
    time = value.get("time")
    inside = time if isinstance(time, dict) else {}
    if table == "part":
        at = owner.get("time", 0)
        return {
            "id": row_id,
            "message_id": owner["message_id"],
            "session_id": session_id,
            "time_created": at,
            "time_updated": at,
            "data": data,
        }
    created = _milliseconds(inside.get("created"), 0)
    return {
        "id": row_id,
        "session_id": session_id,
        **({"type": value.get("type"), "seq": owner["seq"]} if table == V2 else {}),
        "time_created": created,
        "time_updated": _milliseconds(inside.get("completed"), created),
        "data": data,
    }


def _milliseconds(value: Any, otherwise: int) -> int:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53
    return int(value) if usable else otherwise


class _Writer:
    """One export's text with changed rows: only what changed is written anew."""

    def __init__(self, text: str, export: _Export, rows: SessionRows, changes: Sequence[RowChange]) -> None:
        self.source = text
        self.export = export
        self.before = rows
        self.after = apply(rows, changes)
        self.messages = {row["id"]: row for row in self.after.messages}
        placed = {row["seq"]: row for row in self.after.session_message}
        self.messages |= {row["id"]: placed[row["seq"]] for row in rows.session_message if row["seq"] in placed}
        self.parts = {row["id"]: row for row in self.after.parts}
        self.by_message: dict[str, list[Row]] = {}
        for row in self.after.parts:
            self.by_message.setdefault(row["message_id"], []).append(row)

    def text(self) -> str:
        edits: list[tuple[int, int, str]] = []
        start, end = self.export.info
        if self.after.session != self.before.session:
            edits.append(
                (
                    start,
                    end,
                    infocolumns.edited(self.source[start:end], self.before.session, self.after.session),
                )
            )
        at = self.export.messages_at
        if at is not None:
            edits.append((*at, self._messages(at)))
        return self._spliced(self.export.start, self.export.end, edits)

    def _messages(self, at: tuple[int, int]) -> str:
        old = {message.info.row["id"]: message for message in self.export.messages}
        texts = [(key, self._message(message)) for key, message in old.items() if key in self.messages]
        for row in self.after.messages:
            if row["id"] not in old:
                after = [index for index, (key, _) in enumerate(texts) if self._order(key) <= self._order(row["id"])]
                texts.insert(after[-1] + 1 if after else 0, (row["id"], self._new_message(row)))
        return self._array(
            at,
            [(message.start, message.end) for message in self.export.messages],
            [text for _, text in texts],
        )

    def _order(self, message_id: str) -> tuple[Any, str]:
        return self.messages[message_id]["time_created"], message_id

    def _message(self, message: _Message) -> str:
        key = message.info.row["id"]
        ids = V2_IDS if message.v2 else MESSAGE_IDS
        edits: list[tuple[int, int, str]] = [
            (message.info.start, message.info.end, self._piece(message.info, self.messages[key], ids))
        ]
        if message.parts_at is not None:
            edits.append((*message.parts_at, self._parts(key, message)))
        return self._spliced(message.start, message.end, edits)

    def _parts(self, message_id: str, message: _Message) -> str:
        assert message.parts_at is not None
        own = self.by_message.get(message_id, [])
        if own == [piece.row for piece in message.parts]:
            return self.source[slice(*message.parts_at)]
        here = {row["id"] for row in own}
        old = {piece.row["id"]: piece for piece in message.parts}
        texts = [(key, self._piece(piece, self.parts[key], PART_IDS)) for key, piece in old.items() if key in here]
        for row in own:
            if row["id"] not in old:
                after = [index for index, (key, _) in enumerate(texts) if key <= row["id"]]
                texts.insert(after[-1] + 1 if after else 0, (row["id"], _object(row, PART_IDS, front=False)))
        return self._array(
            message.parts_at,
            [(piece.start, piece.end) for piece in message.parts],
            [text for _, text in texts],
        )

    def _new_message(self, row: Row) -> str:
        parts = [_object(part, PART_IDS, front=False) for part in self.by_message.get(row["id"], [])]
        return f'{{"info":{_object(row, MESSAGE_IDS, front=False)},"parts":[{",".join(parts)}]}}'

    def _piece(self, piece: _Piece, row: Row, ids: Mapping[str, str]) -> str:
        return (
            self.source[piece.start : piece.end]
            if row == piece.row
            else _object(row, {name: ids[name] for name in piece.names}, front=piece.front)
        )

    def _array(self, at: tuple[int, int], old: list[tuple[int, int]], texts: list[str]) -> str:
        """The items in the white space that the old items had."""
        start, end = at
        if not texts:
            return "[]"
        lead = self.source[start + 1 : old[0][0]] if old else ""
        trail = self.source[old[-1][1] : end - 1] if old else ""
        return f"[{lead}{f',{lead}'.join(texts)}{trail}]"

    def _spliced(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> str:
        pieces, at = [], start
        for first, last, new in sorted(edits):
            pieces += [self.source[at:first], new]
            at = last
        return "".join([*pieces, self.source[at:end]])


def _object(row: Row, ids: Mapping[str, str], front: bool) -> str:
    return with_members(str(row["data"]), {name: str(row[column]) for name, column in ids.items()}, front=front)
