"""Rows of tables ``message`` and ``part`` as nearly all are, read into what tells them apart.

A part's long values stay in its row's text until somebody asks: ``data`` and what is taken from it are read then, once.
The types below are those of the client's schema and narrower (``opencode_v1_schema``), so a row that they take has no
fault; any other row is read whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sessions_app.domain import jsjson
from sessions_app.domain.model import (
    OtherPart,
    Part,
    ReasoningPart,
    Row,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
    plain_names,
)

type _Whole = Annotated[int, msgspec.Meta(ge=0, le=jsjson.MAX_SAFE)]
type _Count = Annotated[int, msgspec.Meta(ge=-jsjson.MAX_SAFE, le=jsjson.MAX_SAFE)]
type _States = dict[str, dict[str, str]]
"""Provider state: a record of strings per provider."""

_NONE: Final = Raw(b"null")


class _Span(Struct, gc=False, forbid_unknown_fields=True):
    start: _Whole
    end: _Whole | UnsetType = UNSET


class _Ran(Struct, gc=False, forbid_unknown_fields=True):
    """``compacted`` is not in it: a result that was cleared is read whole."""

    start: _Whole
    end: _Whole


class _TextRow(Struct, gc=False, tag_field="type", tag="text"):
    text: str
    synthetic: bool = False
    ignored: bool = False
    time: _Span | UnsetType = UNSET
    metadata: _States | UnsetType = UNSET


class _ReasoningRow(Struct, gc=False, tag_field="type", tag="reasoning"):
    text: str
    time: _Span
    metadata: _States | UnsetType = UNSET


class _Beside(Struct, gc=False):
    interrupted: bool = False


class _Completed(Struct, gc=False):
    status: Literal["completed"]
    input: dict[str, Raw]
    output: Raw
    title: str
    metadata: _Beside
    time: _Ran
    attachments: Raw = _NONE


class _ToolRow(Struct, gc=False, tag_field="type", tag="tool"):
    callID: str
    tool: str
    state: _Completed
    metadata: _States | UnsetType = UNSET


class _State(Struct, gc=False):
    input: dict[str, Any]


class _Call(Struct, gc=False):
    """A call's arguments alone."""

    state: _State


class _StepStartRow(Struct, gc=False, tag_field="type", tag="step-start"):
    snapshot: str | UnsetType = UNSET
    metadata: None = None


class _Cache(Struct, gc=False, forbid_unknown_fields=True):
    read: _Count
    write: _Count


class _Tokens(Struct, gc=False, forbid_unknown_fields=True):
    input: _Count
    output: _Count
    reasoning: _Count
    cache: _Cache
    total: _Count = 0


class _StepFinishRow(Struct, gc=False, tag_field="type", tag="step-finish"):
    reason: str
    cost: int | float
    tokens: _Tokens
    snapshot: str | UnsetType = UNSET
    metadata: None = None


class _PatchRow(Struct, gc=False, tag_field="type", tag="patch"):
    hash: str
    files: list[str]
    metadata: None = None


class _Model(Struct, gc=False, forbid_unknown_fields=True):
    providerID: str
    modelID: str
    variant: str = ""


class _Made(Struct, gc=False, forbid_unknown_fields=True):
    created: _Whole
    completed: _Whole = 0


class _Diff(Struct, gc=False, forbid_unknown_fields=True):
    file: str
    additions: _Whole
    deletions: _Whole
    patch: str = ""
    before: str = ""
    after: str = ""
    status: str = ""


class _Diffs(Struct, gc=False, forbid_unknown_fields=True):
    diffs: list[_Diff]
    title: str = ""
    body: str = ""


class _User(Struct, gc=False, forbid_unknown_fields=True, tag_field="role", tag="user"):
    time: _Made
    agent: str
    model: _Model
    summary: _Diffs | UnsetType = UNSET
    system: str = ""
    variant: str = ""


class _Path(Struct, gc=False, forbid_unknown_fields=True):
    cwd: str
    root: str


class _Assistant(Struct, gc=False, forbid_unknown_fields=True, tag_field="role", tag="assistant"):
    parentID: str
    modelID: str
    providerID: str
    mode: str
    agent: str
    path: _Path
    cost: int | float
    tokens: _Tokens
    time: _Made
    summary: bool = False
    finish: str = ""
    variant: str = ""


_part: Final = msgspec.json.Decoder(
    _TextRow | _ReasoningRow | _ToolRow | _StepStartRow | _StepFinishRow | _PatchRow
).decode
_message: Final = msgspec.json.Decoder(_User | _Assistant).decode
_value: Final = msgspec.json.Decoder().decode
_input: Final = msgspec.json.Decoder(_Call).decode


def plain_message(raw: Any) -> dict[str, Any] | None:
    """The object that a message's text holds, where it has nothing but what the schema knows and takes: then it is in
    JavaScript form as msgspec reads it. None where it has to be looked at."""
    if type(raw) is not str or "\\u0000" in raw:
        return None
    try:
        text = raw if raw.isascii() else raw.encode()
        told = _message(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if type(told) is _Assistant:
        cost = told.cost
        if jsjson.scalar(cost) is not cost:
            return None
    found: dict[str, Any] = _value(text)
    return found


class _Unread(Part):
    """What is not there yet is read when it is asked for. Made of values, as by ``replace``, it is an ordinary part."""

    __slots__ = ()

    def __new__(cls, *values: Any, **named: Any) -> Any:
        return cls.__bases__[1](*values, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__bases__[1], tuple([getattr(self, each.name) for each in fields(self)])

    def __getattr__(self, name: str) -> Any:
        read = _LATER.get(name)
        if read is None:
            raise AttributeError(name)
        value = read(self)
        setattr(self, name, value)
        return value


_LATER: Final[dict[str, Callable[[Any], Any]]] = {
    "data": lambda part: jsjson.loads(part.raw),
    "state": lambda part: part.data["state"],
    "input": lambda part: _arguments(part),
    "tokens": lambda part: part.data["tokens"],
    "cost": lambda part: part.data["cost"],
}


def _arguments(part: Any) -> Any:
    try:
        return jsjson.in_form(_input(part.raw.encode()).state.input)
    except msgspec.MsgspecError:  # a number beyond a double's range
        return part.state["input"]


class UnreadText(_Unread, TextPart):
    """Its text is there."""

    __slots__ = ("provider_state",)
    provider_state: Any


class UnreadReasoning(_Unread, ReasoningPart):
    """Its text and provider state are there."""

    __slots__ = ("provider_state",)
    provider_state: Any


class UnreadTool(_Unread, ToolPart):
    """A completed call whose result is text, with nothing odd about the names of its arguments."""

    __slots__ = ("provider_state",)
    provider_state: Any
    attached = False
    plain_input = True


class UnreadStepStart(_Unread, StepStartPart):
    """Says nothing but that it is there."""

    __slots__ = ()
    provider_state = None


class UnreadStepFinish(_Unread, StepFinishPart):
    """What it used is there."""

    __slots__ = ("counts",)
    counts: tuple[float, ...]
    provider_state = None


class UnreadOther(_Unread, OtherPart):
    """A patch."""

    __slots__ = ()
    provider_state = None


def unread_part(row: Row, index: int) -> Part | None:
    """The part that ``row`` holds, None where it has to be read whole."""
    raw = row.get("data")
    if type(raw) is not str or "\\u0000" in raw:
        return None
    try:
        told = _part(raw if raw.isascii() else raw.encode())
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    part = _MADE[type(told)](told)
    if part is not None:
        part.id = str(row.get("id", ""))
        part.message_id = str(row.get("message_id", ""))
        part.index = index
        part.raw = raw
        part.row = row
        part.fault = None
    return part


def _text(told: _TextRow) -> Part | None:
    state = told.metadata
    if state is not UNSET and not _orderly(state):
        return None
    part = _new(UnreadText)
    part.kind = "text"
    part.text = told.text
    part.synthetic = told.synthetic
    part.ignored = told.ignored
    part.provider_state = None if state is UNSET else state
    return part


def _reasoning(told: _ReasoningRow) -> Part | None:
    state = told.metadata
    if state is not UNSET and not _orderly(state):
        return None
    part = _new(UnreadReasoning)
    part.kind = "reasoning"
    part.text = told.text
    part.metadata = {} if state is UNSET else state
    part.provider_state = None if state is UNSET else state
    return part


def _tool(told: _ToolRow) -> Part | None:
    state, done = told.metadata, told.state
    if done.attachments is not _NONE or memoryview(done.output)[0] != _QUOTE or not plain_names(done.input):
        return None
    if state is not UNSET and ("providerExecuted" in state or not _orderly(state)):
        return None
    part = _new(UnreadTool)
    part.kind = "tool"
    part.call_id = told.callID
    part.tool = told.tool
    part.status = "completed"
    part.has_input = True
    part.provider_executed = False
    part.interrupted = done.metadata.interrupted
    part.provider_state = None if state is UNSET else state
    return part


def _step_start(told: _StepStartRow) -> Part:
    part = _new(UnreadStepStart)
    part.kind = "step-start"
    return part


def _step_finish(told: _StepFinishRow) -> Part:
    part = _new(UnreadStepFinish)
    used = told.tokens
    part.kind = "step-finish"
    part.reason = told.reason
    cost = jsjson.scalar(told.cost)
    part.counts = (cost, used.input, used.output, used.reasoning, used.cache.read, used.cache.write)
    return part


def _patch(told: _PatchRow) -> Part:
    part = _new(UnreadOther)
    part.kind = "patch"
    return part


_new: Final = object.__new__
_MADE: Final[dict[type, Callable[[Any], Part | None]]] = {
    _TextRow: _text,
    _ReasoningRow: _reasoning,
    _ToolRow: _tool,
    _StepStartRow: _step_start,
    _StepFinishRow: _step_finish,
    _PatchRow: _patch,
}
_QUOTE: Final = ord('"')


def _orderly(states: dict[str, dict[str, str]]) -> bool:
    """JavaScript leaves the keys in their order."""
    keys = [*states, *(name for state in states.values() for name in state)]
    return not keys or min(keys) >= ":"
