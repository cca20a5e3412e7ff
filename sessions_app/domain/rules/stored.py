"""What has to be there for a rule to find anything: the words of ``Rule.needs``, told in one pass over a history.

A rule that names words finds nothing in a session that has none of them; one that names none always looks.
tests/rules/test_needs.py holds every rule to that. Words err on the side of being there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sessions_app.domain.lowering.settle_v2 import OPEN
from sessions_app.domain.model import (
    V1,
    V2,
    Part,
    ReasoningPart,
    Session,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from sessions_app.domain.storedtexts import Measure

PARTS: Final = frozenset({"text", "reasoning", "tool", "step-start", "step-finish", "file", "compaction"})
"""Words that are kinds of parts."""
_PLAIN: Final = PARTS | {"", "patch", "subtask", "agent", "snapshot", "retry"}
WORDS: Final = PARTS | frozenset(
    {
        "v2",  # its client is a V2 one
        "faulty",  # a row or item that does not decode, or misses something
        "other-kind",  # a part of a kind that the client does not know
        "summary",  # an answer that is marked as a summary
        "failed",  # a message with a stored error
        "attached",  # a call or V2 prompt with files
        "restarted",  # a message with more than one step-start
        "hollow",  # a message that says nothing, or a text of blanks in one that does; any V2 message
        "unsigned",  # reasoning without a signature
        "behind",  # something said or called behind a step-finish, or said behind a call
        "open-call",  # a call without an end
        "odd-id",  # a call id that some provider does not take, or that is not sent as it is stored
        "odd-input",  # a call whose arguments are no object, or one with something odd about it
        "odd-name",  # a tool name that some provider does not take
        "repeated-id",  # two calls of one id
        "repeated-call",  # two calls of one tool in one message
        "odd-text",  # half a surrogate pair or NUL, perhaps
        "large",  # a row that a limit of one text could be below
        "huge",  # rows that a limit of a request could be below
        "waiting",  # a prompt that was admitted
        "refused",  # its own target refuses something, or its client stops
    }
)
LARGE: Final = 150_000
"""Characters of a stored row. Nothing of it is longer than seven of itself anywhere, and the least limit of a text is
262,144 characters of an output, 1,048,576 of arguments."""
HUGE: Final = 3_900_000
"""Characters of all stored rows, a little below what no known window holds."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def told(session: Session, measure: Measure) -> frozenset[str]:
    """The words that hold for the history its client uses, without those that its own target has to say."""
    found: set[str] = set(_of_session(session, measure))
    ids: set[str] = set()
    for message in session.messages:
        if message.fault is not None:
            found.add("faulty")
        if message.data.get("error"):
            found.add("failed")
        if message.data.get("summary") and message.is_assistant:
            found.add("summary")
        _of_parts(message.parts, found, ids)
    if not found.isdisjoint(found - WORDS - _PLAIN):
        found.add("other-kind")
    return frozenset(found & WORDS)


def _of_parts(parts: Sequence[Part], found: set[str], ids: set[str]) -> None:
    """What one message's parts tell goes into ``found``; ``ids`` are those of calls so far."""
    tools: list[str] = []
    starts = 0
    says = called = ended = False
    for part in parts:
        found.add(part.kind)
        if part.fault is not None:
            found.add("faulty")
        if isinstance(part, StepStartPart):
            starts += 1
            called = ended = False
        elif isinstance(part, StepFinishPart):
            called, ended = False, True
        elif isinstance(part, ToolPart):
            if ended:
                found.add("behind")
            says = called = True
            tools.append(part.tool)
            _of_call(part, found, ids)
        elif isinstance(part, (TextPart, ReasoningPart)):
            if called or ended:
                found.add("behind")
            if isinstance(part, ReasoningPart):
                if not part.signed:
                    found.add("unsigned")
            elif part.ignored or not isinstance(part.text, str) or not part.text.strip():
                found.add("hollow")
            else:
                says = True
    if not says:
        found.add("hollow")
    if starts > 1:
        found.add("restarted")
    if len(tools) != len(set(tools)):
        found.add("repeated-call")


def _of_session(session: Session, measure: Measure) -> Iterator[str]:
    own = session.dialect in (V1, V2)  # of another dialect, a text may stand in other rows than is known here
    if session.faults or session.orphans:
        yield "faulty"
    if session.dialect == V2:
        yield from ("v2", "attached", "hollow")
    if session.rows.inputs:
        yield "waiting"
    if measure.odd or not own:
        yield "odd-text"
    if measure.largest > LARGE or not own:
        yield "large"
    if measure.total > HUGE or not own:
        yield "huge"


def _of_call(tool: ToolPart, found: set[str], ids: set[str]) -> None:
    if tool.call_id in ids:
        found.add("repeated-id")
    ids.add(tool.call_id)
    if tool.status in OPEN:
        found.add("open-call")
    if tool.attached:
        found.add("attached")
    if not tool.plain_input:
        found.add("odd-input")
    if _ID.match(tool.call_id) is None:
        found.add("odd-id")
    if _NAME.match(tool.tool) is None:
        found.add("odd-name")
