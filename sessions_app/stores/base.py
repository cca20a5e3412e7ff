"""What every store of sessions offers, and the ways it can refuse (architecture.md, "Stores").

A store reads rows as they are stored (``SessionRows``) and, where it can be written, changes them under a guard:
nothing is written unless every row is still what the plan saw (docs/contract/design.md#5.1, #5.2).
"""

from __future__ import annotations

import hashlib
import json
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from sessions_app.domain.knownmodels import NOTHING, Models
from sessions_app.domain.model import DialectName, Row, SessionRows
from sessions_app.domain.repair import RowChange

from .changes import after_key, check_told, guarded, netted, same_row
from .clientconfig import ClientConfiguration
from .ground import About, Applied, ErrorKind, Hook, Problem, Standing, StoreError, StoreKind, no_hook, real_place
from .holders import Holder
from .journal import Journal
from .undisturbed import undisturbed

__all__ = [
    "About",
    "Applied",
    "Changes",
    "ErrorKind",
    "Hook",
    "Mark",
    "Problem",
    "Store",
    "StoreError",
    "StoreKind",
    "files_state",
    "fingerprint",
    "no_hook",
]


@dataclass(frozen=True, slots=True)
class Mark:
    """What a store held at one time: session id -> fingerprint. Kept between syncs as JSON text.

    ``files`` says in what state the store's files were, "" where that is not known for sure.
    """

    sessions: Mapping[str, str]
    files: str = ""

    def to_json(self) -> str:
        return json.dumps({"files": self.files, "sessions": dict(self.sessions)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Mark:
        value = json.loads(text)
        if not isinstance(value, dict) or not isinstance(value.get("sessions"), dict):
            raise ValueError("not a mark")
        return cls({str(key): str(found) for key, found in value["sessions"].items()}, str(value.get("files", "")))


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between a mark and now: new or changed sessions (newest first), sessions that are gone, and the new
    mark."""

    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    mark: Mark


_SETTLED_SECONDS = 2.0


def fingerprint(*values: object) -> str:
    """Short hex digest of values that tell one state of a session from another."""
    return hashlib.blake2b(repr(values).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def files_state(main: Path, *beside: Path) -> str:
    """Which file a store's ``main`` is, its size and times, and those of the files beside it, as one fingerprint; ""
    while the newest is younger than two seconds.

    The time of the last change of the main file's facts is among them: nobody can set that back. SQLite changes facts
    of the files beside when root opens them.
    """
    facts: list[object] = []
    for path in (main, *beside):
        try:
            found = path.stat()
        except OSError:
            found = None
        if found is None or not found.st_size:  # an empty WAL comes and goes whenever somebody looks
            facts.append(None)
            continue
        times = found.st_mtime_ns, found.st_ctime_ns if path == main else 0
        if any(abs(time.time_ns() - one) < _SETTLED_SECONDS * 1e9 for one in times):
            return ""
        facts.append((found.st_dev, found.st_ino, found.st_size, *times))
    return fingerprint(*facts)


def disk_sizes(path: Path) -> tuple[int, int] | None:
    """Bytes of a file and of its write-ahead log; None of a folder, or where it is gone."""
    wal = path.with_name(f"{path.name}-wal")
    try:
        facts = path.stat()
        logged = wal.stat().st_size if wal.is_file() else 0
    except OSError:
        return None
    return None if stat.S_ISDIR(facts.st_mode) else (facts.st_size, logged)


def used(session_id: object, version: object, updated: object) -> tuple[str, str, int]:
    """A line of ``Store.last_used``, whatever its row holds."""
    return (
        str(session_id),
        version if isinstance(version, str) else "",
        updated if isinstance(updated, int) else 0,
    )


class Store(ABC):
    """Sessions of one source. Not shared between threads. ``path`` is the file or folder itself, whatever link led to
    it: a link that is turned elsewhere meanwhile changes nothing."""

    kind: StoreKind
    writable: bool = False
    transactional: bool = False
    """A write is done as a whole or not at all, so that one row tells whether it happened."""
    restoring: bool = False
    """The write at hand takes an earlier one back, so rows may again belong nowhere, as they did before it."""

    def __init__(self, path: Path) -> None:
        self.path = real_place(path)
        self.problems: list[Problem] = []
        self._held = ExitStack()
        self.configuration: ClientConfiguration | None = None
        """The client's own, where the store lies in its place."""
        self.input: tuple[str, ...] | None = None
        """The input modalities of every model, as somebody says."""

    def on_close(self, action: Callable[[], object]) -> None:
        """Have something done when the store is closed."""
        self._held.callback(action)

    @property
    @abstractmethod
    def dialects(self) -> tuple[DialectName, ...]:
        """The dialects that rows were found of."""

    @abstractmethod
    def sessions(self) -> Iterator[Row]:
        """Session rows only, newest first."""

    def session_ids(self) -> list[str]:
        """The ids of all sessions, newest first, without reading more of their rows than that takes."""
        return [row["id"] for row in self.sessions()]

    def sizes(self) -> Mapping[Any, int]:
        """About how many characters the rows of sessions have, by id, as far as that is known without reading them."""
        return {}

    def last_used(self) -> list[tuple[str, str, int]]:
        """Of every session its id, the version it names ("" = none) and when it was last changed (ms), newest first."""
        return [used(row["id"], row.get("version"), row.get("time_updated")) for row in self.sessions()]

    def read(self, session_id: str) -> SessionRows:
        """All rows of one session, with what is known of its models. Raises ``StoreError`` ("no-session") where the
        store has no such session."""
        rows = self.stored(session_id)
        known = self.models(rows.session, rows.projects)
        return rows if known is NOTHING else replace(rows, models=known)

    def models(self, session: Row, projects: list[Row]) -> Models:
        """What is known now of the models of a session with these rows, from outside the store's files."""
        known = self.configuration.models(session, projects) if self.configuration else NOTHING
        return known if self.input is None else replace(known, input=self.input)

    @abstractmethod
    def stored(self, session_id: str) -> SessionRows:
        """``read`` without what the store's files do not say."""

    @abstractmethod
    def mark(self) -> Mark:
        """The present state, for a later ``changed_since``."""

    def mark_of(self, session_id: Any) -> str:
        """What ``mark`` says of one session, "" where the store tells it of all at once only."""
        return ""

    @abstractmethod
    def row(self, table: str, key: Mapping[str, Any]) -> Row | None:
        """The row with these key columns as it is stored now, None where there is none."""

    def read_all(self) -> Iterator[SessionRows]:
        """Every session, newest first, one in memory at a time; what cannot be read goes to ``problems``."""
        for row in self.sessions():
            session_id = row["id"]
            try:
                yield self.read(session_id)
            except StoreError as error:
                self.problems.append(Problem(f"session {session_id}", error.words, "sqlite-corrupt", str(session_id)))

    def changed_since(self, mark: Mark) -> Changes:
        """Sessions that are new, changed or gone since ``mark`` was taken. Files that nobody wrote to are not read."""
        if mark.files and mark.files == self.file_state():
            return Changes((), (), mark)
        now = self.mark()
        changed = tuple(key for key, value in now.sessions.items() if mark.sessions.get(key) != value)
        deleted = tuple(key for key in mark.sessions if key not in now.sessions)
        return Changes(changed, deleted, now)

    def file_state(self) -> str:
        """A fingerprint that changes when the store's files are written; "" where one was written so recently that the
        file times could not tell another write, or where there are no such files."""
        return ""

    def holders(self) -> list[Holder]:
        """Other processes that have the store's files open (best effort)."""
        return []

    def apply(
        self,
        changes: Sequence[RowChange],
        *,
        journal: Journal | None,
        about: About | None = None,
        expect: Mapping[str, str] | None = None,
        at: Hook = no_hook,
    ) -> Applied:
        """Write row changes, all or nothing, and keep a durable restore point in ``journal`` first.

        Without a journal no restore point is kept: for copies only. ``expect`` is session id -> ``rowdoc.rows_hash``
        that the session must still have. Raises ``GuardRefused`` (nothing written) with what changed, ``StoreError``
        where the store cannot be written.
        """
        if not self.writable:
            raise StoreError(
                "read-only",
                self.path,
                "What came by a pipe or in an archive cannot be written in place.",
                "Give --output a file name.",
            )
        about = about or About()
        self.restoring = bool(about.undoes)
        net = netted(changes)
        if not self.restoring:
            check_told(net)
        guarded(net, self.row)
        if not net:
            return Applied("", (), 0.0)
        net = self._as_stored(net)
        at("before-journal")
        if journal is None:
            return Applied("", net, self._write(net, expect or {}, at))
        with journal.writing(self, net, about) as entry:
            at("prepared")
            with undisturbed():
                seconds = self._write(net, expect or {}, at)
                at("committed")
                # The rows are written. Where the journal's disk is full now, the entry stays "prepared", which the next
                # start settles by the rows; it must not become "failed".
                with suppress(OSError):
                    journal.commit(entry.id, at)
        at("marked")
        return Applied(entry.id, net, seconds)

    def _as_stored(self, net: tuple[RowChange, ...]) -> tuple[RowChange, ...]:
        """The changes with each ``after`` as it will read back: files have no columns for some times, and take them
        from elsewhere."""
        return net

    @abstractmethod
    def _write(self, net: Sequence[RowChange], expect: Mapping[str, str], at: Hook) -> float:
        """Write folded changes, all or nothing; returns the seconds that others had to wait."""

    def standing(self, changes: Sequence[RowChange], hashes: Mapping[str, tuple[str, str]]) -> Standing:
        """Whether a write of ``changes`` that was interrupted has happened. ``hashes``: as ``About.hashes``."""
        old = new = 0
        for change in changes:
            before = self.row(change.table, change.key)
            if same_row(before if change.after is None else self.row(change.table, after_key(change)), change.after):
                new += 1
            elif same_row(before, change.before):
                old += 1
        if self.transactional:
            # One row tells; the others may have been changed by the client since.
            return "new" if new else "old" if old else "unclear"
        if old and new:
            return "mixed"
        return "new" if new else "old" if old else "unclear"

    def put_back(self, changes: Sequence[RowChange]) -> None:
        """Bring rows that a crash left half written back to their ``before`` (stores of several files only)."""
        raise StoreError("read-only", self.path, f"A store of this kind ({self.kind}) is never left half written.")

    def close(self) -> None:
        """Let go of files and handles."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
