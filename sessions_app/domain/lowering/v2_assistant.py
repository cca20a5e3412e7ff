"""A V2 assistant message to canonical messages: the turn itself, then a message per local tool result
(docs/contract/formats.md#b3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sessions_app.domain import jsjson
from sessions_app.domain.dialects.opencode_v2 import provider_state
from sessions_app.domain.dialects.opencode_v2.schemas import TOOL_CONTENT
from sessions_app.domain.dialects.opencode_v2.shape import Mismatch
from sessions_app.domain.model import Message, Part, ReasoningPart, ToolPart
from sessions_app.domain.wire.lowered import CanonicalMessage, Lowered, LoweringError, Origin

from .dedupe import deduped
from .drop import loses_reasoning

type _Json = dict[str, Any]

_RESULT_TYPES = frozenset({"text", "json", "error", "content"})
_TEXT_KEYS = ("type", "text")
_FILE_KEYS = ("type", "uri", "mime")
_ERROR_KEYS = ("type", "message", "status")


class _Turn:
    """How one assistant message is replayed: what may be reused of its provider state, and under which key."""

    __slots__ = ("failed", "generation", "interrupted", "key", "reuse", "same_model", "same_provider")

    def __init__(self, message: Message, provider: str, model: str, key: str) -> None:
        made_by = message.data["model"]
        self.generation = message.generation
        self.key = key
        self.failed = "error" in message.data
        self.same_provider: bool = made_by["providerID"] == provider
        self.same_model: bool = self.same_provider and made_by["id"] == model
        self.reuse = self.same_model and not self.failed
        self.interrupted = self.generation == 3 and _open_reasoning(message.parts)

    def keyed(self, state: Any) -> _Json | None:
        """Provider state as canonical parts carry it; generation 1 stores it under its key already."""
        if state is None or self.generation == 1:
            keyed: _Json | None = state
            return keyed
        return {self.key: state}


def lower_assistant(message: Message, provider: str, model: str, key: str, repairs: bool, lowered: Lowered) -> None:
    """Appends what ``message`` becomes for a call to ``provider``/``model``. Raises ``LoweringError`` (kind ``lower``)
    for a tool result that the canonical message refuses."""
    turn = _Turn(message, provider, model, key)
    parts: Sequence[Part] = message.parts
    if repairs:
        parts = deduped(parts)
        if parts is not message.parts:
            kept = {part.id for part in parts}
            lowered.notes += [Origin(message.id, part.id) for part in message.parts if part.id not in kept]
        if turn.failed and turn.same_model and loses_reasoning(parts):
            lowered.notes += [Origin(message.id, part.id) for part in parts if isinstance(part, ToolPart)]
            parts = [part for part in parts if not isinstance(part, ToolPart)]
    content: list[_Json] = []
    origins: list[Origin] = []
    results: list[tuple[_Json, Origin]] = []
    for part in parts:
        origin = Origin(message.id, part.id)
        if isinstance(part, ToolPart):
            _add_tool(part, turn, origin, content, origins, results)
            continue
        made = _reasoning(part, turn) if isinstance(part, ReasoningPart) else _text(part, turn)
        if made is None:
            lowered.notes.append(origin)
        else:
            content.append(made)
            origins.append(origin)
    if content:
        sent: CanonicalMessage = {"id": message.id, "role": "assistant", "content": content}
        if "metadata" in message.data:
            sent["metadata"] = message.data["metadata"]
        lowered.messages.append(sent)
        lowered.origins.append(origins)
    for result, origin in results:
        lowered.messages.append({"role": "tool", "content": [result]})
        lowered.origins.append([origin])


def _open_reasoning(parts: Iterable[Part]) -> bool:
    """Whether some reasoning was started and never completed: the stream broke in the middle of it."""
    for part in parts:
        if isinstance(part, ReasoningPart):
            time = part.data.get("time")
            if time is not None and "completed" not in time:
                return True
    return False


def _text(part: Part, turn: _Turn) -> _Json | None:
    """A text part; exactly empty text is left out, white space is not."""
    text = part.data["text"]
    if text == "":
        return None
    made: _Json = {"type": "text", "text": text}
    if turn.generation == 3 and turn.reuse:
        state = provider_state(part.data, "state")
        if state is not None:
            made["providerMetadata"] = {turn.key: state}
    return made


def _reasoning(part: ReasoningPart, turn: _Turn) -> _Json | None:
    """A reasoning part; text after a model switch or (from generation 2 on) a failure; None where nothing is left of
    it."""
    text = part.text
    stays = turn.same_model if turn.generation == 1 else turn.reuse and not turn.interrupted
    if not stays:
        if text == "":
            return None
        plain = turn.generation < 3 or turn.failed or turn.interrupted
        return {"type": "text" if plain else "reasoning", "text": text}
    made: _Json = {"type": "reasoning", "text": text}
    if turn.reuse:
        data = part.data
        state = data.get("providerMetadata") if turn.generation == 1 else provider_state(data, "state")
        metadata = turn.keyed(state)
        if metadata is not None:
            made["providerMetadata"] = metadata
    return made if text != "" or made.get("providerMetadata") else None


def _add_tool(
    part: ToolPart,
    turn: _Turn,
    origin: Origin,
    content: list[_Json],
    origins: list[Origin],
    results: list[tuple[_Json, Origin]],
) -> None:
    hosted = part.provider_executed
    executed, state, result_state = _provider_side(part.data, turn.generation)
    settled = part.status in ("completed", "error")
    reuse = turn.reuse or (turn.generation == 3 and turn.same_model and hosted and settled)
    call: _Json = {"type": "tool-call", "id": part.call_id, "name": part.tool, "input": _input(part)}
    _mark(call, executed, turn.keyed(state) if reuse else None)
    content.append(call)
    origins.append(origin)
    if not settled:
        return
    if reuse:
        metadata = turn.keyed(state if result_state is None else result_state)
    elif turn.generation == 3 and hosted and turn.same_provider:
        # A hosted tool's result belongs to the provider, not to the model that asked for it.
        metadata = turn.keyed(result_state)
    else:
        metadata = None
    value = _result(part, turn.generation, hosted, (len(content) if hosted else 0, origin))
    result: _Json = {"type": "tool-result", "id": part.call_id, "name": part.tool, "result": value}
    _mark(result, executed, metadata)
    if hosted:
        content.append(result)
        origins.append(origin)
    else:
        results.append((result, origin))


def _provider_side(data: _Json, generation: int) -> tuple[Any, Any, Any]:
    """Whether the provider ran the call itself, its state of the call, and that of the result."""
    if generation == 1:
        provider = data.get("provider", {})
        return provider.get("executed"), provider.get("metadata"), provider.get("resultMetadata")
    return data.get("executed"), provider_state(data, "providerState"), data.get("providerResultState")


def _mark(made: _Json, executed: bool | None, metadata: _Json | None) -> None:
    if executed is not None:
        made["providerExecuted"] = executed
    if metadata is not None:
        made["providerMetadata"] = metadata


def _input(part: ToolPart) -> Any:
    """The arguments; of a call that was still streaming, what can be parsed of them, else the text as it is."""
    if part.status not in ("pending", "streaming"):
        return part.input
    try:
        return jsjson.loads(part.input)
    except ValueError:
        return part.input


def _result(part: ToolPart, generation: int, hosted: bool, place: tuple[int, Origin]) -> _Json:
    """The canonical result value of a completed or failed tool. ``place``: its index in the message, and its origin."""
    state = part.state
    failed = part.status == "error"
    if generation < 3 and hosted and "result" in state:
        return _stored_result(state["result"], "error" if failed else "json", place)
    content = state.get("content", ())
    if failed:
        error = state["error"]
        if tuple(error) != _ERROR_KEYS[:2]:
            known = _ERROR_KEYS[:2] if generation == 1 else _ERROR_KEYS
            error = {key: error[key] for key in known if key in error}
        value: _Json = {"error": error, "content": _known_content(content)}
        if generation < 3:
            value["structured"] = state["structured"]
        return {"type": "error", "value": value}
    if len(content) == 1 and content[0]["type"] == "text":
        return {"type": "text", "value": content[0]["text"]}
    if not content and generation < 3:
        return {"type": "json", "value": state["structured"]}
    return {"type": "content", "value": _known_content(content)}


def _stored_result(stored: Any, otherwise: str, place: tuple[int, Origin]) -> _Json:
    """A hosted tool's own result. What looks like a result value keeps its type, so an error can lose its flag
    (docs/contract/formats.md#b3)."""
    kind = stored.get("type") if isinstance(stored, dict) and "value" in stored else None
    if not isinstance(kind, str) or kind not in _RESULT_TYPES:
        return {"type": otherwise, "value": stored}
    value = stored["value"]
    if kind == "content":
        try:
            TOOL_CONTENT(value)
        except Mismatch as mismatch:
            mismatch.path = ("content", place[0], "result", "value", *mismatch.path)
            raise LoweringError("lower", mismatch.words, place[1]) from None
        value = _known_content(value)
    return {"type": kind, "value": value}


def _known_content(content: Iterable[_Json]) -> list[_Json]:
    """Content entries with the keys that the client's schema knows, in its order; others are dropped when a row is
    decoded."""
    return [item if tuple(item) in (_TEXT_KEYS, _FILE_KEYS) else _known_entry(item) for item in content]


def _known_entry(item: _Json) -> _Json:
    known = _TEXT_KEYS if item["type"] == "text" else (*_FILE_KEYS, "name")
    return {key: item[key] for key in known if key in item}
