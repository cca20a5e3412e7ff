"""A session of 1.x in the rows of the client's 2.x line, for its import (docs/contract/formats.md#b2, #c2, #c3).

The shapes were read in the source of 2.x and are checked as its schema would; no 2.x client was there to import them.
What has no place there is told (``Left``), nothing is made up.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from sessions_app.domain.dialects.opencode_v2.schemas import ITEMS, ROWS
from sessions_app.domain.dialects.opencode_v2.shape import Check, Mismatch
from sessions_app.domain.lowering.replay import compacted
from sessions_app.domain.model import (
    V1,
    CompactionPart,
    FilePart,
    Message,
    Part,
    ReasoningPart,
    Session,
    TextPart,
    ToolPart,
)
from sessions_app.domain.rules.compaction import Attempted, attempted, text_of

GENERATION: Final = 3
INTERRUPTED: Final = "interrupted before V2 migration"
"""What the client's own take-over says of a call without an end."""
_ATTACHED: Final = "Attached file: {}"

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Left:
    """What is not in the rows, and why."""

    table: str
    id: str
    reason: str


class NewMessage(NamedTuple):
    """One row of ``session_message``, in the order of its replay; ``data`` is without ``id`` and ``type``."""

    id: str
    type: str
    data: Json


class NewLine:
    """The messages of ``session`` in the new shape; ``left`` fills while they are made."""

    def __init__(self, session: Session) -> None:
        self.left: list[Left] = []
        self._session = session
        self._compactions = {one.trigger.id: one for one in attempted(session.history(V1))}
        self.summaries = {summary.id for one in self._compactions.values() for summary in one.summaries}

    def messages(self) -> Iterator[NewMessage]:
        """All of them. What a compaction keeps of the history before it stands behind it, as it is sent."""
        for message in self._ordered():
            for made in self._made(message):
                if words := _refused(made.data, ROWS[GENERATION][made.type]):
                    self._leave("message", message.id, words)
                else:
                    yield made

    def _ordered(self) -> list[Message]:
        """What is not sent any more, then what is: 2.x sends what stands behind the last compaction."""
        every = self._session.history(V1)
        sent = compacted(every)
        ids = {message.id for message in sent}
        summed_up = [
            message for message in sent if message.id in self._compactions and self._compactions[message.id].told
        ]
        first = summed_up[-1:]
        for older in summed_up[:-1]:
            self._leave("message", older.id, "an older compaction, inside what a newer one keeps")
        rest = [message for message in sent if message not in summed_up]
        return [*(message for message in every if message.id not in ids), *first, *rest]

    def _made(self, message: Message) -> Iterator[NewMessage]:
        compaction = self._compactions.get(message.id)
        if message.id in self.summaries:
            return
        if compaction is not None:
            yield from self._compaction(compaction)
        elif any(part.kind == "subtask" for part in message.parts):
            self._leave("message", message.id, "a sub-task is asked for elsewhere")
        elif message.is_user:
            yield from self._user(message)
        elif message.is_assistant:
            yield self._assistant(message)
        else:
            self._leave("message", message.id, f"unknown role {message.kind!r}")

    def _compaction(self, one: Attempted) -> Iterator[NewMessage]:
        if not one.told:
            self._leave("message", one.trigger.id, "a compaction without a good summary")
            return
        data = {"status": "completed", "reason": "auto" if one.part.auto else "manual", "recent": ""}
        summary = "\n".join(text_of(summary) for summary in one.summaries)
        yield NewMessage(one.trigger.id, "compaction", {"time": _created(one.trigger), **data, "summary": summary})
        for part in (part for summary in one.summaries for part in summary.parts):
            if isinstance(part, (ReasoningPart, ToolPart)):
                self._leave("part", part.id, f"nothing of kind {part.kind!r} is in a summary")
        if said := [part for part in one.trigger.parts if not isinstance(part, CompactionPart)]:
            yield from self._user(replace(one.trigger, id=f"{one.trigger.id}s0", parts=said))

    def _user(self, message: Message) -> Iterator[NewMessage]:
        """The prompt, and behind it what the client itself added to it."""
        said: list[str] = []
        added: list[str] = []
        files: list[Json] = []
        agents: list[Json] = []
        for part in message.parts:
            if isinstance(part, TextPart) and isinstance(part.text, str) and not part.ignored:
                (added if part.synthetic else said).append(part.text)
            elif isinstance(part, FilePart) and (file := _file(part)) is not None:
                files.append(file)
            elif isinstance(part, FilePart):
                said.append(_ATTACHED.format(part.filename or part.url))
            elif part.kind == "agent" and isinstance(part.data.get("name"), str):
                agents.append({"name": part.data["name"]})
            else:
                self._leave("part", part.id, f"nothing of kind {part.kind!r} is in a prompt")
        lists = {"files": files, "agents": agents}
        data = {"time": _created(message), "text": "\n\n".join(said)}
        yield NewMessage(message.id, "user", data | {name: value for name, value in lists.items() if value})
        for number, text in enumerate(added, 1):
            yield NewMessage(f"{message.id}s{number}", "synthetic", {"time": _created(message), "text": text})

    def _assistant(self, message: Message) -> NewMessage:
        stored = message.data
        model = {"id": message.model, "providerID": message.provider}
        if isinstance(stored.get("variant"), str):
            model["variant"] = stored["variant"]
        data: Json = {
            "time": _created(message),
            "agent": stored.get("agent", stored.get("mode")),
            "model": model,
            "content": list(self._content(message)),
        }
        if message.completed_at is not None:
            data["time"]["completed"] = message.completed_at
        data |= {key: stored[key] for key in ("finish", "cost", "tokens") if stored.get(key) is not None}
        if message.error is not None:
            data |= {"error": _error(message.error), "finish": "error"}
        return NewMessage(message.id, "assistant", data)

    def _content(self, message: Message) -> Iterator[Json]:
        for part in message.parts:
            item = self._item(part, message)
            if item is None:
                if part.kind not in ("step-start", "step-finish", "patch", "snapshot"):
                    self._leave("part", part.id, f"nothing of kind {part.kind!r} is in an answer")
            elif words := _refused(item, ITEMS[GENERATION]):
                self._leave("part", part.id, words)
            else:
                yield item

    def _item(self, part: Part, message: Message) -> Json | None:
        if isinstance(part, TextPart):
            return {"type": "text", "text": part.text} | self._state(part, message, "state")
        if isinstance(part, ReasoningPart):
            time = part.data.get("time")
            ran = {"time": _ran(time, created="start", completed="end")} if isinstance(time, Mapping) else {}
            return {"type": "reasoning", "text": part.text} | ran | self._state(part, message, "state")
        if isinstance(part, ToolPart):
            executed = {"executed": True} if part.provider_executed else {}
            item = {"type": "tool", "id": part.call_id, "name": part.tool, "state": _tool_state(part)}
            time = part.state.get("time") if isinstance(part.state.get("time"), Mapping) else {}
            ran = _ran(time, ran="start", completed="end", pruned="compacted")
            return item | {"time": _created(message) | ran} | executed | self._state(part, message, "providerState")
        return None

    def _state(self, part: Part, message: Message, name: str) -> Json:
        """What the provider wants back, which 1.x keeps under the provider's name and 2.x as it is."""
        metadata = part.data.get("metadata")
        keyed = {
            key: value
            for key, value in (metadata.items() if isinstance(metadata, Mapping) else ())
            if isinstance(value, Mapping)
        }
        own = keyed.get(message.provider) or (next(iter(keyed.values())) if len(keyed) == 1 else None)
        if keyed and own is None:
            self._leave("part", part.id, f"state of {len(keyed)} providers, where there is room for one")
        return {} if own is None else {name: dict(own)}

    def _leave(self, table: str, row_id: str, reason: str) -> None:
        self.left.append(Left(table, row_id, reason))


def _created(message: Message) -> Json:
    return {"created": message.time_created}


def _ran(time: Any, **names: str) -> Json:
    """Times under the names of 2.x; ``names``: new name = stored one."""
    return {new: time[old] for new, old in names.items() if isinstance(time.get(old), (int, float))}


def _file(part: FilePart) -> Json | None:
    """An attachment with its bytes; None for one that is only named by address."""
    head, comma, body = part.url.partition(",")
    if not comma or not head.startswith("data:"):
        return None
    data = body if head.endswith(";base64") else base64.b64encode(_unescaped(body)).decode()
    named = {"name": part.filename} if part.filename else {}
    return {"data": data, "mime": part.mime, "source": {"type": "inline"}, **named}


def _unescaped(text: str) -> bytes:
    """Text of an address without its percent escapes."""
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda pair: bytes.fromhex(pair[1].decode()), text.encode())


def _tool_state(part: ToolPart) -> Json:
    state = part.state
    kept = {"metadata": dict(state["metadata"])} if isinstance(state.get("metadata"), Mapping) else {}
    shared: Json = {"status": part.status, "input": part.input if isinstance(part.input, dict) else {}}
    if part.status == "completed":
        output = {"type": "text", "text": state.get("output")}
        return shared | {"content": [output, *_attached(state.get("attachments"))]} | kept
    words = state.get("error") if part.status == "error" else INTERRUPTED
    return shared | {"status": "error", "error": {"type": "unknown", "message": words}} | kept


def _attached(files: Any) -> Iterable[Json]:
    for file in files if isinstance(files, list) else ():
        if isinstance(file, Mapping):
            named = {"name": file["filename"]} if isinstance(file.get("filename"), str) else {}
            yield {"type": "file", "uri": file.get("url"), "mime": file.get("mime"), **named}


def _error(error: Mapping[str, Any]) -> Json:
    data = error.get("data")
    words = data.get("message") if isinstance(data, Mapping) else None
    name = str(error.get("name") or "unknown")
    return {"type": name, "message": words if isinstance(words, str) else name}


def _refused(value: Json, check: Check) -> str:
    """Why the client of 2.x would not decode it, "" where it does."""
    try:
        check(value)
    except Mismatch as mismatch:
        return mismatch.words.replace("\n ", "")
    return ""
