"""Sessions for lists and headers: complete frozen rows; nothing that a template touches asks the database again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import FETCH_RAISE, Case, F, QuerySet, When, Window
from django.db.models.functions import RowNumber

from sessions_app.domain.weight import is_heavy
from sessions_app.models import Finding, Message, Part, Repair, Session, Source, Verdict

from .counts import by_health, everything, matching
from .filters import SessionFilter
from .lastcall import LastCall, last_call
from .paging import Page, paged

__all__ = [
    "Place",
    "SessionDetail",
    "SessionPage",
    "SessionRow",
    "Tally",
    "TopFinding",
    "first_blocked",
    "neighbours",
    "session_by_any_id",
    "session_detail",
    "session_page",
    "session_query",
    "sessions_by_stored_id",
    "sessions_of",
    "top_findings",
]

PER_PAGE = 50
_RARE = 5
"""Of so many sessions one matches, or fewer do: then all that match are looked up and put in order."""

_WALKED = 2_000
"""Sessions of a list that one walks through, one after the other."""

_ROW_FIELDS = (
    "stored_id",
    "title",
    "directory",
    "project_id_stored",
    "version",
    "parent_stored_id",
    "time_created",
    "time_updated",
    "time_archived",
    "dialect",
    "provider",
    "model",
    "turn_count",
    "message_count",
    "part_count",
    "size_bytes",
    "imported_at",
    "rows_hash",
    "missing_since",
    "error",
    "health",
    "reasons",
    "blocked_count",
    "at_risk_count",
    "info_count",
    "rejected_by",
    "fate",
    "target",
    "scanned_at",
    "scanned_hash",
    "rules_version",
    "repaired_at",
    "source__name",
    "source__kind",
    "source__origin",
    "source__path",
    "source__stored_path",
    "source__native",
)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as a row of a list. Times in milliseconds since the epoch are as stored; ``*_at`` are Suture's own."""

    id: int
    stored_id: str
    title: str
    directory: str
    project: str
    source_id: int
    source_name: str
    parent: str
    version: str
    dialect: str
    provider: str
    model: str
    turns: int
    messages: int
    parts: int
    size: int
    time_created: int | None
    time_updated: int | None
    time_archived: int | None
    health: str
    stale: bool
    reasons: tuple[str, ...]
    blocked: int
    at_risk: int
    info: int
    rejected_by: tuple[str, ...]
    fate: str
    target: dict[str, Any]
    imported: bool
    missing: bool
    error: str
    scanned_at: dt.datetime | None
    repaired_at: dt.datetime | None
    rules_version: str

    @property
    def name(self) -> str:
        return self.title or self.stored_id

    @property
    def findings(self) -> int:
        return self.blocked + self.at_risk + self.info

    @property
    def heavy(self) -> bool:
        """Its client is slow to open it (``domain.weight``)."""
        return is_heavy(self.size, self.parts)


@dataclass(frozen=True, slots=True)
class Tally:
    health: str
    count: int


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A page of a list, and how many sessions of each health its other conditions leave, the worst first."""

    page: Page[SessionRow]
    tally: tuple[Tally, ...]


@dataclass(frozen=True, slots=True)
class TopFinding:
    """A finding in one line; ``at`` is the part or message to show, ``place`` that in words, ``error`` the provider's
    words where it refuses just there."""

    rule: str
    severity: str
    safety: str
    line: str
    place: str
    at: str
    error: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where an id is: the session, and the message or part to show ("" = the session itself)."""

    session: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class SessionDetail:
    """A session's header."""

    row: SessionRow
    source_path: str
    verdicts: tuple[Verdict, ...]
    children: tuple[SessionRow, ...]
    parent: SessionRow | None
    repair_count: int
    safe_count: int
    """Findings that a safe repair takes away."""
    safe_blocking: int
    """Of these, the ones that block."""
    last_call: LastCall | None = None

    @property
    def own_verdict(self) -> Verdict | None:
        return next((verdict for verdict in self.verdicts if verdict.own), None)

    @property
    def opens_with(self) -> str:
        """The task that the client runs before the request that is judged; "" = none."""
        return next((verdict.opens_with for verdict in self.verdicts), "")


def _rows(sessions: QuerySet[Session]) -> tuple[SessionRow, ...]:
    chosen = sessions.select_related("source").only(*_ROW_FIELDS).fetch_mode(FETCH_RAISE)
    return tuple(_row(session) for session in chosen)


def _row(session: Session) -> SessionRow:
    source = session.source
    return SessionRow(
        id=session.pk,
        stored_id=session.stored_id,
        title=session.title,
        directory=session.directory,
        project=session.project_id_stored,
        source_id=session.source_id,
        source_name=source.name,
        parent=session.parent_stored_id,
        version=session.version,
        dialect=session.dialect,
        provider=session.provider,
        model=session.model,
        turns=session.turn_count,
        messages=session.message_count,
        parts=session.part_count,
        size=session.size_bytes,
        time_created=session.time_created,
        time_updated=session.time_updated,
        time_archived=session.time_archived,
        health=session.health,
        stale=session.scanned_at is not None and not session.scan_is_current,
        reasons=tuple(session.reasons),
        blocked=session.blocked_count,
        at_risk=session.at_risk_count,
        info=session.info_count,
        rejected_by=tuple(session.rejected_by),
        fate=session.fate,
        target=session.target,
        imported=session.imported_at is not None,
        missing=session.missing_since is not None,
        error=session.error,
        scanned_at=session.scanned_at,
        repaired_at=session.repaired_at,
        rules_version=session.rules_version,
    )


def sessions_of(ids: Iterable[int]) -> tuple[SessionRow, ...]:
    """The named sessions, the last updated first; at most 2,000 are looked at."""
    return _rows(Session.objects.filter(pk__in=list(ids)[:2000]).order_by("-time_updated", "-id"))


def sessions_by_stored_id(source_id: int, stored_ids: Iterable[str]) -> dict[str, SessionRow]:
    """Sessions of one source by their stored ids, those that are there."""
    wanted = list(stored_ids)[:500]
    rows = _rows(Session.objects.filter(source=source_id, stored_id__in=wanted)) if wanted else ()
    return {row.stored_id: row for row in rows}


def session_query(wanted: SessionFilter, among: QuerySet[Session] | None = None) -> QuerySet[Session]:
    """The sessions of a filter, for bulk services and exports; ``among`` None = of all."""
    return wanted.apply(Session.objects.all() if among is None else among)


def session_page(
    wanted: SessionFilter, number: int = 1, per_page: int = PER_PAGE, among: QuerySet[Session] | None = None
) -> SessionPage:
    """One numbered page, with how many match; ``among`` None = of all."""
    tally = by_health(wanted, among)
    total = matching(wanted, tally)
    page = paged(_listed(wanted, among, total), _rows_of, number, per_page, total)
    return SessionPage(page, tuple(Tally(health, tally.get(health, 0)) for health in Session.RANK))


def _listed(wanted: SessionFilter, among: QuerySet[Session] | None, total: int) -> QuerySet[Session]:
    """The sessions of a filter that ``total`` match, so that a page of them costs little either way."""
    sessions = Session.objects.all() if among is None else among
    if not wanted.restricts or total * _RARE > everything():
        return wanted.apply(sessions, many=True)
    return wanted.found_first(sessions)


def _rows_of(found: QuerySet[Session]) -> tuple[SessionRow, ...]:
    """Rows of a page: its keys come out of an index, so that what lies before a far page is not looked up."""
    keys = list(found.values_list("pk", flat=True))
    rows = {row.id: row for row in _rows(Session.objects.filter(pk__in=keys).order_by())} if keys else {}
    return tuple(rows[key] for key in keys if key in rows)


def top_findings(ids: Sequence[int], each: int = 1) -> dict[int, tuple[TopFinding, ...]]:
    """The worst findings of these sessions, at most ``each``, in one query."""
    worst = Case(
        When(severity="blocked", safety="safe", then=0), When(severity="blocked", then=1),
        When(severity="at-risk", safety="safe", then=2), When(severity="at-risk", then=3), default=4,
    )  # fmt: skip
    rank = Window(RowNumber(), partition_by=F("session_id"), order_by=(worst, F("position"), F("id")))
    chosen = Finding.objects.filter(session__in=ids).annotate(rank=rank).filter(rank__lte=each)
    found: dict[int, list[TopFinding]] = {}
    columns = ("session_id", "rule", "severity", "safety", "line", "place", "parts", "messages", "details__error")
    for session, rule, severity, safety, line, place, parts, messages, error in chosen.order_by(
        "session_id", "rank"
    ).values_list(*columns):
        at = next(iter([*parts, *messages]), "")
        told = TopFinding(rule, severity, safety, line, place, at, str(error or ""))
        found.setdefault(session, []).append(told)
    return {session: tuple(findings) for session, findings in found.items()}


def session_detail(session_id: int) -> SessionDetail | None:
    """Everything a session's header shows, None where there is no such session."""
    found = _rows(Session.objects.filter(pk=session_id))
    if not found:
        return None
    (row,) = found
    family = Session.objects.filter(source=row.source_id)
    children = _rows(family.filter(parent_stored_id=row.stored_id).order_by("time_created", "id")[:50])
    parents = _rows(family.filter(stored_id=row.parent)[:1]) if row.parent else ()
    source = Source.objects.only("path", "stored_path").get(pk=row.source_id)
    safe = Finding.objects.filter(session=session_id, safety="safe").exclude(severity="info")
    return SessionDetail(
        row=row,
        source_path=source.file,
        verdicts=tuple(Verdict.objects.filter(session=session_id).order_by("-own", "protocol")),
        children=children,
        parent=parents[0] if parents else None,
        repair_count=Repair.objects.filter(session=session_id).count(),
        safe_count=safe.count(),
        safe_blocking=safe.filter(severity="blocked").count(),
        last_call=last_call(session_id),
    )


def first_blocked(wanted: SessionFilter, but: int | None = None) -> int | None:
    """The first blocked session of a filter, that one left out."""
    blocked = session_query(wanted.without("health").also(health=("blocked",)))
    others = blocked if but is None else blocked.exclude(pk=but)
    return others.values_list("pk", flat=True).first()


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The sessions before and after one in a list, and its number in it."""

    before: int | None
    after: int | None
    number: int
    total: int


def neighbours(wanted: SessionFilter, session_id: int) -> Neighbours | None:
    """Those of a session in the list it was opened from; None where it is not among its first 2,000."""
    order = list(session_query(wanted).values_list("pk", flat=True)[:_WALKED])
    if session_id not in order:
        return None
    at, last = order.index(session_id), len(order) - 1
    total = matching(wanted, by_health(wanted)) if len(order) == _WALKED else len(order)
    return Neighbours(order[at - 1] if at else None, order[at + 1] if at < last else None, at + 1, total)


def session_by_any_id(text: str) -> tuple[Place, ...]:
    """Places of an exact id: a session's, a message's, a part's, or a call id. Newest source first, at most ten."""
    wanted = text.strip()
    if not wanted or len(wanted) > 255:
        return ()
    newest = ("-session__source_id", "session_id")
    places = [
        Place(pk)
        for pk in Session.objects.filter(stored_id=wanted).order_by("-source_id").values_list("pk", flat=True)[:10]
    ]
    messages = Message.objects.filter(stored_id=wanted).order_by(*newest)
    places += [Place(session, wanted) for session in messages.values_list("session_id", flat=True)[:10]]
    parts = Part.objects.filter(stored_id=wanted).order_by(*newest)
    places += [Place(session, wanted) for session in parts.values_list("session_id", flat=True)[:10]]
    if not places:
        calls = Part.objects.filter(call_id=wanted).order_by(*newest, "position")
        seen: dict[int, str] = {}
        for session, part in calls.values_list("session_id", "stored_id")[:50]:
            seen.setdefault(session, part)
        places = [Place(session, part) for session, part in seen.items()]
    return tuple(dict.fromkeys(places))[:10]
