"""Which sessions an error text is about: read from the verdicts of their last scans, the ids in them, and the errors
that they store themselves or that a probe brought back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from sessions_app.domain import dialects
from sessions_app.domain.errorwords import Said, said
from sessions_app.domain.errorwords.recorded import errors_of, same_words
from sessions_app.domain.locate import EVIDENCE, Answer, Location, locate
from sessions_app.domain.wire.target import Target
from sessions_app.models import Message, Probe, Session, Verdict

from .rows import session_rows
from .sessions import session_by_any_id

LIMIT = 20
READ = 2_000
"""Rejected verdicts, and stored errors, that are looked at, newest sessions first."""
_IDS = 8
_ERROR_SIZE = 256 * 1024


@dataclass(frozen=True, slots=True)
class Raiser:
    """A session whose payload breaks the rule behind the error, and where. ``exact``: an id of the text is in its own
    words."""

    session: int
    title: str
    protocol: str
    error: str
    place: str
    exact: bool
    stored_id: str = ""
    message: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an error text leads. ``session`` is Suture's number, ``stored_id`` the session's own; ``message`` and
    ``part`` are stored ids; ``by`` is the evidence, as in ``Location``."""

    session: int
    stored_id: str
    title: str
    message: str
    part: str
    by: str
    error: str = ""

    @property
    def at(self) -> str:
        return self.part or self.message


def places_within(
    text: str, session: Session, target: Target | None = None
) -> tuple[tuple[Location, ...], tuple[Place, ...]]:
    """The readings of a text resolved in one session, and the places they lead to."""
    located = tuple(locate(text, dialects.decode(session_rows(session)), target))
    title = session.title or session.stored_id
    return located, tuple(
        Place(session.pk, session.stored_id, title, one.message, one.part, one.by)
        for one in located
        if one.message or one.part
    )


def places_among(
    text: str, answer: Answer, among: QuerySet[Session] | None = None
) -> tuple[tuple[Raiser, ...], tuple[Place, ...]]:
    """The sessions of ``among`` (None: all) that a text is about, by the strongest evidence first."""
    among = Session.objects.all() if among is None else among
    raisers = sessions_raising(answer.about_request, among)
    found = [
        Place(one.session, one.stored_id, one.title, one.message, one.part, "violation", one.error) for one in raisers
    ]
    found += _by_id(answer, among)
    found += _recorded(said(text), among)
    found.sort(key=lambda place: EVIDENCE.index(place.by))
    first: dict[int, Place] = {}
    for place in found:
        first.setdefault(place.session, place)
    return raisers, tuple(first.values())[:LIMIT]


def only_session(among: QuerySet[Session] | None = None) -> Session | None:
    """The session, where there is only one: then nobody has to name it."""
    found = list((Session.objects.all() if among is None else among).filter(imported_at__isnull=False)[:2])
    return found[0] if len(found) == 1 else None


def sessions_raising(locations: Sequence[Location], among: QuerySet[Session]) -> tuple[Raiser, ...]:
    """Sessions that would raise the error, those with the same ids in it first."""
    rules = {rule for location in locations for rule in location.rules}
    behind = {fault for location in locations if location.protocol == "anthropic-messages" for fault in location.faults}
    ids = {name for location in locations for name in location.ids}
    if not rules:
        return ()
    found: list[Raiser] = []
    rejected = (
        Verdict.objects.filter(accepted=False, session__in=among.order_by())
        .order_by("-own", "-session__time_updated", "-session_id")
        .values_list("session_id", "session__title", "session__stored_id", "protocol", "violations")[:READ]
    )
    seen: set[int] = set()
    for session, title, stored_id, protocol, violations in rejected.iterator():
        for violation in violations:
            claude = violation.get("rule") == "B12" and behind & set(violation.get("faults", ()))
            matches = violation.get("rule") in rules or claude
            if not matches or session in seen:
                continue
            error = str(violation.get("error", ""))
            message, part = str(violation.get("message") or ""), str(violation.get("part") or "")
            exact = any(name in error for name in ids)
            if ids and not exact:
                continue
            seen.add(session)
            found.append(
                Raiser(session, title or stored_id, protocol, error, part or message, exact, stored_id, message, part)
            )
            break
        if len(found) >= LIMIT:
            break
    return tuple(found)


def _by_id(answer: Answer, among: QuerySet[Session]) -> list[Place]:
    names = list(dict.fromkeys(name for reading in answer.readings for name in reading.ids))[:_IDS]
    at = {place.session: place.at for name in reversed(names) for place in reversed(session_by_any_id(name))}
    sessions = among.filter(pk__in=at)
    return [Place(one.pk, one.stored_id, one.title or one.stored_id, "", at[one.pk], "id") for one in sessions]


def _recorded(text: Said, among: QuerySet[Session]) -> Iterator[Place]:
    """Sessions that store the same words: as the error of a message, or as the answer to a probe."""
    if not text.whole.tight:
        return
    stored = (
        Message.objects.filter(session__in=among.order_by())
        .exclude(error="")
        .order_by("-session__time_updated", "-session_id", "-position")
        .select_related("session")
        .only("stored_id", "data", "encoding", "session__stored_id", "session__title")[:READ]
    )
    for message in stored.iterator():
        if any(same_words(text, words) for words in _words_of(message)):
            session = message.session
            title = session.title or session.stored_id
            yield Place(session.pk, session.stored_id, title, message.stored_id, "", "recorded")
    probes = (
        Probe.objects.filter(session__in=among.order_by())
        .exclude(error="")
        .select_related("session")
        .order_by("-created_at")[:READ]
    )
    for probe in probes:
        if same_words(text, probe.error):
            session = probe.session
            yield Place(
                session.pk, session.stored_id, session.title or session.stored_id, "", "", "recorded", probe.error
            )


def _words_of(message: Message) -> list[str]:
    value = message.value
    if not isinstance(value, str) or len(value) > _ERROR_SIZE:
        return []
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        return []
    return list(errors_of(data)) if isinstance(data, dict) else []
