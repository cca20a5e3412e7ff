"""What a dialect is, and which there are.

A dialect says what the rows or lines of one client's sessions mean, and writes repairs back in their own shape. All
that stands above asks it and names no table: docs/decisions/room-for-a-third-dialect.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sessions_app.domain.model import DialectName, Message, Part, Row, RowFault, Session, SessionRows
from sessions_app.domain.repair import Operation, RowChange


@dataclass(frozen=True, slots=True)
class Decoded:
    """One history of a session. ``faults`` are those of its rows or lines, ``orphans`` parts whose message is not
    there."""

    messages: list[Message]
    faults: list[RowFault] = field(default_factory=list)
    orphans: list[Part] = field(default_factory=list)


class Dialect(ABC):
    """One way in which a client stores a history.

    Rules look at the parts that it decodes and plan in the words of opencode-v1 (``callID``, ``tool``, ``state``,
    ``text``); a dialect with other words turns them into its own in ``compile``.
    """

    name: ClassVar[DialectName]
    tables: ClassVar[tuple[str, ...]]
    """The tables of ``SessionRows`` that hold this history, parents first."""
    filed: ClassVar[str]
    """What the mirror files its messages under (``models.Message.Table``)."""
    lowering: ClassVar[str]
    """The module that lowers it: ``lower(session, target, repairs, next_prompt, generation)``, ``opens_with(session)``
    and ``keys(session, repairs)`` (``lowering.Lowerer``). Loaded when it is first used."""
    writer: ClassVar[str]
    """The module in a protocol's package that writes bodies as this client does ("v1", "v2")."""
    rules: ClassVar[Collection[str] | None] = None
    """Codes of the rules that hold for it, None = all."""
    exported: ClassVar[bool] = False
    """``opencode import`` reads it back from an export."""
    compacted: ClassVar[bool] = False
    """Suture can write a compaction into it."""

    def holds(self, rows: SessionRows) -> bool:
        """The session has something of this history."""
        tables = rows.tables()
        return any(tables[table] for table in self.tables)

    @abstractmethod
    def current(self, rows: SessionRows) -> bool:
        """This history is the one that the session's client uses."""

    @abstractmethod
    def decode(self, rows: SessionRows, generation: int | None = None) -> Decoded:
        """The messages in the order they are replayed. Never raises for what is stored; nothing is left out."""

    def decode_again(self, rows: SessionRows, generation: int | None, known: Session) -> Decoded:
        """As ``decode``, where most rows are the very ones that ``known`` was decoded from: a dialect may take its
        messages and parts as they are, since nobody changes them. Here all is decoded anew."""
        return self.decode(rows, generation)

    @abstractmethod
    def session_faults(self, rows: SessionRows) -> list[RowFault]:
        """What in the session's own row its client cannot read."""

    @abstractmethod
    def compile(self, rows: SessionRows, operations: Sequence[Operation]) -> tuple[RowChange, ...]:
        """The changes that carry out ``operations``, at most one per row, in the order they can be written. Raises
        ``OperationError``."""

    @abstractmethod
    def ordered(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """Rows of one of its tables in the store's order."""

    @abstractmethod
    def hash(self, rows: SessionRows) -> str:
        """SHA-256 (hex) of everything stored of the session itself."""

    def shown(self, message: Message) -> str:
        """The JSON text that the mirror keeps for screens of a message that has no row of its own; "" = all have."""
        return ""

    def shown_part(self, part: Part) -> str:
        """As ``shown``, of a part."""
        return ""


_DIALECTS: dict[DialectName, Dialect] = {}


def register(dialect: Dialect) -> None:
    """Make a dialect known, under its name. The first one registered is what a session without any row is taken for."""
    _DIALECTS[dialect.name] = dialect


def unregister(name: DialectName) -> None:
    """Forget a dialect. Sessions that hold nothing else are then decoded as the first one."""
    del _DIALECTS[name]


def dialects() -> tuple[Dialect, ...]:
    """Every dialect, in the order they were registered."""
    return tuple(_DIALECTS.values())


def dialect_of(session: Session) -> Dialect:
    """The dialect of the history that a session uses."""
    return named(session.dialect)


def named(name: DialectName) -> Dialect:
    """The dialect of that name; the first one for "" and for a name that is not known any more."""
    return _DIALECTS.get(name) or dialects()[0]


def current(rows: SessionRows) -> Dialect:
    """The dialect of the history that the session's client uses."""
    first, *others = _DIALECTS.values()
    return next((dialect for dialect in reversed(others) if dialect.current(rows)), first)


def held(rows: SessionRows) -> list[Dialect]:
    """The dialects that something is stored in, the current one where there is nothing at all."""
    return [dialect for dialect in _DIALECTS.values() if dialect.holds(rows)] or [current(rows)]
