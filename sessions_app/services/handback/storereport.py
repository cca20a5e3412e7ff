"""What is wrong with a store as a whole: damage, rows that belong nowhere, sessions of which only events are left, what
stops an older client, what fills the file; and sessions that its client does not list (docs/damaged-stores.md,
docs/handing-back.md#hidden-sessions)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sessions_app.domain.model import SessionRows
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rules import Context, find_all
from sessions_app.domain.rules import Finding as Found
from sessions_app.ruletexts import rule_kind
from sessions_app.services.repair.bench import Bench, OpenStore
from sessions_app.services.repair.write import store_write
from sessions_app.stores.base import About, Store, StoreError
from sessions_app.stores.sqlite.damage import Check, quick_check
from sessions_app.stores.sqlite.events import Gone, gone_sessions
from sessions_app.stores.sqlite.inspection import ORPHAN_CAP, Orphans, Sizes, orphans, sizes, stopped_at_journal
from sessions_app.stores.sqlite.store import SqliteStore

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Finding, Session, Source

HIDING = (
    "hidden-project",
    "hidden-directory",
    "hidden-path",
    "hidden-archived",
    "hidden-generation",
    "dangling-child",
)
"""Rules about sessions that the client's list leaves out, or that hang in the air."""
STOPPED = (
    'An older client stopped here: clients of 1.18 up to 1.18.21 say "no such column: name", since the journal of'
    " migrations has no such column. Upgrade the client (1.18.33 opens it); do not delete the file."
)
WAY_OUT = "suture slim gives free pages and superseded events back, while every client is closed."
BLOATED = 20_000_000
"""Bytes of events and free pages that are worth a word."""
STORE_WIDE = (*HIDING, "orphan-row", "usage-counters-wrong", "sqlite-corrupt")
"""Rules whose findings are shown per source."""


@dataclass(frozen=True, slots=True)
class StoreFinding:
    """One fault of the store itself. ``rows`` are ids, up to a cap; ``count`` may be greater. ``remove`` says that they
    can be taken out."""

    rule: str
    severity: str
    summary: str
    table: str = ""
    rows: tuple[str, ...] = ()
    count: int = 0
    remove: bool = False

    def document(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "summary": self.summary,
            "table": self.table,
            "rows": list(self.rows[:100]),
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class StoreReport:
    """``check`` None: not a database. ``findings``: what no session shows. ``gone``: sessions that can be made anew
    from their events. ``sizes`` None: not measured."""

    check: Check | None
    findings: tuple[StoreFinding, ...] = ()
    strays: Orphans = field(default_factory=Orphans)
    gone: tuple[Gone, ...] = ()
    sizes: Sizes | None = None

    @property
    def orphans(self) -> list[StoreFinding]:
        return [finding for finding in self.findings if finding.rule == "orphan-row"]

    @property
    def stopped(self) -> str:
        """What stops an older client at this file, and what to do; "" = nothing that is known."""
        return next((finding.summary for finding in self.findings if finding.rule == "migration-stopped"), "")

    @property
    def filled_with(self) -> str:
        """What the file holds, in a sentence; "" where that was not measured."""
        return size_words(self.sizes) if self.sizes is not None else ""

    def document(self) -> dict[str, Any]:
        check = self.check
        return {
            "check": None if check is None else {"state": check.state, "messages": list(check.messages)},
            "findings": [finding.document() for finding in self.findings],
        }


def store_report(*, store: Store, seconds: float = 30.0) -> StoreReport:
    """Look at the store itself, within ``seconds`` for SQLite's check. What cannot be read makes no finding here."""
    if not isinstance(store, SqliteStore):
        return StoreReport(None)
    check = quick_check(store.path, seconds=seconds)
    found: list[StoreFinding] = []
    if check.state == "damaged":
        words = f"SQLite reports damage: {check.messages[0]}"
        hint = " Only indexes are damaged; they can be made anew from the rows." if check.only_indexes else ""
        found.append(StoreFinding("sqlite-corrupt", "at-risk", words + hint, count=len(check.messages)))
    strays = _unless_broken(lambda: orphans(store), Orphans())
    gone: tuple[Gone, ...] = _unless_broken(lambda: gone_sessions(store), ())
    known = _unless_broken(lambda: sizes(store), None)
    found += [*_strays(store, strays), *map(_gone, gone)]
    if _unless_broken(lambda: stopped_at_journal(store), False):
        found.append(StoreFinding("migration-stopped", "at-risk", STOPPED, "migration", count=1))
    if known is not None and _bloated(known):
        words = f"{size_words(known)} {WAY_OUT}" if check.state == "ok" else size_words(known)
        found.append(StoreFinding("event-log", "info", words, "event", count=known.event_rows))
    return StoreReport(check, tuple(found), strays, gone, known)


def _bloated(known: Sizes) -> bool:
    """Most of the file is neither sessions nor messages, and that is much."""
    return known.events + known.free > max(known.file // 2, BLOATED)


def size_words(known: Sizes) -> str:
    """What the file holds, in one sentence."""
    about = "about " if known.sampled else ""
    return (
        f"Of {_megabytes(known.file)} MB, {about}{_megabytes(known.events)} MB are the client's event log"
        f" ({known.event_rows:,} events) and {_megabytes(known.free)} MB free pages."
    )


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.{0 if size >= 10_000_000 else 1}f}"


def _unless_broken[T](look: Callable[[], T], instead: T) -> T:
    """A damaged file tells what it can."""
    try:
        return look()
    except StoreError:
        return instead


def _gone(one: Gone) -> StoreFinding:
    way = "suture adopt, with the file itself as --into, makes it anew" if one.told else "of the V2 line, so not read"
    words = f"The session {one.id} ({one.title[:80]}) has no row any more, but {one.events:,} events of it: {way}"
    return StoreFinding("session-gone", "at-risk", words, "event", (one.id,), one.events)


def strays_changes(*, store: Store) -> tuple[RowChange, ...]:
    """What takes the rows out that belong to no session at all: messages of sessions that are gone, parts of messages
    that are gone."""
    if not isinstance(store, SqliteStore):
        return ()
    lost = orphans(store)
    changes = []
    for table, ids in (("part", _lost_parts(store, lost)), ("message", lost.messages)):
        for row_id in ids:
            row = store.row(table, {"id": row_id})
            if row is not None:
                changes.append(RowChange(table, {"id": row_id}, row, None))
    return tuple(changes)


def strays_remove(*, store: Store, actor: str, now: datetime, reason: str = "") -> str:
    """Take them out; gives what ``undo`` takes, "" where there were none. Raises ``GuardRefused``, ``StoreError``:
    nothing was written."""
    changes = strays_changes(store=store)
    if not changes:
        return ""
    about = About(actor=actor, reason=reason or "rows that belong nowhere")
    return store_write(store=store, changes=changes, about=about, now=now).repair_id


def store_hidden(*, whole: OpenStore) -> Iterator[tuple[SessionRows, list[Found]]]:
    """A store's sessions that its client's list leaves out, with what says why."""
    for rows in whole.store.read_all():
        bench = Bench(rows, whole=whole)
        found = find_all(Context(bench.decoded, None, bench.facts), HIDING)
        if found:
            yield rows, found


def hidden_counts(*, source: Source) -> list[tuple[str, str, int]]:
    """(rule, title, sessions) for every store-wide rule that found something in the source's sessions."""
    from sessions_app.models import Finding

    rules = Finding.objects.filter(session__source=source, session__missing_since=None, rule__in=STORE_WIDE)
    counts = Counter(rule for rule, _ in set(rules.values_list("rule", "session_id")))
    return [(rule, rule_kind(rule), counts[rule]) for rule in STORE_WIDE if counts[rule]]


def hidden_sessions(*, source: Source, limit: int = 200) -> list[tuple[Session, list[Finding]]]:
    """The source's sessions that its client's list leaves out, newest first, with the findings that say why."""
    from sessions_app.models import Finding

    found = (
        Finding.objects.filter(session__source=source, session__missing_since=None, rule__in=HIDING)
        .select_related("session")
        .order_by("-session__time_updated", "session_id", "id")[: limit * 4]
    )
    grouped: dict[int, tuple[Session, list[Finding]]] = {}
    for finding in found:
        grouped.setdefault(finding.session_id, (finding.session, []))[1].append(finding)
    return list(grouped.values())[:limit]


def _lost_parts(store: SqliteStore, lost: Orphans) -> Sequence[str]:
    """Parts of messages that are gone, and those of the messages that go now."""
    parts = list(lost.parts)
    for message_id in lost.messages:
        parts += [row[0] for row in store.query("SELECT id FROM part WHERE message_id = ?", (message_id,))]
    return list(dict.fromkeys(parts))


def _strays(store: SqliteStore, lost: Orphans) -> list[StoreFinding]:
    kinds = (
        ("part", lost.parts, "parts belong to messages that are not stored", True),
        ("message", lost.messages, "messages belong to sessions that are not stored", True),
        ("session_message", lost.session_messages, "V2 rows belong to sessions that are not stored", False),
        ("session", lost.sessions_without_project, "sessions name a project that is not stored", False),
        ("todo", lost.todo_sessions, "sessions that are not stored have to-do rows", False),
    )
    found = []
    for table, ids, words, remove in kinds:
        if ids:
            many = f"{len(ids)} or more" if len(ids) >= ORPHAN_CAP else str(len(ids))
            found.append(
                StoreFinding("orphan-row", "at-risk", f"{many} {words}", table, tuple(map(str, ids)), len(ids), remove)
            )
    return found
