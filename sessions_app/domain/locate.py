"""From an error text to the rule, the position and the stored part.

Facts: docs/contract/rules.md#3, docs/contract/wire.md#0.1.

The text may be a bare message, a provider's JSON, JSON wrapped in JSON by gateways, or a log with lines around it.
Indexes in it count messages of the request, so with a session the history is lowered the same way and the body's
provenance leads to the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from sessions_app.domain.bodies import body as lowered_body
from sessions_app.domain.errorwords import Known, known_words, normalised
from sessions_app.domain.errorwords.reading import Place, Pointer, ids, messages, places
from sessions_app.domain.model import Session, ToolPart
from sessions_app.domain.protocols import judge
from sessions_app.domain.wire.callids import wire_forms
from sessions_app.domain.wire.lowered import Body, LoweringError, Origin
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target, default_target, infer_target
from sessions_app.domain.wire.verdict import Verdict, Violation

TEXT_LIMIT = 64 * 1024
"""Characters of a pasted text that are read; an error says what it has to say long before."""

UNKNOWN = Known(
    re.compile(""), "", (), (), "Suture does not know these words; this is what they point at.", general=True
)


@dataclass(frozen=True, slots=True)
class Location:
    """One reading of an error text.

    ``rules`` are ids of docs/wire-rules.md, ``faults`` rule codes of rules.md, ``means`` a sentence for people.
    ``position`` is as the text writes it ("" = none), ``pointer`` the path in the body it stands for. ``message`` and
    ``part`` are stored ids, "" where nothing was found or no session was given; ``by`` says what led there: "violation"
    (the session really breaks this rule), "position", "id" or "".
    """

    rules: tuple[str, ...]
    faults: tuple[str, ...]
    means: str
    protocol: str = ""
    position: str = ""
    pointer: Pointer = ()
    ids: tuple[str, ...] = ()
    message: str = ""
    part: str = ""
    by: str = ""


def locate(text: str, session: Session | None = None, target: Target | None = None) -> list[Location]:
    """Readings of an error text, the likeliest first; [] where it says nothing that is known and points at nothing.

    With a session each reading is resolved to the message and part at fault, if that can be told. ``target`` is who was
    called; default: the session's own, in the protocol that the text speaks.
    """
    texts = messages(text[:TEXT_LIMIT])
    readings = list(_readings(texts))
    if session is None or not readings:
        return readings
    resolved = [located for reading in readings for located in _resolved(reading, texts, session, target)]
    resolved.sort(key=lambda location: ("violation", "position", "id", "").index(location.by))
    return list(dict.fromkeys(resolved))


def raised_by(location: Location, verdict: Verdict) -> list[Violation]:
    """The violations of a verdict that answer with this error: how a search over sessions tells which would raise it.

    Claude's own words come from behind Bedrock too, where they are rule B12.
    """
    behind = set(location.faults) if location.protocol == "anthropic-messages" else set()
    return [
        violation
        for violation in verdict.violations
        if violation.rule in location.rules or (violation.rule == "B12" and behind & set(violation.faults))
    ]


def _readings(texts: list[str]) -> Iterator[Location]:
    where = list(dict.fromkeys(place for text in texts for place in places(text)))
    names = tuple(dict.fromkeys(name for text in texts for name in ids(text)))
    for entry in _entries(texts, anything=bool(where or names)):
        place = _fitting(where, entry.protocol)
        yield Location(
            entry.rules,
            entry.faults,
            entry.means,
            entry.protocol or (place.protocol if place else ""),
            place.position if place else "",
            place.pointer if place else (),
            names,
        )


def _entries(texts: list[str], anything: bool) -> list[Known]:
    """The entries whose words are there; one without rules where the words are unknown but point at something."""
    whole = normalised("\n".join(texts))
    found = [entry for entry in known_words() if entry.pattern.search(whole)]
    exact = [entry for entry in found if not entry.general]
    if found or not anything:
        return exact or found
    return [UNKNOWN]


def _fitting(places: list[Place], protocol: str) -> Place | None:
    """The first place written in the style of the protocol. Claude's own style stands behind Bedrock's prefix as
    well."""
    for place in places:
        if (
            not protocol
            or not place.protocol
            or place.protocol == protocol
            or {place.protocol, protocol} == {"anthropic-messages", "bedrock-converse"}
        ):
            return place
    return None


# Resolving against a session


def _resolved(reading: Location, texts: list[str], session: Session, target: Target | None) -> list[Location]:
    if reading.pointer[:1] == ("rows",):
        return [_row(reading, session)]
    whole = normalised("\n".join(texts))
    called = _called(reading, session, target)
    body = _body(session, called) if called else None
    if body is not None and called is not None:
        broken = _same(raised_by(reading, judge(body, called)), reading, whole)
        if broken:
            return [
                replace(
                    reading,
                    protocol=called.protocol,
                    position=one.position,
                    pointer=one.pointer,
                    message=one.message,
                    part=one.part,
                    by="violation",
                )
                for one in broken
            ]
        origin = _origin(body, reading.pointer) if called.protocol == (reading.protocol or called.protocol) else None
        if origin is not None:
            return [replace(reading, message=origin.message, part=origin.part, by="position")]
    by_id = [
        replace(reading, message=origin.message, part=origin.part, by="id") for origin in _holders(session, reading.ids)
    ]
    return by_id or [reading]


def _called(reading: Location, session: Session, target: Target | None) -> Target | None:
    own = target or infer_target(session)
    if own is None or not reading.protocol or own.protocol == reading.protocol:
        return own
    if own.protocol == "bedrock-converse" and reading.protocol == "anthropic-messages":
        return own
    return default_target(session, cast(ProtocolName, reading.protocol))


def _body(session: Session, target: Target) -> Body | None:
    try:
        return lowered_body(session, target, repairs=False, next_prompt="continue")
    except LoweringError:
        return None


def _same(broken: list[Violation], reading: Location, whole: str) -> list[Violation]:
    """Of the violations of this rule, those the text speaks of: by its full words, else by position, else all."""
    verbatim = [one for one in broken if normalised(one.error) in whole]
    placed = [one for one in broken if reading.pointer and one.pointer[: len(reading.pointer)] == reading.pointer]
    return verbatim or placed or broken


def _origin(body: Body, pointer: Pointer) -> Origin | None:
    """The origin of the position: of itself or the nearest listed thing around it, else of the first listed thing
    inside it."""
    if not pointer or not _exists(body.body, pointer[:2]):
        return None
    for length in range(len(pointer), 1, -1):
        found = body.provenance.get(pointer[:length])
        if found is not None and found.message:
            return found
    for path, origin in body.provenance.items():
        if path[:2] == pointer[:2] and origin.message:
            return Origin(origin.message, origin.part if len(pointer) > 2 else "")
    return None


def _exists(value: Any, pointer: Pointer) -> bool:
    for step in pointer:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _row(reading: Location, session: Session) -> Location:
    """``[N]["info"]["agent"]`` and ``[N]["parts"][M]`` count the client's own list of messages, which may be a page of
    the history: where the message at N has the member that the text misses, the first that has it not is meant."""
    _, index, *rest = reading.pointer
    numbers = [step for step in rest if isinstance(step, int)]
    key = rest[-1] if rest and isinstance(rest[-1], str) else ""
    at = session.messages[index] if isinstance(index, int) and index < len(session.messages) else None
    if key and not numbers and (at is None or key in at.data):
        at = next((message for message in session.messages if message.is_assistant and key not in message.data), at)
    if at is None:
        return reading
    part = at.parts[numbers[0]].id if numbers and numbers[0] < len(at.parts) else ""
    return replace(reading, message=at.id, part=part, by="position")


def _holders(session: Session, names: tuple[str, ...]) -> Iterator[Origin]:
    """Stored messages and parts that carry one of the ids: as their own, as call id (also as scrubbed on the wire), as
    pointer, or as a provider's item id in their metadata."""
    wanted = set(names)
    items = [name for name in wanted if name.startswith(("rs_", "fc_", "msg_", "ctc_"))]
    if not wanted:
        return
    for message in session.messages:
        if message.id in wanted or (message.parent_id or "") in wanted:
            yield Origin(message.id, "")
        for part in message.parts:
            called = isinstance(part, ToolPart) and not wanted.isdisjoint(wire_forms(part.call_id))
            if called or part.id in wanted or any(f'"{name}"' in part.raw for name in items):
                yield Origin(message.id, part.id)
