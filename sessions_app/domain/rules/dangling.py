"""Pointers to messages and sessions that are not there (rules 2.20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.jsjson import loads
from sessions_app.domain.lowering.replay import replayed
from sessions_app.domain.model import CompactionPart, Message
from sessions_app.domain.repair import REMOVE, Edit
from sessions_app.domain.wire.lowered import LoweringError

from .base import Choice, Context, Finding, Rule
from .ops import edit_message, edit_part, edit_session


def find_parent(context: Context) -> Iterator[Finding]:
    """Answers whose prompt is not in the session."""
    if context.v2:
        return
    known = {message.id for message in context.messages}
    user: Message | None = None
    for message in context.messages:
        if message.is_user:
            user = message
        elif message.is_assistant and message.parent_id and message.parent_id not in known:
            yield _parent(message, user)


def _parent(message: Message, user: Message | None) -> Finding:
    choices: tuple[Choice, ...] = ()
    if user is not None:
        operation = edit_message(message, (Edit(("parentID",), user.id),), f"{message.parent_id} is not in the session")
        choices = (Choice("reparent", f"Point to {user.id}, the nearest earlier prompt", "safe", (operation,)),)
    return Finding(
        "dangling-parent",
        "at-risk",
        "safe" if choices else "manual",
        (message.id,),
        (),
        f"{message.id} answers {message.parent_id}, which is not in the session",
        {"parent": message.parent_id, "should_be": user.id if user else None},
        choices,
    )


def find_tail(context: Context) -> Iterator[Finding]:
    """Compactions whose kept tail begins at a message that is not in the session: nothing is cut then."""
    if context.v2:
        return
    known = {message.id for message in context.messages}
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, CompactionPart) and part.tail_start_id and part.tail_start_id not in known:
                yield _tail(context, message, part)


def _tail(context: Context, message: Message, part: CompactionPart) -> Finding:
    operation = edit_part(part, (Edit(("tail_start_id",), REMOVE),), f"{part.tail_start_id} is not in the session")
    remove = Choice("remove", "Remove the pointer: the history is cut at the compaction", "lossy", (operation,))
    copy = _copy_of(context, message, part.tail_start_id or "")
    choices: tuple[Choice, ...] = (remove,)
    if copy:
        mapping = edit_part(part, (Edit(("tail_start_id",), copy),), f"the copy of {part.tail_start_id} in this fork")
        choices = (
            Choice("map", f"Point to {copy}, the same message in this fork", "safe", (mapping,)),
            remove,
        )
    return Finding(
        "dangling-tail",
        "at-risk",
        choices[0].safety,
        (message.id,),
        (part.id,),
        f"The compaction {message.id} keeps a tail from {part.tail_start_id}, which is not in the session, so the whole"
        " history is sent",
        {"tail_start_id": part.tail_start_id, "copy": copy, **_counts(context, part, copy)},
        choices,
    )


def _copy_of(context: Context, message: Message, tail: str) -> str | None:
    """This fork's copy of a message of the session it was forked from: at the same place and of the same time."""
    held = context.facts.history(tail) if context.facts.history is not None and tail else ()
    place = next((index for index, (other, _) in enumerate(held) if other == tail), None)
    if place is None or place >= len(context.messages):
        return None
    copy = context.messages[place]
    before = context.messages.index(message) > place
    return copy.id if before and copy.time_created == held[place][1] else None


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


def find_revert(context: Context) -> Iterator[Finding]:
    """A pending revert to a message or part that is not there; one that is there is said, since the next prompt deletes
    what follows."""
    revert = _revert(context)
    wanted = revert.get("messageID")
    if not isinstance(wanted, str):
        return
    message = context.messages_by_id.get(wanted)
    part = revert.get("partID")
    lost = message is None or (isinstance(part, str) and all(one.id != part for one in message.parts))
    operation = edit_session({"revert": None}, "the revert points nowhere" if lost else "the revert is taken back")
    clear = Choice(
        "clear",
        "Clear it: every message shows again; files are not restored from snapshots",
        "safe" if lost else "lossy",
        (operation,),
    )
    if lost:
        summary = f"The session is to be reverted to {part if message else wanted}, which is not stored"
    else:
        after = [one.id for one in context.messages]
        hidden = len(after) - after.index(wanted) if wanted in after else 0
        summary = f"A revert to {wanted} is pending: the next prompt deletes {hidden} stored messages" + (
            " or parts of them" if part else ""
        )
    yield Finding(
        "dangling-revert",
        "at-risk" if lost else "info",
        "safe" if lost else "lossy",
        (wanted,) if message else (),
        (part,) if message and isinstance(part, str) else (),
        summary,
        {"messageID": wanted, "partID": part, "snapshots": "files are not restored by clearing it"},
        (clear,),
        offered=not lost,
        mark="revert",
    )


def _revert(context: Context) -> dict[str, Any]:
    value = context.session.revert
    if isinstance(value, str):
        try:
            value = loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def find_child(context: Context) -> Iterator[Finding]:
    """A parent session, or a subagent's session, that the store does not hold."""
    if not context.facts.complete:
        yield from _parent_elsewhere(context)
        return
    known = (
        context.facts.sessions | {str(row.get("id")) for row in context.session.rows.siblings} | {context.session.id}
    )
    parent = context.session.rows.session.get("parent_id")
    if isinstance(parent, str) and parent and parent not in known:
        operation = edit_session({"parent_id": None}, f"{parent} is not in the store")
        yield Finding(
            "dangling-child",
            "at-risk",
            "safe",
            (),
            (),
            f"The session's parent {parent} is not in the store",
            {"parent": parent},
            (Choice("make-root", "Make it a session of its own", "safe", (operation,)),),
            mark="parent",
        )
    for message, tool in context.tools:
        metadata = tool.state.get("metadata")
        child = metadata.get("sessionId") if isinstance(metadata, dict) and tool.tool == "task" else None
        if isinstance(child, str) and child not in known:
            yield Finding(
                "dangling-child",
                "info",
                "manual",
                (message.id,),
                (tool.id,),
                f"The subagent session {child} of {tool.id} is not in the store; its result is kept in the call",
                {"child": child},
            )


def _parent_elsewhere(context: Context) -> Iterator[Finding]:
    """A row document that was handed in alone says no more than that the parent is not in it."""
    parent = context.session.rows.session.get("parent_id")
    held = {row.get("id") for row in context.session.rows.siblings}
    if context.facts.store != "rows" or not isinstance(parent, str) or not parent or parent in held:
        return
    operation = edit_session({"parent_id": None}, f"{parent} is not in this document")
    yield Finding(
        "dangling-child",
        "info",
        "safe",
        (),
        (),
        f"The session's parent {parent} is not in this document; whether its store holds it is not known",
        {"parent": parent},
        (Choice("make-root", "Make it a session of its own", "safe", (operation,)),),
        mark="parent",
    )


RULES = (
    Rule(
        "dangling-parent",
        "An answer to a message that is gone",
        "at-risk",
        "safe",
        what="An assistant message's parentID is not in the session.",
        rejected='The client\'s web view: "NotFoundError: Message not found: msg_X"; the page does not render.',
        why="Undo and new prompts, an abort with an edit, or a fork removed the prompt.",
        repair="parentID becomes the nearest earlier prompt. The answer is kept.",
        order=160,
        find=find_parent,
    ),
    Rule(
        "dangling-tail",
        "A kept tail that begins nowhere",
        "at-risk",
        "lossy",
        what="A compaction's tail_start_id names a message that is not in the session.",
        rejected='Often "prompt is too long": the cut is never found and the whole history is sent.',
        why="A fork copied the marker of its parent session, or the message was deleted.",
        repair=(
            "The marker is removed, so the history is cut at the compaction; the numbers of messages sent before and"
            " after are shown."
        ),
        order=162,
        find=find_tail,
    ),
    Rule(
        "dangling-revert",
        "A revert that points nowhere",
        "at-risk",
        "safe",
        what="session.revert names a message or part that is not stored, or a revert is still pending.",
        rejected="Nobody; messages are hidden, and the next prompt deletes everything after the point.",
        why="A revert was interrupted, or its target was removed.",
        repair=(
            "revert is cleared, so every message shows again. Files are not restored from snapshots. A revert that fits"
            " is only offered."
        ),
        order=164,
        find=find_revert,
    ),
    Rule(
        "dangling-child",
        "A session whose parent or child is gone",
        "at-risk",
        "safe",
        what="parent_id, or a subagent call's session, is not in the store.",
        rejected="Nobody; the session is listed nowhere.",
        why="The other session was deleted or not imported.",
        repair="parent_id is cleared: it becomes a session of its own. A missing subagent session is only reported.",
        order=166,
        find=find_child,
    ),
)
