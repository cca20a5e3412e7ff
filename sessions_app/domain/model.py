"""Sessions as stored: rows or lines, and what a dialect reads in them (docs/contract/design.md#2).

``SessionRows`` is the interchange between stores, mirror, row documents and dialects: rows and lines exactly as stored.
``Session``, ``Message`` and the part kinds are the read-only view that a dialect decodes from them; each keeps
the row it came from, so unknown fields and odd spellings are never lost. Edits are operations (``repair``), which a
dialect compiles back to row changes in the row's own shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, Literal

from sessions_app.domain.knownmodels import NOTHING, Models

type Value = str | int | float | bytes | None
"""A stored column value as SQLite holds it. Text that is not UTF-8 is carried with ``surrogateescape``."""

type Row = dict[str, Any]
"""A stored row: column name -> ``Value``, every column of the table, in table order."""

type Json = dict[str, Any] | list[Any] | str | int | float | bool | None

type DialectName = str
"""The name that a dialect is registered under."""

V1: Final = "opencode-v1"
V2: Final = "opencode-v2"

LINE: Final = "line"
"""The table of lines of files."""


@dataclass(slots=True)
class SessionRows:
    """What is stored of one session, verbatim: rows of tables, or lines of files, as its dialect has it.

    ``messages`` (table ``message``) come in order (time_created, id), ``parts`` (table ``part``) in order (message_id,
    id), ``session_message`` in order of ``seq``. ``projects`` holds the project rows the store knows. ``epoch`` is the
    ``session_context_epoch`` row of V2 generation 1, where there is one. ``lines`` (``line_row``) come in the order of
    their files and numbers.
    """

    session: Row
    messages: list[Row] = field(default_factory=list)
    parts: list[Row] = field(default_factory=list)
    session_message: list[Row] = field(default_factory=list)
    projects: list[Row] = field(default_factory=list)
    epoch: Row | None = None
    siblings: list[Row] = field(default_factory=list)
    """Session rows of the parent and of child sessions, where the store knows them (dangling pointers,
    docs/contract/rules.md#2.20)."""
    lines: list[Row] = field(default_factory=list)
    inputs: list[Row] = field(default_factory=list)
    """The ``session_input`` rows of V2 generation 1, in the order in which they were admitted."""
    sequence: Row | None = None
    """The ``event_sequence`` row: the latest number that an event or row of the session was given."""
    last_event: int | None = None
    """The greatest number of the session's events, -1 where it has none; None where that is not known. As ``sequence``
    it is read of V2 sessions, and of others whose sequence is behind it."""
    models: Models = field(default=NOTHING, compare=False, repr=False)
    """What is known of the models from outside the session."""

    @property
    def id(self) -> str:
        """The stored id of the session, "" where its row has none."""
        return str(self.session.get("id", ""))

    def tables(self) -> dict[str, list[Row]]:
        """The session's own rows and lines by table, parents before children."""
        singles = {name: getattr(self, field) for name, field in _SINGLES.items()}
        return {
            **{name: getattr(self, field) for name, field in _FIELDS.items()},
            **{name: [] if row is None else [row] for name, row in singles.items()},
        }

    def with_tables(self, tables: Mapping[str, list[Row]]) -> SessionRows:
        """A copy with other rows in these tables."""
        changed: dict[str, Any] = {
            _FIELDS.get(name) or _SINGLES[name]: rows if name in _FIELDS else next(iter(rows), None)
            for name, rows in tables.items()
        }
        return replace(self, **changed)

    @property
    def last_number(self) -> int:
        """The greatest number that an event, a V2 row or an admitted prompt of the session has, -1 where none has one:
        ``event_sequence`` must not be behind it (docs/contract/v2-server.md#repairing)."""
        numbers = [row.get("seq") for row in self.session_message]
        numbers += [row.get(name) for row in self.inputs for name in ("admitted_seq", "promoted_seq")]
        known = -1 if self.last_event is None else self.last_event
        return max([known, *(number for number in numbers if isinstance(number, int))])

    @property
    def behind(self) -> bool:
        """``event_sequence`` is behind that number, or is not there; False where the events are not known."""
        if self.last_event is None:
            return False
        number = self.sequence.get("seq") if self.sequence is not None else None
        return (number if isinstance(number, int) else -1) < self.last_number


_FIELDS = {
    "message": "messages",
    "part": "parts",
    "session_message": "session_message",
    "session_input": "inputs",
    LINE: "lines",
}
_SINGLES = {"session_context_epoch": "epoch", "event_sequence": "sequence"}
"""Tables of which a session has one row at most."""

_KEYS = {"session_context_epoch": "session_id", "event_sequence": "aggregate_id"}
_OWNERS = {"session": "id", "event_sequence": "aggregate_id", "event": "aggregate_id"}


def key_column(table: str) -> str:
    """The column of a table's primary key."""
    return _KEYS.get(table, "id")


def owner(table: str, row: Row) -> Any:
    """The id of the session that a row of a table belongs to."""
    return row.get(_OWNERS.get(table, "session_id"))


def line_row(session_id: str, file: str, number: int | float, text: str) -> Row:
    """One line of a file, as a row of table ``line``.

    ``file`` is its name within the store, ``number`` counts from 1, ``text`` is the line without its end; bytes that
    are no UTF-8 are carried with ``surrogateescape``. A number with a fraction stands between two lines: what a repair
    puts in is counted when the file is read again.
    """
    return {"id": line_id(file, number), "session_id": session_id, "file": file, "line": number, "data": text}


def line_id(file: str, number: int | float) -> str:
    """How a line is named."""
    return f"{file}:{int(number) if number == int(number) else number}"


@dataclass(frozen=True, slots=True)
class RowFault:
    """Why a row or a value in it could not be read.

    ``path`` is the JSON path inside the row's ``data`` ("" = the whole text); ``rule`` is ``corrupt-json`` or
    ``undecodable-row``. ``fatal`` says that the client cannot open or continue the session because of it
    (docs/contract/formats.md#a6, docs/contract/wire.md#f18); ``words`` are the client's own words then.
    ``spare``: the value is a null whose key may be left out.
    """

    table: str
    id: str
    path: str
    reason: str
    rule: Literal["corrupt-json", "undecodable-row"]
    fatal: bool = False
    words: str = ""
    spare: bool = False


@dataclass(slots=True)
class Part:
    """One part: a row of table ``part`` (V1), or one content item of an assistant row (V2).

    ``id`` is the stored part id in V1; in V2, whose items have no id of their own, ``<message id>#<index>``. ``kind``
    is the stored ``type`` ("text", "reasoning", "tool", "step-start", ...), kept as it is when unknown; "" when the row
    does not decode. ``data`` is the decoded JSON object, unknown fields included (``{}`` when undecodable).

    Of a dialect that keeps lines: ``id`` is its line's (``line_id``), ``raw`` its line's text, and ``data`` says in
    opencode-v1's words what stands there.
    """

    id: str
    message_id: str
    index: int
    kind: str
    data: dict[str, Any]
    raw: str
    row: Row | None = None
    fault: RowFault | None = None

    @property
    def size(self) -> int:
        """Characters of stored JSON."""
        return len(self.raw)

    @property
    def provider_state(self) -> Any:
        """V1: what the provider gave to be sent back, whatever its type; None where there is nothing."""
        return self.data.get("metadata")


@dataclass(slots=True)
class TextPart(Part):
    """Words of the user, the model or, ``synthetic``, of the client. An ``ignored`` one is not sent.

    ``text`` is what is stored, whatever its type.
    """

    text: Any = ""
    synthetic: bool = False
    ignored: bool = False


@dataclass(slots=True)
class ReasoningPart(Part):
    """What the model thought, with the state that its provider wants back."""

    text: Any = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Provider state: V1 ``metadata``, gen1 ``providerMetadata`` (both keyed by provider), gen2/3 ``state`` (flat)."""

    @property
    def signed(self) -> bool:
        """A key ``signature`` or ``redactedData`` is present under any provider (its value may be empty,
        docs/contract/wire.md#f15)."""
        for value in (self.metadata, *self.metadata.values()):
            if isinstance(value, dict) and ("signature" in value or "redactedData" in value):
                return True
        return False


@dataclass(slots=True)
class ToolPart(Part):
    """A tool call and its result; ``status`` is the stored word."""

    call_id: str = ""
    tool: str = ""
    status: str = ""
    input: Any = None
    has_input: bool = True
    state: dict[str, Any] = field(default_factory=dict)
    provider_executed: bool = False
    interrupted: bool = False

    @property
    def executed(self) -> bool:
        """It may have run (docs/contract/design.md#executed): not pending/streaming, and not an interrupted error whose
        arguments never arrived."""
        if self.status in ("pending", "streaming"):
            return False
        return not (self.status == "error" and self.interrupted and self.input == {})

    @property
    def attached(self) -> bool:
        """Its result has files."""
        return bool(self.state.get("attachments"))

    @property
    def plain_input(self) -> bool:
        """An object, of which nothing is odd (docs/contract/rules.md#tool-input-malformed)."""
        held = self.input
        return isinstance(held, dict) and plain_names(held) and (bool(held) or self.status != "error")


def plain_names(arguments: Iterable[str]) -> bool:
    """No name of an argument holds markup, and "value" is not the only one."""
    names = "\t".join(arguments)
    return names != "value" and "<" not in names and ">" not in names and "\n" not in names


@dataclass(slots=True)
class StepStartPart(Part):
    """A provider's response begins (V1 alone)."""


@dataclass(slots=True)
class StepFinishPart(Part):
    """A provider's response is whole: why it ended, what it used (V1 alone)."""

    reason: str = ""
    tokens: dict[str, Any] = field(default_factory=dict)
    cost: Any = 0

    @property
    def counts(self) -> tuple[float, ...]:
        """Cost, tokens of input, output and reasoning, read from and written to the cache; 0 for what is no number."""
        used, cache = self.tokens.get, self.tokens.get("cache")
        held = cache if isinstance(cache, dict) else {}
        told = self.cost, used("input"), used("output"), used("reasoning"), held.get("read"), held.get("write")
        return tuple([value if isinstance(value, (int, float)) and value is not True else 0 for value in told])


@dataclass(slots=True)
class FilePart(Part):
    """A file or image that was given with a prompt; ``url`` is a data URL or a place."""

    mime: str = ""
    url: str = ""
    filename: str | None = None


@dataclass(slots=True)
class CompactionPart(Part):
    """The history before it was summarised, or is to be; ``tail_start_id`` is the first message that is kept."""

    auto: bool = False
    overflow: bool = False
    tail_start_id: str | None = None


@dataclass(slots=True)
class OtherPart(Part):
    """patch, subtask, agent, snapshot, retry, and every kind this version does not know."""


@dataclass(slots=True)
class Message:
    """A stored message of any dialect.

    ``kind`` is the V1 ``role`` or the V2 ``type``. ``data`` is the decoded JSON object; ``raw`` its stored text.
    ``seq`` is V2's replay order, None in V1. ``generation`` is 1, 2 or 3 for V2 rows (docs/contract/formats.md#b0), 0
    for others. Of a dialect that keeps lines, ``row`` is its first line, and ``data`` says in opencode-v1's words what
    the lines do.
    """

    id: str
    session_id: str
    kind: str
    data: dict[str, Any]
    raw: str
    row: Row
    parts: list[Part] = field(default_factory=list)
    time_created: int = 0
    seq: int | None = None
    generation: int = 0
    fault: RowFault | None = None
    provider: str = field(init=False, repr=False, compare=False)
    """Provider id of the model this message was sent to or made by, "" where the row names none."""
    model: str = field(init=False, repr=False, compare=False)
    """Model id, as ``provider``."""

    def __getattr__(self, name: str) -> str:
        if name not in _NAMES:
            raise AttributeError(name)
        setattr(self, name, value := _named(self.data, *_NAMES[name]))
        return value

    @property
    def is_user(self) -> bool:
        """A prompt."""
        return self.kind == "user"

    @property
    def is_assistant(self) -> bool:
        """An answer of a model."""
        return self.kind == "assistant"

    @property
    def error(self) -> dict[str, Any] | None:
        """The stored error object of a failed turn, None where there is none."""
        value = self.data.get("error")
        return value if isinstance(value, dict) else None

    @property
    def parent_id(self) -> str | None:
        """V1: the prompt that it answers."""
        value = self.data.get("parentID")
        return value if isinstance(value, str) else None

    @property
    def completed_at(self) -> int | None:
        """When the answer was whole (ms), None while it is open."""
        time = self.data.get("time")
        value = time.get("completed") if isinstance(time, dict) else None
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def tools(self) -> Iterator[ToolPart]:
        """Its tool calls, in stored order."""
        return iter([part for part in self.parts if isinstance(part, ToolPart)])


_NAMES: Final[dict[str, tuple[str, ...]]] = {"provider": ("providerID",), "model": ("modelID", "id")}


def _named(data: dict[str, Any], *keys: str) -> str:
    """``data.model.<key>`` (user rows, V2 rows), else ``data.<key>`` of the first key (V1 assistant rows)."""
    model = data.get("model")
    if isinstance(model, dict):
        for key in keys:
            value = model.get(key)
            if isinstance(value, str):
                return value
    value = data.get(keys[0])
    return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Session:
    """A decoded session. ``histories`` are those it holds, by dialect, each in the order in which it is replayed; an
    opencode session may hold both of its client's."""

    id: str
    rows: SessionRows
    histories: dict[DialectName, list[Message]] = field(default_factory=dict)
    dialect: DialectName = V1
    """The history that the session's version uses first."""
    faults: list[RowFault] = field(default_factory=list)
    """Rows that do not parse, and parts or messages that belong nowhere; the rest of the session works."""
    orphans: list[Part] = field(default_factory=list)
    """Parts whose message is not in the session."""
    whole: SessionRows | None = field(default=None, repr=False, compare=False)
    """The rows, where decoding them met neither half a surrogate pair nor NUL in any text that is JSON; None = not
    known."""

    @property
    def messages(self) -> list[Message]:
        """The history that the client uses."""
        return self.history(self.dialect)

    def history(self, dialect: DialectName) -> list[Message]:
        """The messages of one history, [] where the session has none."""
        return self.histories.get(dialect, [])

    def every_message(self) -> Iterator[Message]:
        """The messages of all histories."""
        return chain.from_iterable(self.histories.values())

    @property
    def title(self) -> str:
        """What the client calls the session, "" where nothing is stored."""
        return str(self.rows.session.get("title") or "")

    @property
    def version(self) -> str:
        """Version of the client that created the session."""
        return str(self.rows.session.get("version") or "")

    @property
    def revert(self) -> Any:
        """The raw ``revert`` column: JSON text, an object from a lenient row document, or None."""
        return self.rows.session.get("revert")

    def message(self, message_id: str) -> Message | None:
        """The message of any of its histories with this id."""
        for message in self.every_message():
            if message.id == message_id:
                return message
        return None

    def part(self, part_id: str) -> Part | None:
        """The part of any of its histories with this id; orphans apart."""
        for message in self.every_message():
            for part in message.parts:
                if part.id == part_id:
                    return part
        return None
