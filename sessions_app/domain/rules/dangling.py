"""Pointers to messages and sessions that are not there (docs/contract/rules.md#2.20)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.lowering.replay import replayed
from sessions_app.domain.model import CompactionPart, Message
from sessions_app.domain.repair import REMOVE, Edit
from sessions_app.domain.wire.lowered import LoweringError

from .context import Context
from .finding import Finding, Severity, lossy, safe
from .operations import edit_message, edit_part, edit_session
from .registration import rule


@rule("dangling-parent", severity="at-risk", safety="safe")
def find_parent(context: Context) -> Iterator[Finding]:
    """Answers whose prompt is not in the session."""
    if context.v2:
        return
    user: Message | None = None
    for message in context.messages:
        if message.is_user:
            user = message
        elif message.is_assistant and message.parent_id and message.parent_id not in context.places:
            yield _parent(context, message, user)


def _parent(context: Context, message: Message, user: Message | None) -> Finding:
    choices = []
    if user is not None:
        edit = edit_message(message, (Edit(("parentID",), user.id),), f"{message.parent_id} is not in the session")
        choices = [safe("reparent", f"Point to {user.id}, the nearest earlier prompt", edit)]
    return context.finding(
        f"{message.id} answers {message.parent_id}, which is not in the session",
        *choices,
        messages=[message],
        details={"parent": message.parent_id, "should_be": user.id if user else None},
    )


@rule("dangling-tail", severity="at-risk", safety="lossy", needs="compaction")
def find_tail(context: Context) -> Iterator[Finding]:
    """Compactions whose kept tail begins at a message that is not in the session: nothing is cut then."""
    if context.v2:
        return
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, CompactionPart) and part.tail_start_id and part.tail_start_id not in context.places:
                yield _tail(context, message, part, part.tail_start_id)


def _tail(context: Context, message: Message, part: CompactionPart, tail: str) -> Finding:
    remove = edit_part(part, (Edit(("tail_start_id",), REMOVE),), f"{tail} is not in the session")
    choices = [lossy("remove", "Remove the pointer: the history is cut at the compaction", remove)]
    copy = _copy_of(context, message, tail)
    if copy:
        point = edit_part(part, (Edit(("tail_start_id",), copy),), f"the copy of {tail} in this fork")
        choices.insert(0, safe("map", f"Point to {copy}, the same message in this fork", point))
    return context.finding(
        f"The compaction {message.id} keeps a tail from {tail}, which is not in the session, so the whole"
        " history is sent",
        *choices,
        messages=[message],
        parts=[part],
        details={"tail_start_id": tail, "copy": copy, **_counts(context, part, copy)},
    )


def _copy_of(context: Context, message: Message, tail: str) -> str | None:
    """This fork's copy of a message of the session it was forked from: at the same place and of the same time."""
    held = context.facts.history(tail) if context.facts.history is not None else ()
    place = next((index for index, (other, _) in enumerate(held) if other == tail), None)
    if place is None or place >= context.places[message.id]:
        return None
    copy = context.messages[place]
    return copy.id if copy.time_created == held[place][1] else None


def _counts(context: Context, part: CompactionPart, copy: str | None) -> dict[str, int]:
    """How many stored messages are sent before and after: the repair changes what the model sees."""
    try:
        before = len(replayed(context.session))
        held, part.tail_start_id = part.tail_start_id, copy
        try:
            after = len(replayed(context.session))
        finally:
            part.tail_start_id = held
    except LoweringError:
        return {}
    return {"messages_sent_before": before, "messages_sent_after": after}


@rule("dangling-revert", severity="at-risk", safety="safe")
def find_revert(context: Context) -> Iterator[Finding]:
    """A pending revert to a message or part that is not there; one that is there is said, since the next prompt deletes
    what follows."""
    wanted, part = context.revert.get("messageID"), context.revert.get("partID")
    if not isinstance(wanted, str):
        return
    message = context.messages_by_id.get(wanted)
    lost = message is None or (isinstance(part, str) and all(one.id != part for one in message.parts))
    why = "the revert points nowhere" if lost else "the revert is taken back"
    hidden = 0
    if lost:
        summary = f"The session is to be reverted to {part if message else wanted}, which is not stored"
    else:
        hidden = len(context.messages) - context.places[wanted] if wanted in context.places else 0
        summary = f"A revert to {wanted} is pending: the next prompt deletes {hidden} stored messages"
        summary += " or parts of them" if part else ""
    choice = safe if lost else lossy
    label = "Clear it: every message shows again; files are not restored from snapshots"
    yield context.finding(
        summary,
        choice("clear", label, edit_session({"revert": None}, why)),
        messages=[message] if message else [],
        parts=[part] if message and isinstance(part, str) else [],
        severity="at-risk" if lost or hidden else "info",
        details={"messageID": wanted, "partID": part, "snapshots": "files are not restored by clearing it"},
        offered=not lost,
        mark="revert",
    )


@rule("dangling-child", severity="at-risk", safety="safe")
def find_child(context: Context) -> Iterator[Finding]:
    """A parent session, or a subagent's session, that the store does not hold."""
    parent = context.row.get("parent_id")
    held = {str(row.get("id")) for row in context.session.rows.siblings}
    if not context.facts.complete:
        if context.facts.store == "rows" and isinstance(parent, str) and parent and parent not in held:
            # A row document that was handed in alone says no more than that the parent is not in it.
            where = "is not in this document"
            yield _rootless(context, parent, where, "; whether its store holds it is not known", "info")
        return
    held |= {*context.facts.sessions, context.session.id}
    if isinstance(parent, str) and parent and parent not in held:
        yield _rootless(context, parent, "is not in the store")
    for message, tool in context.tools:
        metadata = tool.state.get("metadata") if tool.tool == "task" else None
        child = metadata.get("sessionId") if isinstance(metadata, dict) else None
        if isinstance(child, str) and child not in held:
            yield context.finding(
                f"The subagent session {child} of {tool.id} is not in the store; its result is kept in the call",
                messages=[message],
                parts=[tool],
                severity="info",
                details={"child": child},
            )


def _rootless(context: Context, parent: str, where: str, unknown: str = "", severity: Severity = "at-risk") -> Finding:
    clear = edit_session({"parent_id": None}, f"{parent} {where}")
    return context.finding(
        f"The session's parent {parent} {where}{unknown}",
        safe("make-root", "Make it a session of its own", clear),
        severity=severity,
        details={"parent": parent},
        mark="parent",
    )
