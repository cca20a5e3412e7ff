"""Message ids that do not sort in time order (docs/contract/rules.md#2.16; docs/contract/formats.md#a8)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from sessions_app.domain.ids import mint_run, parse_id, stamp_of
from sessions_app.domain.model import CompactionPart, Message, Part, ToolPart
from sessions_app.domain.repair import Edit, Operation
from sessions_app.domain.versions import numbers

from .context import Context
from .finding import Finding, lossy
from .operations import edit_part, edit_session
from .registration import rule

LAST_AT_FAULT = (1, 18, 11)
"""The newest client known to compare ids (docs/contract/formats.md#a8)."""
CLIENTS = (
    "Clients up to at least 1.18.11 store each new prompt of such a session, send nothing, print nothing and exit 0;"
    " 1.18.33 goes on. Ids wrap every 795 days, last on 2026-08-14T11:19:55Z."
)
_NEAR = 60 * 60 * 1000 * 0x1000
"""Stamps this close to a message's time are that time's own."""


@rule("id-order-skew", severity="at-risk", safety="lossy")
def find(context: Context) -> Iterator[Finding]:
    """V1: messages whose ids do not follow their times, or will not once the next prompt is stored, where the client
    compares ids."""
    if context.v2 or _newer_client(context):
        return
    messages = context.messages
    if all(earlier.id < later.id for earlier, later in pairwise(messages)):
        yield from _will_skew(context)
        return
    moved = [message for message, keep in zip(messages, _kept(messages), strict=True) if not keep]
    details: dict[str, Any] = {
        "clients": CLIENTS,
        "wrapped": _wraps(messages),
        "also": "Or upgrade the client to 1.18.33 or later.",
    }
    choices = []
    try:
        fresh = renumbering(messages)
        label = f"Give {len(fresh)} messages new ids in time order, with every reference to them; times stay"
        choices = [lossy("renumber", label, *_operations(context, fresh))]
        details["new_ids"] = fresh
    except ValueError as error:
        details["not_repairable"] = str(error)
    yield context.finding(
        f"The ids of {len(moved)} messages do not sort in the order of their times; reverting is unsafe until then",
        *choices,
        messages=moved,
        details=details,
    )


def _newer_client(context: Context) -> bool:
    """The store's client is newer than those that compare ids: the newest version that any of its sessions names, else
    the session's own."""
    return numbers(context.facts.client or context.row.get("version")) > LAST_AT_FAULT


def _will_skew(context: Context) -> Iterator[Finding]:
    """In order so far, but the next prompt's id would sort before them. Of a store that is known, one session says it
    for all."""
    now, messages, asleep = context.facts.now, context.messages, context.facts.asleep
    if asleep and asleep[0] != context.session.id:
        return
    newest = parse_id(messages[-1].id) if messages else None
    if now is None or newest is None or newest.stamp <= stamp_of(now) or not _own_time(messages[-1]):
        return
    yield context.finding(
        "Ids have wrapped since this session was last used: the next prompt's id will sort before its history"
        + (f" (so it is with {len(asleep):,} sessions of this store)" if len(asleep) > 1 else ""),
        messages=[messages[-1]],
        severity="info",
        details={"clients": CLIENTS, **({"count": len(asleep)} if len(asleep) > 1 else {})},
        also="Continue it with client 1.18.33 or later.",
    )


def _own_time(message: Message) -> bool:
    """The id's stamp is that of the message's time, so it was minted by a client."""
    parts = parse_id(message.id)
    return parts is not None and abs(parts.stamp - stamp_of(message.time_created)) < _NEAR


def _wraps(messages: Sequence[Message]) -> bool:
    """Older messages with the greater stamps, each of its own time: the ids wrapped in between."""
    return any(
        earlier.id > later.id and _own_time(earlier) and _own_time(later) for earlier, later in pairwise(messages)
    )


def _kept(messages: Sequence[Message]) -> list[bool]:
    """Which messages keep their ids: after a wrap those that the newest follow from, so that the next prompt sorts last
    too; else the longest run that is in order."""
    if _wraps(messages):
        keep = []
        bound: str | None = None
        for message in reversed(messages):
            keep.append(bound is None or message.id < bound)
            bound = message.id if keep[-1] else bound
        return keep[::-1]
    return _longest_ascending([message.id for message in messages])


def _longest_ascending(ids: Sequence[str]) -> list[bool]:
    tops: list[str] = []
    places: list[int] = []
    for text in ids:
        place = bisect_left(tops, text)
        tops[place : place + 1] = [text]
        places.append(place)
    keep = [False] * len(ids)
    wanted = len(tops) - 1
    bound: str | None = None
    for index in range(len(ids) - 1, -1, -1):
        if wanted >= 0 and places[index] == wanted and (bound is None or ids[index] < bound):
            keep[index], bound, wanted = True, ids[index], wanted - 1
    return keep


def renumbering(messages: Sequence[Message]) -> dict[str, str]:
    """Old id -> new id for the messages that need one. ValueError where no id fits."""
    keep = _kept(messages)
    fresh: dict[str, str] = {}
    run: list[str] = []
    low: str | None = None
    for message, kept in [*zip(messages, keep, strict=True), (None, True)]:
        if not kept:
            assert message is not None
            run.append(message.id)
            continue
        high = message.id if message is not None else None
        if run:
            fresh.update(zip(run, mint_run(low, high, len(run)), strict=True))
            run = []
        low = high
    return fresh


def _operations(context: Context, fresh: dict[str, str]) -> Iterator[Operation]:
    why = "ids must sort in time order"
    for message in context.messages:
        edits = (Edit(("parentID",), fresh[message.parent_id]),) if message.parent_id in fresh else ()
        columns = {"id": fresh[message.id]} if message.id in fresh else {}
        if edits or columns:
            yield Operation("replace", "message", message.id, edits=edits, columns=columns, why=why)
        for part in message.parts:
            held = _references(part, fresh)
            if columns:
                moved = {"message_id": fresh[message.id]}
                yield Operation("replace", "part", message.id, part.id, held, columns=moved, why=why)
            elif held:
                yield edit_part(part, held, why)
    revert = context.revert
    if revert.get("messageID") in fresh:
        yield edit_session({"revert": {**revert, "messageID": fresh[revert["messageID"]]}}, why)


def _references(part: Part, fresh: dict[str, str]) -> tuple[Edit, ...]:
    if isinstance(part, CompactionPart) and part.tail_start_id in fresh:
        return (Edit(("tail_start_id",), fresh[part.tail_start_id]),)
    if isinstance(part, ToolPart):
        attachments = part.state.get("attachments")
        return tuple(
            Edit(("state", "attachments", index, "messageID"), fresh[entry["messageID"]])
            for index, entry in enumerate(attachments if isinstance(attachments, list) else [])
            if isinstance(entry, dict) and entry.get("messageID") in fresh
        )
    return ()
