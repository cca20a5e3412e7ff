"""Rows that do not fit the client's schema (docs/contract/rules.md#2.19; docs/contract/formats.md#a6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sessions_app.domain.dialects.opencode_v2.decode import ID_PREFIX
from sessions_app.domain.model import FilePart, Message, OtherPart, Part, RowFault, ToolPart
from sessions_app.domain.repair import Operation
from sessions_app.domain.wire.callids import plain

from .context import GOES_ON, Context
from .finding import Choice, Finding, lossy, safe
from .operations import delete_part, delete_row, edit_message, edit_part, is_v2
from .registration import rule
from .rowdefaults import fill_message, fill_part

_CLIENTS_ID = re.compile(r"msg_[0-9a-f]{12}[0-9A-Za-z]{14}\Z")

KNOWN_KINDS = frozenset(
    {
        "text",
        "reasoning",
        "tool",
        "step-start",
        "step-finish",
        "file",
        "compaction",
        "patch",
        "subtask",
        "agent",
        "snapshot",
        "retry",
    }
)
"""The kinds of V1 parts that client 1.18 knows; it leaves out every other."""


@rule("undecodable-row", severity="at-risk", safety="lossy", needs="faulty other-kind refused")
def find(context: Context) -> Iterator[Finding]:
    """Fields that the client's schema misses, and part kinds it does not know."""
    for message in context.messages:
        fault = message.fault
        if fault is not None and fault.rule == context.rule and not _of_item(message):
            yield _bad_message(context, message, fault)
        for part in message.parts:
            if part.fault is not None and part.fault.rule == context.rule:
                yield _bad_part(context, message, part, part.fault)
            elif isinstance(part, OtherPart) and part.kind and part.kind not in KNOWN_KINDS and not is_v2(message):
                yield _unknown(context, message, part)
    stopped = context.stopped_at
    if stopped is not None and not isinstance(stopped, (FilePart, ToolPart)):
        yield _refused(context, stopped)


def _of_item(message: Message) -> bool:
    """A V2 message takes over the fault of its first bad item; the item is the one to repair."""
    return any(part.fault is message.fault for part in message.parts)


def _refused(context: Context, part: Part) -> Finding:
    """What stops the client at a part that its schema takes all the same (docs/contract/wire.md#f15); files are
    ``media-rejected``, calls ``history-shape-foreign``."""
    words = context.client_stops
    return context.finding(
        f"part {part.id} stops the client: {words}",
        _quarantine(part, words),
        messages=[part.message_id],
        parts=[part],
        severity="blocked",
        details={"table": "part", "row": part.id, "path": "", "error": words, "certainty": "measured"},
        mark="refusal",
    )


def _quarantine(part: Part, why: str) -> Choice:
    return lossy("quarantine", "Take the part out; the restore point keeps its bytes", delete_part(part, why))


def _bad_message(context: Context, message: Message, fault: RowFault) -> Finding:
    if is_v2(message) and fault.path == "id":
        return _undecodable(context, fault, [_renamed(context, message)], message)
    edits = fill_message(context, message, fault)
    fill = f"Fill {fault.path} from what the session knows"
    choices = [safe("fill", fill, edit_message(message, edits, fault.reason))] if edits else []
    if is_v2(message):
        label = "Take the row out; the restore point keeps its bytes"
        choices.append(lossy("quarantine", label, delete_row(message, fault.reason)))
    return _undecodable(context, fault, choices, message)


def _renamed(context: Context, message: Message) -> Choice:
    """Nothing but the row itself goes by a message's id; one in the client's form that stands inside it was its own."""
    inside = _CLIENTS_ID.search(message.id)
    name = inside[0] if inside and inside[0] not in context.places else f"{ID_PREFIX}{plain(message.id)}"
    why = f"the client reads rows only whose id begins with {ID_PREFIX}"
    return safe("rename", f"Name it {name}", Operation("replace", "message", message.id, columns={"id": name}, why=why))


def _bad_part(context: Context, message: Message, part: Part, fault: RowFault) -> Finding:
    edits = fill_part(context, message, part, fault)
    fill = f"Fill {fault.path} from what the row and the session know"
    choices = [safe("fill", fill, edit_part(part, edits, fault.reason))] if edits else []
    remove = _quarantine(part, fault.reason)
    empty = not part.data or (part.kind == "text" and fault.path.rpartition(".")[2] == "text")
    choices.append(replace(remove, safety="safe") if empty else remove)
    return _undecodable(context, fault, choices, message, part)


def _undecodable(
    context: Context, fault: RowFault, choices: Iterable[Choice], message: Message, *parts: Part
) -> Finding:
    words = {"error": fault.words, "certainty": "measured"} if fault.words else {}
    # Fatal where the client's words are those the verdict ends with; V2 cannot load a session with such a row at all.
    goes_on = fault.fatal and context.goes_on(message)
    fatal = fault.fatal and not goes_on and (context.client_stops or context.verdict is None)
    return context.finding(
        f"{fault.table} {fault.id}: {fault.reason}" + (GOES_ON if goes_on else ""),
        *choices,
        messages=[message],
        parts=parts,
        severity="blocked" if fatal else "at-risk",
        details={"table": fault.table, "row": fault.id, "path": fault.path, "reason": fault.reason, **words},
        mark=fault.path,
    )


def _unknown(context: Context, message: Message, part: Part) -> Finding:
    reason = f"unknown kind {part.kind}"
    return context.finding(
        f"part {part.id} is of kind {part.kind!r}, which client 1.18 does not know and leaves out",
        _quarantine(part, reason),
        messages=[message],
        parts=[part],
        severity="info",
        details={"table": "part", "row": part.id, "path": "type", "reason": reason},
        safety="manual",
        mark="type",
    )
