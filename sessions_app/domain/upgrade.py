"""What the client's 2.x line does to a session of 1.x when it takes it over, once and with a log line at most
(docs/contract/formats.md#c3).

Read in the source of 2.x, not run: there is no 2.x client to measure. So what is said here is a warning, and nothing is
written because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .handback.importable import message_refusal, part_refusal
from .model import V1, V2, FilePart, Message, Part, ReasoningPart, Session, TextPart, ToolPart
from .rules.compaction import attempted

type Effect = Literal["dropped", "altered"]

STANDING = ("completed", "error")
"""States of a call that stay what they are."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What stands in one kind of row and is no longer there, or is something else, after the upgrade.

    ``ids`` are those of the messages and parts, () for the session's own row. ``advice``: what keeps it where no repair
    does, "" = nothing that is known.
    """

    kind: str
    effect: Effect
    summary: str
    ids: tuple[str, ...] = ()
    advice: str = ""


def taken_over(session: Session) -> bool:
    """It has messages of the new line, so that the old ones are not looked at any more."""
    return bool(session.history(V2)) or not session.history(V1)


def losses(session: Session) -> tuple[Loss, ...]:
    """What an upgrade would drop or alter of a session; () for one that holds no history of 1.x alone."""
    if taken_over(session):
        return ()
    messages = session.history(V1)
    gone = _undecodable(messages)
    subtasks = _subtasks(messages)
    compactions = _compactions(messages)
    left = [one for one in messages if one.id not in {*gone, *subtasks, *compactions}]
    parts = [part for one in left for part in one.parts if part.id not in gone]
    found = (
        _loss("unreadable", "dropped", "{rows} of a shape that it does not know", gone),
        _loss("orphan", "dropped", "{parts} without a message", [part.id for part in session.orphans]),
        _loss("subtask", "dropped", "{messages} of sub-tasks", subtasks, _SUBTASK),
        _loss("compaction", "dropped", "{messages} of compactions without a good summary", compactions),
        *_of_session(session),
        _loss("open-call", "altered", "{calls} without an end: an error", _open(parts)),
        _loss("address", "altered", "{files} given by address: a line of text", _addresses(parts), _ADDRESS),
        _loss("provider-state", "altered", "{parts} with state of a provider: not found", _keyed(parts), _KEYED),
    )
    return tuple(loss for loss in found if loss is not None)


_SUBTASK = "What the sub-agent did stays in its own session."
_ADDRESS = "Give such a file once more after the upgrade."
_KEYED = "After the upgrade, the rule provider-state-nested finds and repairs it."
_REVERT = "Finish or take back the revert in the client before."


def _loss(kind: str, effect: Effect, words: str, ids: Iterable[str], advice: str = "") -> Loss | None:
    """None where there is nothing of the kind. ``words`` holds the noun, in the plural, in braces."""
    held = tuple(dict.fromkeys(ids))
    if not held:
        return None
    noun = words[words.index("{") + 1 : words.index("}")]
    said = f"{len(held):,} {noun if len(held) > 1 else noun.removesuffix('s')}"
    return Loss(kind, effect, words.replace(f"{{{noun}}}", said), held, advice)


def _of_session(session: Session) -> Iterator[Loss]:
    row = session.rows.session
    if session.revert:
        yield Loss("revert", "dropped", "A revert that is not finished: what it hides comes back", (), _REVERT)
    project = row.get("project_id")
    if project not in (None, "global") and project not in {one.get("id") for one in session.rows.projects}:
        yield Loss("project", "altered", "Its project is not stored, so it is filed under global")


def _undecodable(messages: Iterable[Message]) -> list[str]:
    """Messages with all that is in them, and single parts, that the client's schema does not take."""
    found: list[str] = []
    for message in messages:
        if message_refusal(message):
            found += [message.id, *(part.id for part in message.parts)]
        else:
            found += [part.id for part in message.parts if part_refusal(part)]
    return found


def _subtasks(messages: Iterable[Message]) -> list[str]:
    """Prompts that only ask for a sub-task, with the answers that only say what came of it."""
    asked = {one.id for one in messages if one.is_user and any(part.kind == "subtask" for part in one.parts)}
    return [one.id for one in messages if one.id in asked or one.parent_id in asked]


def _compactions(messages: list[Message]) -> list[str]:
    return [message.id for one in attempted(messages) if not one.told for message in (one.trigger, *one.summaries)]


def _open(parts: Iterable[Part]) -> list[str]:
    return [part.id for part in parts if isinstance(part, ToolPart) and part.status not in STANDING]


def _addresses(parts: Iterable[Part]) -> list[str]:
    return [
        part.id
        for part in parts
        if (isinstance(part, FilePart) and not part.url.startswith("data:"))
        or (isinstance(part, ToolPart) and any(map(_away, _attached(part))))
    ]


def _attached(tool: ToolPart) -> list[Any]:
    files = tool.state.get("attachments")
    return files if isinstance(files, list) else []


def _away(file: Any) -> bool:
    return isinstance(file, Mapping) and not str(file.get("url", "")).startswith("data:")


def _keyed(parts: Iterable[Part]) -> list[str]:
    """Parts whose metadata is by provider, as 1.x stores it: it is kept so, and read one level higher."""
    return [
        part.id
        for part in parts
        if isinstance(part, (TextPart, ReasoningPart, ToolPart))
        and any(isinstance(value, Mapping) for value in _metadata(part).values())
    ]


def _metadata(part: Part) -> Mapping[str, Any]:
    value = part.data.get("metadata")
    return value if isinstance(value, Mapping) else {}
