"""Reading one session from its store into the mirror, and scanning it with the rows at hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from sessions_app.domain import dialects, knownmodels, rowdoc, values
from sessions_app.domain.knownmodels import Models
from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowcodec import row_from_text
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import scan
from sessions_app.models import Session, Source, SourceMark, SourceProblem
from sessions_app.services.storefacts import session_facts, store_facts
from sessions_app.stores.base import Mark, Problem, Store, StoreError, fingerprint

from .counting import counted_as, counts_change, session_locked
from .mirror import projects_write, session_write
from .scanning import scan_is_current, scan_write, session_scan

BUSY = ("busy", "in-use")
"""Kinds of ``StoreError`` that pass by themselves."""


@dataclass(frozen=True, slots=True)
class Read:
    """The rows as they are stored, and whether the mirror's rows or findings had to follow."""

    rows: SessionRows
    changed: bool


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a refresh found. ``problem``: why the store could not be read now (what was imported before stays)."""

    changed: bool = False
    problem: str = ""


def session_refresh(*, session: Session, now: datetime, force: bool = False) -> Refresh:
    """Bring one session up to date at once: read it where it is not imported yet or where its source is live.

    Only this session is read, and nothing where the store's files are in the state of its last reading (``force``:
    read all the same). Nothing is written where its rows are those of the mirror and the rules those of the last scan.
    """
    source = session.source
    if not (source.live or session.pending or session.imported_at is None):
        return Refresh(session_scan(session=session, now=now))
    try:
        with source.open_store() as store:
            if not force and session_is_read(session, store):
                return Refresh()
            facts = store_facts(store=store, native=source.native, now=now, check=source.damage)
            return Refresh(session_read(session=session, store=store, facts=facts, now=now).changed)
    except StoreError as problem:
        return Refresh(problem=f"{problem.words} {problem.next_step}".strip())


def session_is_read(session: Session, store: Store) -> bool:
    """The mirror holds what the store's files hold, as far as their sizes and times tell, and was judged by it."""
    if session.pending or session.missing_since or not scan_is_current(session):
        return False
    state = reading_state(store, session.rows_hash)
    if not state or state != session.read_state:
        return False
    projects = [row_from_text(row) for row in session.source.projects.values_list("row", flat=True)]
    return models_are_known(session, store.models(session.stored_row, projects))


def reading_state(store: Store, rows_hash: str, files: str | None = None) -> str:
    """What a session is known by without reading it: the state of its store's files (``files``, None = as it is now)
    and the rows that were found in it. "" where the state tells nothing, so that it has to be read again."""
    files = store.file_state() if files is None else files
    return fingerprint(files, rows_hash) if files else ""


def session_read(*, session: Session, store: Store, facts: Facts, now: datetime) -> Read:
    """Read a session's rows, bring the mirror to them and scan them.

    Raises ``StoreError`` after noting on the session why it could not be read.
    """
    seen, files = len(store.problems), store.file_state()  # before the rows: a write in between is seen next time
    try:
        rows = store.read(stored_id(session))
    except StoreError as problem:
        _unreadable(session, problem, now)
        raise
    problems_write(session=session, problems=store.problems[seen:])
    rows_hash = rowdoc.rows_hash(rows)
    state = reading_state(store, rows_hash, files)
    same = session.imported_at is not None and session.rows_hash == rows_hash
    if same and scan_is_current(session) and models_are_known(session, rows.models):
        if session.pending or session.missing_since or session.read_state != state:
            Session.objects.filter(pk=session.pk).update(pending=False, missing_since=None, read_state=state)
        return Read(rows, changed=False)
    decoded = dialects.decode(rows)
    result = scan(decoded, facts=session_facts(facts, rows))
    with transaction.atomic():  # never new rows beside what was found in the old ones
        projects_write(source=session.source, rows=rows.projects)
        session_write(session=session, rows=rows, decoded=decoded, rows_hash=rows_hash, now=now)
        scan_write(session=session, decoded=decoded, result=result, now=now)
        Session.objects.filter(pk=session.pk).update(read_state=state)
    return Read(rows, changed=True)


def models_are_known(session: Session, models: Models) -> bool:
    """The client's configuration says what it said at the last scan; what was scanned by an older version of Suture
    has no word of it."""
    asked = bool(session.known_models) or not session.model
    return asked and knownmodels.is_same(models, session.known_models)


def source_mark(source: Source) -> Mark:
    """What its store held when it was last read, nothing where it never was. Raises ``ValueError``."""
    text = SourceMark.objects.filter(source=source).values_list("text", flat=True).first()
    return Mark.from_json(text) if text else Mark({})


def stored_id(session: Session) -> Any:
    """The id as the store has it: the column may be a shortened form, and a foreign file's ids need not be text."""
    return session.stored_row.get("id", session.stored_id)


def problems_write(*, session: Session, problems: Iterable[Problem]) -> None:
    """The problems of one session as its last reading met them."""
    _replace(session.source, session.stored_id, problems)


def source_problems_write(*, source: Source, problems: Iterable[Problem]) -> None:
    """The problems that listing met and that belong to no session."""
    _replace(source, "", [problem for problem in problems if not problem.session_id])


def _replace(source: Source, session_id: str, problems: Iterable[Problem]) -> None:
    SourceProblem.objects.filter(source=source, session_id_stored=session_id).delete()
    SourceProblem.objects.bulk_create(
        SourceProblem(
            source=source,
            session_id_stored=session_id,
            table=values.name(problem.where.partition(" ")[0]),
            row=values.name(problem.where.partition(" ")[2]),
            path=values.shown(problem.where),
            reason=values.shown(problem.reason),
        )
        for problem in problems
    )


def _unreadable(session: Session, problem: StoreError, now: datetime) -> None:
    """A session that is gone keeps its mirror; one that never could be read is unreadable."""
    if problem.kind in BUSY:
        return
    fields: dict[str, object] = {"pending": False, "error": values.shown(problem.words)}
    if problem.kind == "no-session":
        fields["missing_since"] = now
    elif session.imported_at is None:
        fields |= {
            "health": Session.Health.UNREADABLE,
            "health_rank": Session.RANK[Session.Health.UNREADABLE],
        }
        fields["reasons"] = [values.shown(problem.words)]
    with transaction.atomic():
        before = counted_as(session_locked(session))
        for name, value in fields.items():
            setattr(session, name, value)
        session.save(update_fields=fields)
        counts_change(source_id=session.source_id, gone=before, came=counted_as(session))
    problems_write(session=session, problems=[Problem(f"session {session.stored_id}", problem.words)])
