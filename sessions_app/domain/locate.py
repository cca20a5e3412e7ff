"""From an error text to its class, the rule, the position and the stored part.

Facts: docs/contract/rules.md#3, docs/contract/wire.md#0.1.

The text may be a bare message, a provider's JSON, JSON wrapped in JSON by gateways, or a log with lines around it,
in any state that copying leaves it in. Indexes in it count messages of the request, so with a session the history is
lowered the same way and the body's provenance leads to the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from sessions_app.domain.bodies import Requests
from sessions_app.domain.errorwords import Said, known, normalised, read, said
from sessions_app.domain.errorwords.classes import next_step
from sessions_app.domain.errorwords.envelopes import READ_LIMIT
from sessions_app.domain.errorwords.reading import Place, Pointer, ids, places
from sessions_app.domain.errorwords.recorded import errors_of, same_words
from sessions_app.domain.judging import judged_requests
from sessions_app.domain.model import Session, ToolPart
from sessions_app.domain.protocols import judge
from sessions_app.domain.protocols.table import About
from sessions_app.domain.wire.callids import wire_forms
from sessions_app.domain.wire.lowered import Body, LoweringError, Origin
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target, default_target, infer_target
from sessions_app.domain.wire.verdict import Verdict, Violation

TEXT_LIMIT = READ_LIMIT
"""Characters of a pasted text that are read."""

EVIDENCE = ("violation", "id", "recorded", "position", "")
"""What can lead to a place, the strongest first."""

_UNKNOWN = known("Suture does not know these words; this is what they point at.")


@dataclass(frozen=True, slots=True)
class Location:
    """One reading of an error text.

    ``rules`` are codes of docs/wire-rules.md, ``faults`` of rules.md, ``means`` a sentence for people. ``position`` is
    as the text writes it ("" = none), ``pointer`` the path in the body it stands for. ``message`` and ``part`` are
    stored ids, "" where nothing was found or no session was given; ``by`` says what led there: "violation" (the session
    really breaks this rule), "id" (it is in the text), "recorded" (the session stores this very refusal, at this
    message), "position" or "". ``about`` and ``kind`` are the class of what is said (``errorwords.classes``).
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
    about: About = "history"
    kind: str = ""
    exact: bool = False
    """By position: the request has a block at just this place, not only around it."""


_STORED = Location((), (), "The session stores these words as the error of this message.", about="generic")


@dataclass(frozen=True, slots=True)
class Answer:
    """What an error text says: its class, what to do now, and its readings, the likeliest first."""

    about: About
    kind: str
    next: str
    readings: tuple[Location, ...]

    @property
    def about_request(self) -> tuple[Location, ...]:
        """The readings that a session can be searched for."""
        return tuple(reading for reading in self.readings if reading.about in ("history", "setting"))


def answer(text: str) -> Answer:
    """The class of any text. One that says nothing is ``generic``, without a reading where not even that is known."""
    readings = tuple(_readings(said(text)))
    about: About = readings[0].about if readings else "generic"
    kind = readings[0].kind if readings else ""
    return Answer(about, kind, next_step(about, kind, readings[0].faults if readings else ()), readings)


def locate(
    text: str,
    session: Session | None = None,
    target: Target | None = None,
    *,
    searching: bool = False,
    requests: Requests | None = None,
) -> list[Location]:
    """Readings of an error text that are about the request, the likeliest first; [] where it says nothing that is known
    and points at nothing.

    With a session each reading is resolved to the message and part at fault, if that can be told; any text leads to the
    message that stores the same words as its error. ``target`` is who was called; default: the session's own, in the
    protocol that the text speaks. ``searching``: many sessions are looked through for the one that the text is about,
    so that a position, which every session has, or a fault with other ids leads nowhere. ``requests``: the session's,
    as they are judged, where somebody has them already.
    """
    heard = said(text)
    every = list(_readings(heard))
    readings = [reading for reading in every if reading.about in ("history", "setting")]
    if session is None:
        return readings
    message, stored = _recorded(heard, session)
    if stored and not readings:  # what was pasted says nothing; what is stored beside it may say more
        readings = [reading for reading in _readings(said(stored)) if reading.about in ("history", "setting")]
    made = requests or judged_requests(session, target)
    found = [place for reading in readings for place in _resolved(reading, heard, made, target, searching)]
    if message:
        same = readings or every[:1] or [_STORED]
        found += [replace(reading, message=message, part="", by="recorded") for reading in same]
    found.sort(key=lambda location: EVIDENCE.index(location.by))
    if searching or any(location.by for location in found):
        found = [location for location in found if location.by not in (("", "position") if searching else ("",))]
    return list(dict.fromkeys(found))


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


def _readings(text: Said) -> Iterator[Location]:
    found, broken = read(text)
    layers = [*text.layers] if text.layers else []
    texts = [layer.glued if broken else layer.text for layer in layers]
    texts += [layer.text if broken else layer.glued for layer in layers]
    where = list(dict.fromkeys(place for one in texts for place in places(one)))
    names = tuple(dict.fromkeys(name for one in texts for name in ids(one)))
    pointing = bool(where) or any(not name.startswith(("ses_", "msg_", "prt_")) for name in names)
    if pointing and all(entry.about == "generic" for entry in found):
        found = [_UNKNOWN]
    for entry in found:
        place = _fitting(where, entry.protocol)
        yield Location(
            entry.rules,
            entry.faults,
            entry.means,
            entry.protocol or (place.protocol if place else ""),
            place.position if place else "",
            place.pointer if place else (),
            names,
            about=entry.about,
            kind=entry.kind,
        )


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


def _resolved(
    reading: Location, text: Said, requests: Requests, target: Target | None, searching: bool
) -> list[Location]:
    """The reading at the places that the strongest evidence leads to: a violation, else an id, else the position."""
    session = requests.session
    if reading.pointer[:1] == ("rows",):
        return [_row(reading, session)]
    called = _called(reading, session, target)
    body = _body(requests, called) if called else None
    holders = list(_holders(session, reading.ids))
    at = None
    if body is not None and called is not None:
        broken = _same(raised_by(reading, judge(body, called)), reading, text, searching or bool(holders))
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
        at = _origin(body, reading.pointer) if called.protocol == (reading.protocol or called.protocol) else None
    if holders:
        there = [origin for origin in holders if at and origin.part and origin == at] or holders
        return [replace(reading, message=origin.message, part=origin.part, by="id") for origin in there]
    if at is None or body is None:
        return [reading]
    exact = _exists(body.body, reading.pointer)
    return [replace(reading, message=at.message, part=at.part, by="position", exact=exact)]


def _recorded(text: Said, session: Session) -> tuple[str, str]:
    """The newest message that stores the same words as its error, with all that it stores of it."""
    for message in reversed(session.messages):
        for data in (message.data, *(part.data for part in message.parts if part.kind == "retry")):
            stored = list(errors_of(data))
            if any(same_words(text, words) for words in stored):
                return message.id, "\n".join(stored)
    return "", ""


def _called(reading: Location, session: Session, target: Target | None) -> Target | None:
    own = target or infer_target(session)
    if own is None or not reading.protocol or own.protocol == reading.protocol:
        return own
    if own.protocol == "bedrock-converse" and reading.protocol == "anthropic-messages":
        return own
    return default_target(session, cast(ProtocolName, reading.protocol))


def _body(requests: Requests, target: Target) -> Body | None:
    try:
        return requests.body(target)
    except LoweringError:
        return None


def _same(broken: list[Violation], reading: Location, text: Said, by_id: bool) -> list[Violation]:
    """Of the violations of this rule, those the text speaks of: by its full words, else by an id, else by position,
    else all. ``by_id``: where the text names ids, violations of other ids are others."""
    verbatim = [one for one in broken if normalised(one.error) in text.whole.spaced]
    if verbatim:
        return verbatim
    wanted = {name.lower() for name in reading.ids}
    named = [one for one in broken if wanted & {name.lower() for name in ids(one.error)}]
    if named or (by_id and wanted and any(True for one in broken for _ in ids(one.error))):
        broken = named
    placed = [one for one in broken if reading.pointer and one.pointer[: len(reading.pointer)] == reading.pointer]
    return placed or broken


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
    pointer, or as a provider's item id in their metadata. Capitals do not count: a whole text may be in capitals."""
    wanted = {name.lower() for name in names}
    items = [f'"{name}"' for name in wanted if name.startswith(("rs_", "fc_", "msg_", "ctc_"))]
    if not wanted:
        return
    for message in session.messages:
        if message.id.lower() in wanted or (message.parent_id or "").lower() in wanted:
            yield Origin(message.id, "")
        for part in message.parts:
            called = isinstance(part, ToolPart) and any(form.lower() in wanted for form in wire_forms(part.call_id))
            if called or part.id.lower() in wanted or (items and any(item in part.raw.lower() for item in items)):
                yield Origin(message.id, part.id)
