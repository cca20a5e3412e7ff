"""Two other orders of a session: as its own target is sent it, and as it would be stored after the proposed repair.

Rows carry the stored ids they come from, so that each leads back to its place in stored order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from sessions_app import models
from sessions_app.domain import dialects
from sessions_app.domain.bodies import written
from sessions_app.domain.lowering import lower
from sessions_app.domain.model import Message, Part, Session, ToolPart
from sessions_app.domain.wire.lowered import Body, Lowered, Origin
from sessions_app.domain.wire.target import Target
from sessions_app.kept import Kept

from .keeping import SessionKey, kept_of
from .payloads import LISTS, chosen_target
from .rows import session_rows

type State = Literal["sent", "merged", "added", "not-sent", "kept", "removed", "changed", "inserted"]

KEPT_BYTES = 96_000_000
"""Of all orders that a process keeps, about."""
ROW_BYTES = 1_500
"""What a row takes in memory beside its texts."""

BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch"})
"""Parts that no provider is ever sent; they are counted, not listed as "not sent"."""

_ROLES = {
    "assistant": ("assistant", "model"),
    "tool": ("tool", "user"),
    "user": ("user",),
    "system": ("system", "user"),
}


@dataclass(frozen=True, slots=True)
class OrderRow:
    """A block as it is sent, or a stored part. ``index`` is the position of its message in the request body, None where
    it is in none; ``held`` is the canonical block or the stored part, whose JSON may not have been read yet."""

    state: State
    kind: str
    role: str
    message: str
    part: str
    held: dict[str, Any] | Part
    index: int | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The canonical block, or the stored part's JSON."""
        return self.held.data if isinstance(self.held, Part) else self.held

    @property
    def tool(self) -> str:
        return self._of_call("tool", "name")

    @property
    def call_id(self) -> str:
        return self._of_call("call_id", "id")

    @property
    def status(self) -> str:
        return self.held.status if isinstance(self.held, ToolPart) else ""

    @property
    def problem(self) -> str:
        """Why a stored part cannot be read."""
        return self.held.fault.reason if isinstance(self.held, Part) and self.held.fault else ""

    def _of_call(self, stored: str, sent: str) -> str:
        if isinstance(self.held, Part):
            return str(getattr(self.held, stored, ""))
        return str(self.held.get(sent) or "") if self.kind in ("tool-call", "tool-result") else ""

    @property
    def at(self) -> str:
        """The stored id to show, "" for what no row holds."""
        return self.part or self.message


@dataclass(frozen=True, slots=True)
class Order:
    """``bookkeeping`` counts stored parts of kinds that are never sent."""

    rows: tuple[OrderRow, ...]
    bookkeeping: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def first(self, *states: State) -> int:
        """Index of the first row in one of these states, 0 where there is none."""
        return next((at for at, row in enumerate(self.rows) if row.state in states), 0)

    def place(self, stored_id: str) -> int | None:
        """Index of the first row of a part or message."""
        return next((at for at, row in enumerate(self.rows) if stored_id in (row.part, row.message)), None)


@dataclass(frozen=True, slots=True)
class SentOrder:
    """An order and the target it is sent to; ``cost`` in bytes, about."""

    target: Target
    order: Order
    cost: int


_KEPT: Kept[SessionKey, SentOrder] = Kept(KEPT_BYTES, lambda sent: sent.cost)


def session_sent_order(session: models.Session) -> SentOrder:
    """The order in which an imported session is sent to its own target, kept for the next look.

    Raises ``NoTarget`` and ``LoweringError``.
    """
    return kept_of(_KEPT, session, session.source.input, lambda: _sent_of(session))


def _sent_of(session: models.Session) -> SentOrder:
    decoded = dialects.decode(session_rows(session))
    target = chosen_target(decoded, "", "auto")
    order = sent_order(decoded, target)
    return SentOrder(target, order, session.size_bytes + ROW_BYTES * len(order.rows))


def sent_order(session: Session, target: Target) -> Order:
    """What the client would send today, block by block; stored parts it leaves out stand where they are stored.

    Raises ``LoweringError`` where the client cannot build a request.
    """
    lowered = lower(session, target, repairs=False)
    body = written(lowered, session, target)
    sent = list(_sent(lowered, body))
    stored = [row for message in session.messages for row in _as_stored(message)]
    used = {row.at for row in sent}
    missing = [(at, row) for at, row in enumerate(stored) if row.at not in used and row.message not in used]
    left_out = [(at, row) for at, row in missing if row.kind not in BOOKKEEPING]
    places = {row.at: at for at, row in enumerate(stored)}
    return _order(_interleaved(sent, left_out, places), len(missing) - len(left_out))


def repaired_order(session: Session, after: Session) -> Order:
    """The session as it is stored after a plan; what the plan removes stands where it was."""
    before = {part.id: (message, part) for message in session.messages for part in message.parts}
    kept = {part.id for message in after.messages for part in message.parts}
    gone: defaultdict[str, list[Part]] = defaultdict(list)
    last = ""
    for part_id, (_, part) in before.items():
        if part_id in kept:
            last = part_id
        else:
            gone[last].append(part)
    roles = {part_id: message.kind for part_id, (message, _) in before.items()}
    rows = [_stored("removed", roles[part.id], part) for part in gone[""]]
    for message in after.messages:
        for part in message.parts:
            rows.append(_stored(_what_became(before.get(part.id), part), message.kind, part))
            rows += [_stored("removed", roles[lost.id], lost) for lost in gone.get(part.id, ())]
    return _order(rows, 0)


def _order(rows: Iterable[OrderRow], bookkeeping: int) -> Order:
    kept = tuple(rows)
    return Order(kept, bookkeeping, dict(Counter(row.state for row in kept)))


def _what_became(was: tuple[Message, Part] | None, part: Part) -> State:
    if was is None:
        return "inserted"
    return "kept" if was[1].raw == part.raw and was[0].id == part.message_id else "changed"


def _stored(state: State, role: str, part: Part) -> OrderRow:
    return OrderRow(state, part.kind, role, part.message_id, part.id, part)


def _as_stored(message: Message) -> Iterator[OrderRow]:
    """A message's parts; a V2 message without content items is one row of its own."""
    if message.parts or not message.generation:
        yield from (_stored("not-sent", message.kind, part) for part in message.parts)
    else:
        kind = "text" if isinstance(message.data.get("text"), str) else message.kind
        yield OrderRow("not-sent", kind, message.kind, message.id, "", message.data)


def _interleaved(
    sent: list[OrderRow], left_out: list[tuple[int, OrderRow]], places: dict[str, int]
) -> Iterator[OrderRow]:
    """Sent rows in sent order; what is left out comes before the first sent row that is stored after it."""
    waiting = iter(left_out)
    head = next(waiting, None)
    for row in sent:
        at = places.get(row.at)
        while head is not None and at is not None and head[0] < at:
            yield head[1]
            head = next(waiting, None)
        yield row
    while head is not None:
        yield head[1]
        head = next(waiting, None)


def _sent(lowered: Lowered, body: Body) -> Iterator[OrderRow]:
    """Canonical blocks that are in the body, with the body's message each is in; messages no stored row gave are the
    client's own."""
    key = next((name for name in LISTS if isinstance(body.body.get(name), list)), "")
    written: list[Any] = body.body.get(key, [])
    places = _Places(body, key, written)
    rows = [
        (index, message["role"], block, origin)
        for message, origins in zip(lowered.messages, lowered.origins, strict=True)
        for block, origin, index in places.of(message, origins)
    ]
    filled = {index for index, _, _, origin in rows if index is not None and origin.message}
    owners: dict[int, str] = {}
    at = 0
    for index, role, block, origin in rows:
        while index is not None and at <= index:
            if at not in filled and at < index:
                yield _clients_own(written[at], at)
            at += 1
        if index is None and origin.message:
            continue
        owner = owners.setdefault(index, origin.message) if index is not None and origin.message else ""
        merged = bool(owner) and owner != origin.message
        state: State = "merged" if merged else "sent" if origin.message else "added"
        yield _block_row(state, role, block, origin, index)
    for left in range(at, len(written)):
        yield _clients_own(written[left], left)


class _Places:
    """Where in the body a canonical block is: by its part where the protocol keeps blocks apart, else by its message
    and role."""

    def __init__(self, body: Body, key: str, written: list[Any]) -> None:
        self.written = written
        self.blocks: defaultdict[Origin, list[int]] = defaultdict(list)
        self.heads: defaultdict[str, list[int]] = defaultdict(list)
        joined: set[int] = set(range(len(written)))
        for path, origin in body.provenance.items():
            if len(path) < 2 or path[0] != key or not isinstance(path[1], int):
                continue
            if origin.part or len(path) > 2:
                self.blocks[origin].append(path[1])
            if len(path) == 2:
                self.heads[origin.message].append(path[1])
            elif path[2] in ("content", "parts") and len(path) > 3:
                joined.discard(path[1])
        self.joined = joined
        """Messages whose texts are one string, so that provenance names the message only."""
        self.last = -1
        self.used: set[tuple[Origin, int]] = set()

    def of(self, message: dict[str, Any], origins: list[Origin]) -> Iterator[tuple[dict[str, Any], Origin, int | None]]:
        found: list[int | None] = []
        home: int | None = None
        for block, origin in zip(message["content"], origins, strict=True):
            index = self._own(block, origin, message["role"])
            if index is None and origin.message:
                if home is None:
                    home = self._home(origin.message, message["role"])
                index = home
            elif index is not None and message["role"] == "assistant":
                home = index
            found.append(index)
        known = [index for index in found if index is not None]
        for block, origin, index in zip(message["content"], origins, found, strict=True):
            yield block, origin, index if index is not None or origin.message else next(iter(known), None)
        self.last = max([self.last, *known])

    def _own(self, block: dict[str, Any], origin: Origin, role: str) -> int | None:
        """The message that names this very part; a call and its result have one part and two messages."""
        for index in self.blocks.get(origin, ()):
            if (origin, index) not in self.used and self._fits(index, role):
                if not origin.part or block.get("type") in ("tool-call", "tool-result"):
                    self.used.add((origin, index))
                return index
        return None

    def _home(self, message: str, role: str) -> int | None:
        return next(
            (
                index
                for index in self.heads.get(message, ())
                if index > self.last and index in self.joined and self._fits(index, role)
            ),
            None,
        )

    def _fits(self, index: int, role: str) -> bool:
        sent = self.written[index]
        named = sent.get("role") if isinstance(sent, dict) else None
        if named is None:  # an item of OpenAI Responses
            kind = str(sent.get("type", "")) if isinstance(sent, dict) else ""
            return kind.endswith("_output") == (role == "tool")
        return named in _ROLES.get(role, (role,))


def _block_row(state: State, role: str, block: dict[str, Any], origin: Origin, index: int | None) -> OrderRow:
    return OrderRow(state, str(block.get("type", "")), role, origin.message, origin.part, block, index)


def _clients_own(message: Any, index: int) -> OrderRow:
    value = message if isinstance(message, dict) else {"value": message}
    return OrderRow("added", "message", str(value.get("role") or ""), "", "", value, index)
