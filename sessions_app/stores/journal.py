"""Durable restore points: every write to an attached store is told here first (docs/contract/design.md#5.2, #5.3).

An entry is one JSON file with the rows before and after. It is on disk before the first row is written, so that
after a crash the rows themselves tell whether the write happened: ``recover`` compares and says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sessions_app.domain.model import Row, owner
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.rowcodec import unwrapped_row, wrapped_row

from .atomic import write_atomic
from .ground import About, Hook, Journaled, StoreError, StoreKind, no_hook

type EntryState = Literal["prepared", "committed", "undone", "failed"]
"""prepared: written down, outcome unknown yet; committed: the rows are written; failed: nothing was written;
undone: taken back by a later entry (which names it in ``undoes``)."""


def new_public_id() -> str:
    """What people name a repair by; sorts by time, as the journal's entries do."""
    return f"rep_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(5)}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One repair of one store. ``identity`` tells a file from another later put in its place (inode and size are facts
    of that day)."""

    id: str
    path: str
    kind: StoreKind
    state: EntryState
    changes: tuple[RowChange, ...]
    session_ids: tuple[str, ...]
    hashes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    actor: str = ""
    reason: str = ""
    undoes: str = ""
    undone_by: str = ""
    backup: str = ""
    failure: str = ""
    identity: Mapping[str, Any] = field(default_factory=dict)
    prepared_at: str = ""
    finished_at: str = ""

    @property
    def inverse(self) -> tuple[RowChange, ...]:
        """The changes that take this repair back."""
        return inverted(self.changes)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a write that a crash interrupted. ``state``: old (nothing was written), new (all of it was),
    unclear (others changed the rows since), unreadable (the store cannot be looked at now; the next start tries again).
    """

    entry: Entry
    state: Literal["old", "new", "unclear", "unreadable"]
    words: str


class Journal:
    """The restore points in one directory (mode 0700; entries 0600). ``clock`` gives the time, aware, in UTC."""

    def __init__(self, directory: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.directory = directory
        self.clock = clock
        self.unreadable: list[tuple[Path, str]] = []

    def prepare(self, store: Journaled, changes: Sequence[RowChange], about: About | None = None) -> Entry:
        """Write the restore point down; durable on return."""
        about = about or About()
        entry = Entry(
            id=about.repair_id or self._new_id(),
            path=str(store.path.absolute()),  # the next start may be in another directory
            kind=store.kind,
            state="prepared",
            changes=tuple(changes),
            session_ids=_session_ids(changes),
            hashes=dict(about.hashes),
            actor=about.actor,
            reason=about.reason,
            undoes=about.undoes,
            backup=about.backup,
            identity=_identity(store.path),
            prepared_at=self.clock().isoformat(),
        )
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._file(entry.id).exists():
            raise FileExistsError(f"the journal has an entry {entry.id} already")
        self._save(entry)
        return entry

    @contextmanager
    def writing(self, store: Journaled, changes: Sequence[RowChange], about: About | None = None) -> Iterator[Entry]:
        """A prepared entry, locked while it is written so that another process's ``recover`` leaves it alone.

        An exception inside means that nothing was written: the entry becomes "failed". A killed process leaves it
        "prepared".
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock(exclusive=False):
            entry = self.prepare(store, changes, about)
            try:
                yield entry
            except Exception as error:
                if self.get(entry.id).state == "prepared":
                    self.fail(entry.id, str(error))
                raise

    def commit(self, entry_id: str, at: Hook = no_hook) -> Entry:
        """The rows are written. Where the entry undoes another one, that one becomes "undone"; killed in between,
        ``recover`` makes it so."""
        entry = self._finish(entry_id, "committed")
        at("told")
        self._mark_undone(entry)
        return entry

    def _mark_undone(self, entry: Entry) -> bool:
        """Whether there was anything to mark."""
        if not entry.undoes:
            return False
        try:
            undone = self.get(entry.undoes)
        except KeyError:
            return False
        if undone.state not in ("prepared", "committed"):
            return False
        self._save(replace(undone, state="undone", undone_by=entry.id))
        return True

    def fail(self, entry_id: str, why: str = "") -> Entry:
        """Nothing was written."""
        return self._finish(entry_id, "failed", failure=why)

    def get(self, entry_id: str) -> Entry:
        """Raises ``KeyError`` where there is no such entry."""
        path = self._file(entry_id)
        try:
            return _decode(path.read_text("utf-8"))
        except FileNotFoundError:
            raise KeyError(entry_id) from None

    def entries(self) -> Iterator[Entry]:
        """Every entry, oldest first; files that are no entries are listed in ``unreadable``."""
        self.unreadable.clear()
        for path in sorted(self.directory.glob("rep_*.json")):
            try:
                yield _decode(path.read_text("utf-8"))
            except (ValueError, KeyError, TypeError, OSError) as error:
                self.unreadable.append((path, str(error)))

    def recover(self, opener: Callable[[Path, StoreKind], Journaled]) -> list[Recovery]:
        """Settle what a crash interrupted; to be called at start. Returns nothing while another process is writing.

        ``opener(path, kind)`` opens the store. A storage folder that was left half written (its files are written one
        by one) is put back to the old state.
        """
        if not self.directory.is_dir():
            return []
        with self._lock(exclusive=True) as free:
            if not free:
                return []
            for leftover in self.directory.glob(".rep_*.tmp"):  # nobody writes now: a killed process left it
                leftover.unlink(missing_ok=True)
            settled = [self._settle(entry, opener) for entry in self._left("prepared")]
            return settled + [
                Recovery(entry, "new", f"The undo of repair {entry.undoes} was written; the journal says so now too.")
                for entry in self._left("committed")
                if entry.undoes and self._mark_undone(entry)
            ]

    def prune(self, *, newest: int, oldest: datetime, dry_run: bool = False) -> list[Entry]:
        """Delete restore points that are not kept, and give them without their rows: of repairs that were taken back or
        never written, and those finished before ``oldest``; of each store the ``newest`` so many stay whatever they
        are, and what is unsettled stays too. Nothing while another process is writing."""
        if not self.directory.is_dir():
            return []
        with self._lock(exclusive=True) as free:
            if not free:
                return []
            due = []
            seen: dict[str, int] = {}
            for entry in reversed([replace(entry, changes=()) for entry in self.entries()]):
                rank = seen[entry.path] = seen.get(entry.path, 0) + 1
                old = (entry.finished_at or entry.prepared_at) < oldest.isoformat()
                if rank > newest and (entry.state in ("undone", "failed") or (entry.state == "committed" and old)):
                    due.append(entry)
            for entry in due if not dry_run else ():
                self._file(entry.id).unlink(missing_ok=True)
            return due

    def _left(self, state: EntryState) -> list[Entry]:
        """The entries in this state, oldest first, of committed ones the undos alone."""
        return [entry for entry in self.entries() if entry.state == state and (state == "prepared" or entry.undoes)]

    def _settle(self, entry: Entry, opener: Callable[[Path, StoreKind], Journaled]) -> Recovery:
        try:
            with opener(Path(entry.path), entry.kind) as store:
                state = store.standing(entry.changes, entry.hashes)
                if state == "mixed":
                    store.put_back(entry.changes)
                    state = store.standing(entry.changes, entry.hashes)
        except StoreError as error:
            return Recovery(
                entry, "unreadable", f"The write was interrupted and the store cannot be read now: {error.words}"
            )
        what = f"Repair {entry.id} of {entry.path}"
        if state == "new":
            return Recovery(
                self.commit(entry.id),
                "new",
                f"{what} was interrupted after it was written: the file has the new state.",
            )
        if state == "old":
            entry = self.fail(entry.id, "interrupted before anything was written")
            return Recovery(entry, "old", f"{what} was interrupted before it was written: the file has the old state.")
        return Recovery(
            entry,
            "unclear",
            f"{what} was interrupted, and its rows were changed by others since. The restore point is kept.",
        )

    def _finish(self, entry_id: str, state: EntryState, failure: str = "") -> Entry:
        entry = replace(self.get(entry_id), state=state, failure=failure, finished_at=self.clock().isoformat())
        self._save(entry)
        return entry

    def _save(self, entry: Entry) -> None:
        write_atomic(self._file(entry.id), _encode(entry).encode("ascii"))

    def _file(self, entry_id: str) -> Path:
        if not entry_id.startswith("rep_") or not entry_id.removeprefix("rep_").replace("-", "").isalnum():
            raise KeyError(entry_id)
        return self.directory / f"{entry_id}.json"

    def _new_id(self) -> str:
        """Sorts by time."""
        return f"rep_{int(self.clock().timestamp() * 1000):012x}{secrets.token_hex(5)}"

    @contextmanager
    def _lock(self, *, exclusive: bool) -> Iterator[bool]:
        """Writers share the lock, recovery needs it alone; the system lets it go when a process dies. Yields whether it
        was got."""
        handle = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(handle)


def _session_ids(changes: Sequence[RowChange]) -> tuple[str, ...]:
    found = []
    for change in changes:
        session_id = owner(change.table, change.before if change.before is not None else change.after or {})
        if isinstance(session_id, str):
            found.append(session_id)
    return tuple(dict.fromkeys(found))


def _identity(path: Path) -> dict[str, Any]:
    try:
        facts = path.stat()
    except OSError:
        return {}
    return {"inode": facts.st_ino, "device": facts.st_dev, "size": facts.st_size}


def _encode(entry: Entry) -> str:
    value = {name: getattr(entry, name) for name in Entry.__slots__}
    value["changes"] = [
        {"table": c.table, "key": wrapped_row(c.key), "before": _out(c.before), "after": _out(c.after)}
        for c in entry.changes
    ]
    return json.dumps({"journal": 1, **value}, indent=1)


def _decode(text: str) -> Entry:
    value = json.loads(text)
    if not isinstance(value, dict) or value.pop("journal", None) != 1:
        raise ValueError("not a journal entry")
    changes = tuple(
        RowChange(c["table"], unwrapped_row(c["key"]), _in(c["before"]), _in(c["after"])) for c in value.pop("changes")
    )
    hashes = {key: (before, after) for key, (before, after) in value.pop("hashes").items()}
    return Entry(changes=changes, session_ids=tuple(value.pop("session_ids")), hashes=hashes, **value)


def _out(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else wrapped_row(row)


def _in(row: dict[str, Any] | None) -> Row | None:
    return None if row is None else unwrapped_row(row)
