"""What opencode keeps beside a session's messages: the numbers of its events and rows, admitted prompts, and the
context that the model was told last (docs/contract/v2-server.md#repairing)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.jsjson import loads
from sessions_app.domain.model import V2, Row
from sessions_app.domain.repair import Operation

from .context import Context
from .finding import Finding, safe
from .registration import rule


@rule("sequence-broken", severity="blocked", safety="safe")
def find_sequence(context: Context) -> Iterator[Finding]:
    """Numbers that the client would give a second time, and a prompt that it would store a second time."""
    if not context.v2 or _first_generation(context):
        yield from _behind(context)
    if _first_generation(context):
        yield from _unpromoted(context)


def _first_generation(context: Context) -> bool:
    """The client is the V2 server of 1.18: what later ones do was never measured."""
    history = context.session.history(V2)
    return context.facts.reads != "opencode-v2" and bool(history) and all(one.generation < 2 for one in history)


def _behind(context: Context) -> Iterator[Finding]:
    rows = context.session.rows
    if not rows.behind:
        return
    number, last = _number(rows.sequence), rows.last_number
    events = -1 if rows.last_event is None else rows.last_event
    above = [one for one in context.session.history(V2) if one.seq is not None and one.seq > number]
    stopped = rows.sequence is None or number < events
    if rows.sequence is None:
        summary = f"The session has no sequence, though its rows are numbered up to {last}"
        then = "every write fails" if events >= 0 else "new prompts and answers get numbers before and between old ones"
    elif stopped:
        summary = f"The session's sequence is at {number}, but its events go up to {events}"
        then = "every prompt is refused"
    else:
        summary = f"The session's sequence is at {number}, but rows are numbered up to {last}"
        then = "the next prompt or its answer is lost, and these rows are sent behind every new one"
    why = f"the client would give the numbers up to {last} again: {then}"
    yield context.finding(
        summary,
        safe("raise", f"Set the sequence to {last}", Operation("replace", "sequence", columns={"seq": last}, why=why)),
        messages=() if stopped else above,
        severity="blocked" if stopped else "at-risk",
        details={
            "sequence": None if rows.sequence is None else number,
            "should_be": last,
            "last_event": events,
            "then": then,
        },
        mark="sequence",
    )


def _number(sequence: Row | None) -> int:
    number = sequence.get("seq") if sequence is not None else None
    return number if isinstance(number, int) else -1


def _unpromoted(context: Context) -> Iterator[Finding]:
    """Prompts that are marked as never sent, though their message is stored: sending them once more fails for ever."""
    seqs = {one.id: one.seq for one in context.session.history(V2) if one.seq is not None}
    rows = [row for row in context.session.rows.inputs if row.get("promoted_seq") is None and row.get("id") in seqs]
    if not rows:
        return
    why = "its message is stored, so it was sent: the client would store it a second time, and stops"
    mend = [
        Operation("replace", "input", str(row["id"]), columns={"promoted_seq": seqs[row["id"]]}, why=why)
        for row in rows
    ]
    yield context.finding(
        f"{len(rows)} stored prompts are marked as not sent yet, so the client stops at every new prompt",
        safe("promote", "Mark them as sent, at their messages' numbers", *mend),
        messages=[str(row["id"]) for row in rows],
        severity="blocked",
        details={"then": "every new prompt is taken, and nothing is sent"},
        mark="input",
    )


@rule("epoch-unreadable", severity="blocked", safety="safe")
def find_epoch(context: Context) -> Iterator[Finding]:
    """A context snapshot that the client cannot decode."""
    epoch = context.session.rows.epoch
    if epoch is None or not _first_generation(context) or _is_object(epoch.get("snapshot")):
        return
    words = "Failed to decode context snapshot"
    yield context.finding(
        "The stored context of the session is not an object, so the client sends nothing",
        safe(
            "renew",
            "Take it out; the client makes it anew with the next prompt",
            Operation("delete", "epoch", why="the client cannot decode its snapshot"),
        ),
        severity="blocked",
        details={"table": "session_context_epoch", "path": "snapshot", "error": words, "certainty": "measured"},
    )


def _is_object(value: object) -> bool:
    try:
        return isinstance(value, str) and isinstance(loads(value), dict)
    except ValueError:
        return False
