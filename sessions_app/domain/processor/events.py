"""What a provider's stream says, whatever the protocol: the events a processor consumes.

An adapter (``providers/``) maps a protocol's stream to these; tools report with ``ToolResult`` and ``ToolError``.
``key`` tells blocks of one response apart; ``metadata`` is provider state in its flat form (``{"signature": ...}``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

type Metadata = Mapping[str, Any]

_NONE: Metadata = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one response; ``input`` without those read from or written to a cache, ``output`` without reasoning."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """All of them, each counted once."""
        return self.input + self.output + self.reasoning + self.cache_read + self.cache_write


UNCOUNTED = Usage()


type FailureKind = Literal[
    "api", "auth", "overflow", "connection", "cut", "decompression", "timeout", "aborted", "tool", "unknown"
]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a response did not come to its end.

    ``retryable`` is the provider's own mark, None where it says nothing; ``code`` its error type or code; ``headers``
    are in lower case. ``status`` is the HTTP status where there was a response.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    code: str = ""
    retryable: bool | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


class StreamFailed(Exception):
    """Raised by a stream in place of a ``StreamError`` event."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class StepStart:
    """The response begins. ``snapshot`` names the state of the work tree, where the caller keeps such."""

    snapshot: str = ""


@dataclass(frozen=True, slots=True)
class TextStart:
    """A block of text begins."""

    key: str
    metadata: Metadata = _NONE


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the text ``key``."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """The text ``key`` is complete; ``metadata`` takes the place of what its start had, where there is any."""

    key: str
    metadata: Metadata = _NONE


@dataclass(frozen=True, slots=True)
class ReasoningStart:
    """A block of thinking begins."""

    key: str
    metadata: Metadata = _NONE


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the thinking ``key``."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    """``metadata`` is complete only now: signatures come last."""

    key: str
    metadata: Metadata = _NONE


@dataclass(frozen=True, slots=True)
class ToolInputStart:
    """The model begins a call: its name is known, its arguments are not."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """More of the arguments' JSON text."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputEnd:
    """The arguments' text is complete; ``ToolCall`` says what it parses to."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The arguments are complete. ``input`` is what they parse to; ``problem`` says why they are no JSON object ("" =
    they are) and ``raw`` keeps their text then. ``executed`` by the provider: its result comes by the stream, nobody
    runs it here."""

    call_id: str
    name: str
    input: Any
    problem: str = ""
    raw: str = ""
    executed: bool = False
    metadata: Metadata = _NONE


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back. ``attachments`` are file objects ``{"mime", "url", "filename"?}``."""

    output: str
    title: str = ""
    metadata: Metadata = _NONE
    attachments: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The tool ran to its end."""

    call_id: str
    result: ToolOutput


@dataclass(frozen=True, slots=True)
class ToolError:
    """The tool failed; ``error`` is what the model is told."""

    call_id: str
    error: str


@dataclass(frozen=True, slots=True)
class Patched:
    """Files that changed since the step's snapshot ``hash``."""

    hash: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepFinish:
    """The provider says why the response ended: stop, tool-calls, length, content-filter, unknown, ..."""

    reason: str
    usage: Usage = UNCOUNTED
    metadata: Metadata = _NONE


@dataclass(frozen=True, slots=True)
class StreamError:
    """The response failed; nothing follows."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Finish:
    """The stream is over. Without a ``StepFinish`` before it, it was cut."""


type Event = (
    StepStart
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolInputStart
    | ToolInputDelta
    | ToolInputEnd
    | ToolCall
    | ToolResult
    | ToolError
    | Patched
    | StepFinish
    | StreamError
    | Finish
)
