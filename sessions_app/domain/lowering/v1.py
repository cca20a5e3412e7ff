"""V1 rows to canonical messages: what the client hands to its provider layer (docs/contract/wire.md#6.1.1 to #6.1.7,
docs/contract/wire.md#6.7, #6.8).

The client's own names for the parts differ (``providerOptions``, ``toolCallId`` ...); here they have the canonical form
of the goldens. Two result types say more than V2's: ``error`` carries the error text, ``content`` a list of text and
file items.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from sessions_app.domain import jsjson
from sessions_app.domain.dialects.farparts import FarPart
from sessions_app.domain.dialects.opencode_v1_schema import INVALID_PROMPT, UNEXPECTED, replaced_output
from sessions_app.domain.dialects.unread import UnreadTool
from sessions_app.domain.model import (
    CompactionPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Session,
    StepStartPart,
    TextPart,
    ToolPart,
)
from sessions_app.domain.patience import paced
from sessions_app.domain.wire.lowered import NOBODY, CanonicalMessage, Lowered, LoweringError, Origin
from sessions_app.domain.wire.target import Target

from .dedupe import deduped
from .relowered import Relowered
from .replay import left_out, replayed
from .v1_packages import keeps_media, loses_tools, package_of

INTERRUPTED: Final = "[Tool execution was interrupted]"
CLEARED: Final = "[Old tool result content cleared]"
COMPACTION: Final = "What did we do so far?"
SUBTASK: Final = "The following tool was executed by the user"
ATTACHED: Final = "Attached media from tool result:"
BUILD_AGAIN: Final = (
    "<system-reminder>\nYour operational mode has changed from plan to build.\nYou are no longer in read-only"
    " mode.\nYou are permitted to make file changes, run shell commands, and utilize your arsenal of tools as"
    " needed.\n</system-reminder>\n"
)

type _Block = tuple[dict[str, Any], Origin]


def lower_v1(
    session: Session, target: Target, repairs: bool = True, next_prompt: str | None = None, values: bool = True
) -> Lowered:
    """The canonical messages of the next request's history; with ``next_prompt``, of the next request itself.

    ``repairs`` on collapses twins and drops the tools of failed steps that lost their thinking
    (docs/contract/design.md#6); off is what the client sends today. Without ``values`` the arguments and results of
    calls that nobody has read yet are left empty. Raises ``LoweringError`` with the client's words
    where it cannot build a request (docs/contract/wire.md#f18, docs/contract/formats.md#a6).
    """
    for fault in session.faults:
        # The client parses every row of the session before it looks at one.
        if fault.fatal and fault.rule == "corrupt-json" and fault.table in ("session", "message", "part"):
            raise LoweringError("corrupt-json", fault.words or UNEXPECTED, _where(session, fault.table, fault.id))
    messages = replayed(session)
    lowering = _Lowering(target, repairs, session.version, values)
    for message in paced(messages):
        lowering.add(message)
    if next_prompt is not None:
        lowering.prompt(next_prompt, _was_plan(messages))
    return lowering.lowered


def _was_plan(messages: Iterable[Message]) -> bool:
    """The next prompt goes to the agent "build"; after any answer of the agent "plan" it is told so
    (docs/contract/wire.md#f17)."""
    return any(message.is_assistant and message.data.get("agent") == "plan" for message in messages)


def _where(session: Session, table: str, row_id: str) -> Origin:
    if table != "part":
        return Origin(row_id if table == "message" else "", "")
    part = session.part(row_id)
    return Origin(part.message_id if part is not None else "", row_id)


class _Lowering:
    """Canonical messages as they grow, each with the origins of its blocks."""

    def __init__(self, target: Target, repairs: bool, client: str, values: bool = True) -> None:
        self.target = target
        self.package = package_of(target)
        self.repairs = repairs
        self.values = values
        self.messages = Relowered(partial(_alone, target, repairs, client, values))
        self.lowered = Lowered(self.messages, [], client=client)

    def prompt(self, text: str, was_plan: bool) -> None:
        """The next user message (docs/contract/wire.md#c4), with the client's reminder where there is one."""
        texts = [text, BUILD_AGAIN] if was_plan else [text]
        said = [{"type": "text", "text": text} for text in texts if text]
        self._push("user", "", said, [NOBODY] * len(said))

    def add(self, message: Message) -> None:
        at = len(self.messages)
        self._add(message)
        if any(isinstance(part, FarPart) for part in message.parts):
            self.messages.forget(at, message)

    def _add(self, message: Message) -> None:
        if message.is_user:
            self._user(message)
        elif message.is_assistant and left_out(message):
            self.lowered.notes.append(Origin(message.id, ""))
        elif message.is_assistant:
            self._assistant(message)

    def _push(self, role: str, message_id: str, blocks: list[dict[str, Any]], origins: list[Origin]) -> None:
        if blocks:
            message: CanonicalMessage = {"id": message_id, "role": role} if message_id else {"role": role}
            message["content"] = blocks
            self.lowered.messages.append(message)
            self.lowered.origins.append(origins)

    def _user(self, message: Message) -> None:
        blocks: list[dict[str, Any]] = []
        origins: list[Origin] = []
        for part in message.parts:
            block = _user_block(part)
            if block is None:
                self.lowered.notes.append(Origin(message.id, part.id))
            else:
                blocks.append(block)
                origins.append(Origin(message.id, part.id))
        self._push("user", message.id, blocks, origins)

    def _assistant(self, message: Message) -> None:
        same_model = message.provider == self.target.provider and message.model == self.target.model
        parts: Sequence[Part] = deduped(message.parts) if self.repairs else message.parts
        signed = any(_has_signature(part) for part in message.parts if isinstance(part, ReasoningPart))
        media: list[_Block] = []
        for step in _steps(parts):
            if self.repairs and message.data.get("error") and same_model and loses_tools(step, self.package):
                self.lowered.notes += [Origin(message.id, part.id) for part in step if isinstance(part, ToolPart)]
                step = [part for part in step if not isinstance(part, ToolPart)]
            self._step(message, step, same_model, signed, media)
        if media:
            blocks = [{"type": "text", "text": ATTACHED}, *(block for block, _ in media)]
            self._push("user", "", blocks, [NOBODY, *(origin for _, origin in media)])

    def _step(
        self, message: Message, step: Sequence[Part], same_model: bool, signed: bool, media: list[_Block]
    ) -> None:
        """One assistant message, and behind it one tool message with the results of its client tools
        (docs/contract/wire.md#6.1.6)."""
        blocks: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        origins: list[Origin] = []
        answered: list[Origin] = []
        for part in step:
            origin = Origin(message.id, part.id)
            if isinstance(part, ToolPart):
                lowered = self._tool(part, origin, same_model, media)
                if lowered is None:
                    self.lowered.notes.append(origin)
                    continue
                blocks.append(lowered[0])
                origins.append(origin)
                (blocks if part.provider_executed else results).append(lowered[1])
                (origins if part.provider_executed else answered).append(origin)
                continue
            block = _assistant_block(part, origin, same_model, signed)
            if block is not None:
                blocks.append(block)
                origins.append(origin)
            else:
                self.lowered.notes.append(origin)
        self._push("assistant", message.id, blocks, origins)
        self._push("tool", "", results, answered)

    def _tool(
        self, part: ToolPart, origin: Origin, same_model: bool, media: list[_Block]
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Call and result of a tool part; None for a status the client does not know (docs/contract/wire.md#f11)."""
        _refuse_fatal(part, origin)
        empty = not self.values and isinstance(part, UnreadTool)
        result = {"type": "text", "value": ""} if empty else self._result(part, origin, media)
        if result is None:
            return None
        name = _name(part)
        call: dict[str, Any] = {"type": "tool-call", "id": part.call_id, "name": name}
        answer: dict[str, Any] = {"type": "tool-result", "id": part.call_id, "name": name, "result": result}
        if part.has_input:
            call["input"] = {} if empty else _finite(part.input)
        if part.provider_executed:
            call["providerExecuted"] = answer["providerExecuted"] = True
        metadata = part.provider_state if same_model else None
        if metadata and isinstance(metadata, dict):
            metadata = {key: value for key, value in metadata.items() if key != "providerExecuted"}
            if metadata:
                call["providerMetadata"] = answer["providerMetadata"] = _checked(metadata, origin)
        return call, answer

    def _result(self, part: ToolPart, origin: Origin, media: list[_Block]) -> dict[str, Any] | None:
        state = part.state
        if part.status == "completed":
            if _object(state["time"]).get("compacted"):
                return {"type": "text", "value": CLEARED}
            return self._output(state.get("output"), state.get("attachments"), origin, media)
        if part.status == "error":
            if replaced_output(state):
                return {"type": "text", "value": state["metadata"]["output"]}
            return {"type": "error", "value": state["error"]}
        return {"type": "error", "value": INTERRUPTED} if part.status in ("pending", "running") else None

    def _output(self, output: Any, attachments: Any, origin: Origin, media: list[_Block]) -> dict[str, Any]:
        """A completed call's output; attachments the package cannot keep inside a result go to ``media``
        (docs/contract/wire.md#6.1.5)."""
        kept: list[dict[str, Any]] = []
        for item in attachments if isinstance(attachments, list) else ():
            mime, url = _object(item).get("mime"), _object(item).get("url")
            if not isinstance(mime, str) or not isinstance(url, str):
                raise LoweringError("unexpected", UNEXPECTED, origin)
            if not isinstance(item.get("filename", ""), str):
                raise LoweringError("invalid-prompt", INVALID_PROMPT, origin, {"path": "state.attachments"})
            if not _is_media(mime) or keeps_media(self.package, self.target.model, mime):
                kept.append({"type": "file", "uri": url, "mime": mime})
            else:
                media.append((_media(mime, url, item.get("filename")), origin))
        if not kept:
            if isinstance(output, str):
                return {"type": "text", "value": output}
            if not isinstance(output, (dict, list)):
                return {"type": "json", "value": output}
            # An object that no client writes is read as text with attachments (docs/contract/wire.md#f9).
            kept, output = [], output.get("text") if isinstance(output, dict) else None
        items = [{"type": "text", "text": output}] if isinstance(output, str) and output else []
        inline = [item for item in kept if item["uri"].startswith("data:") and "," in item["uri"]]
        return {"type": "content", "value": [*items, *inline]}


def _alone(target: Target, repairs: bool, client: str, values: bool, message: Message) -> list[CanonicalMessage]:
    """What one stored message becomes: nothing of it depends on those around it."""
    lowering = _Lowering(target, repairs, client, values)
    lowering._add(message)
    return lowering.messages


def _user_block(part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        if part.ignored or part.text == "":
            return None
        _refuse_fatal(part, Origin(part.message_id, part.id))
        return {"type": "text", "text": part.text}
    if isinstance(part, FilePart):
        # Text files and folders were written out as text parts when the prompt was stored.
        if part.mime in ("text/plain", "application/x-directory"):
            return None
        _refuse_fatal(part, Origin(part.message_id, part.id))
        return _media(part.mime, part.url, part.filename)
    if isinstance(part, CompactionPart):
        return {"type": "text", "text": COMPACTION}
    return {"type": "text", "text": SUBTASK} if part.kind == "subtask" else None


def _assistant_block(part: Part, origin: Origin, same_model: bool, signed: bool) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        _refuse_fatal(part, origin)
        block = {"type": "text", "text": " " if signed and part.text == "" else part.text}
        metadata = part.provider_state
    elif isinstance(part, ReasoningPart):
        if not same_model:
            if not isinstance(part.text, str):
                raise LoweringError("unexpected", UNEXPECTED, origin)
            return {"type": "text", "text": part.text} if not is_blank(part.text) else None
        _refuse_fatal(part, origin)
        block = {"type": "reasoning", "text": part.text}
        metadata = part.provider_state
    else:
        return None
    if same_model and metadata is not None:
        block["providerMetadata"] = _checked(metadata, origin)
    return block


def _steps(parts: Sequence[Part]) -> list[list[Part]]:
    """Parts cut at each ``step-start``."""
    groups: list[list[Part]] = [[]]
    for part in parts:
        if isinstance(part, StepStartPart):
            groups.append([])
        else:
            groups[-1].append(part)
    return groups


def _media(mime: str, url: str, filename: Any) -> dict[str, Any]:
    block = {"type": "media", "mediaType": mime, "data": url}
    if filename is not None:
        block["filename"] = filename
    return block


def _refuse_fatal(part: Part, origin: Origin) -> None:
    """The part's shape stops the client (docs/contract/wire.md#f18)."""
    if part.fault is not None and part.fault.fatal:
        kind = "invalid-prompt" if part.fault.words == INVALID_PROMPT else "unexpected"
        raise LoweringError(kind, part.fault.words, origin, {"path": part.fault.path})


def _checked(metadata: Any, origin: Origin) -> dict[str, Any]:
    """Provider metadata is a record of records, or the client's schema refuses the whole prompt."""
    if not isinstance(metadata, dict) or not all(isinstance(value, dict) for value in metadata.values()):
        raise LoweringError("invalid-prompt", INVALID_PROMPT, origin, {"path": "metadata"})
    return metadata


def _has_signature(part: ReasoningPart) -> bool:
    """A signature is present, though it may be empty or no string (docs/contract/wire.md#f15)."""
    anthropic = part.metadata.get("anthropic")
    return isinstance(anthropic, dict) and anthropic.get("signature") is not None


def _finite(value: Any) -> Any:
    """``value`` as it arrives on the wire: a number beyond a double's range is Infinity to JavaScript, and null when it
    is written."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and math.isinf(item):
            return jsjson.loads(jsjson.encode(value))
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return value


def _name(part: ToolPart) -> str:
    """The tool's name; JavaScript puts whatever is there into a string."""
    name = part.tool or part.data.get("tool", "undefined")
    return name if isinstance(name, str) else json.dumps(name)


def _is_media(mime: str) -> bool:
    return mime.startswith("image/") or mime == "application/pdf"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def is_blank(text: str) -> bool:
    """Whether nothing is left of ``text`` when JavaScript trims it."""
    return not text.strip(JS_SPACE)


JS_SPACE: Final = (
    "\t\n\v\f\r"
    " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript's ``trim`` takes away."""
