"""A store in one look, to be read and to be sent to whoever supports it: how large, by what, in which state, and what
to do next (docs/commands.md#doctor).

Nothing private is in it: no titles, no words of a conversation, no ids, and the home folder as ~.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from json import loads
from pathlib import Path
from typing import Any

from sessions_app import stores
from sessions_app.domain.values import shown
from sessions_app.domain.versions import numbers
from sessions_app.pool import over
from sessions_app.stores import replacing
from sessions_app.stores.base import Store, StoreError
from sessions_app.stores.holders import Holder
from sessions_app.stores.locations import databases_in
from sessions_app.stores.sqlite.inspection import sizes
from sessions_app.stores.sqlite.store import SqliteStore

from .filescan import Asked, failed, scanner
from .handback.storereport import BLOATED, HIDING, StoreReport, store_report
from .storefacts import QUICK_SECONDS, facts_apart, is_native, store_facts

HEALTHS = ("blocked", "unreadable", "at-risk", "healthy")
_BESIDE = {"snapshots": "snapshot", "tool_output": "tool-output", "logs": "log"}
"""Folders that the client keeps beside its database (docs/contract/formats.md#a1)."""

_QUOTED = re.compile('".*"')
"""What the words about a file that is none quote of it."""


@dataclass(frozen=True, slots=True)
class Space:
    """What takes the space, in bytes. ``rows``: sessions, messages, parts and what belongs to them; ``events`` and
    ``free`` as ``inspection.Sizes``; ``kept``: old files that slimming left; the rest are folders beside the store."""

    rows: int = 0
    events: int = 0
    free: int = 0
    wal: int = 0
    kept: int = 0
    snapshots: int = 0
    tool_output: int = 0
    logs: int = 0


@dataclass(frozen=True, slots=True)
class States:
    """Sessions by health; how many the client does not list (``hidden``), and of how many the last call was refused."""

    health: Mapping[str, int]
    hidden: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Checkup:
    """One store. ``problem``: why it cannot be read; ``versions``: client version -> sessions it made; ``found``:
    faults of the store itself, rule -> how many; ``next``: command and reason."""

    path: str
    kind: str
    native: bool
    problem: str
    dialects: tuple[str, ...]
    versions: Mapping[str, int]
    states: States
    space: Space
    found: Mapping[str, int]
    in_use: tuple[str, ...]
    next: tuple[tuple[str, str], ...]

    @property
    def sessions(self) -> int:
        return sum(self.versions.values())

    def document(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("path", "kind", "native", "problem", "sessions")},
            "dialects": list(self.dialects),
            "versions": dict(self.versions),
            "health": dict(self.states.health),
            "hidden": self.states.hidden,
            "refused": self.states.refused,
            "space": asdict(self.space),
            "found": dict(self.found),
            "in_use": list(self.in_use),
            "next": [{"command": command, "why": why} for command, why in self.next],
        }


def store_states(
    *, store: Store, now: datetime, jobs: int = 0, told: Callable[[int, int], object], say: Callable[[str], object]
) -> States:
    """Scan every session of a store."""
    facts = store_facts(store=store, native=is_native(store.path), now=now)
    asked = Asked(facts_apart(facts), "", "auto", "", named=False, healthy=True)
    ids = store.session_ids()
    health: Counter[str] = Counter()
    hidden = refused = 0
    scans = over(store, ids, scanner, asked, lost=lambda _, words: failed(words), jobs=jobs, say=say)
    for done, scanned in enumerate(scans, 1):
        health[scanned.health] += 1
        rules = {one["rule"] for one in loads(scanned.document)["findings"]} if scanned.document else set()
        hidden += not rules.isdisjoint(HIDING)
        refused += "last-call-refused" in rules
        told(done, len(ids))
    return States({name: health[name] for name in HEALTHS}, hidden, refused)


def checkup(*, path: Path, kind: str | None = None, look: Callable[[Store], States]) -> Checkup:
    """A store as it is now. ``look`` tells the states of its sessions: by a scan, or as they were scanned last."""
    try:
        with stores.open_store(path, kind) as store:
            return examined(store, look(store), store_report(store=store, seconds=QUICK_SECONDS))
    except StoreError as problem:
        damaged = problem.kind == "corrupt"
        steps = ((f"suture recover {_named(path)} saved.db", "it is damaged"),) if damaged else ()
        words = _QUOTED.sub('"..."', f"{problem.words} {problem.next_step}".strip())
        space = _space(path, Space(rows=_size(path), wal=_size(Path(f"{path}-wal"))))
        return Checkup(shortened(path), "", False, words, (), {}, States({}), space, {}, (), steps)


def examined(store: Store, states: States, report: StoreReport) -> Checkup:
    """An open store. ``report``: what was found in it. Raises ``StoreError``."""
    versions = Counter(shown(version, 40) or "unknown" for _, version, _ in store.last_used())
    known = Space(rows=store.path.stat().st_size if store.path.is_file() else _folder(store.path))
    if isinstance(store, SqliteStore):
        held = report.sizes or sizes(store)
        rows = max(held.file - held.events - held.free, 0)
        known = Space(rows, held.events, held.free, _size(Path(f"{store.path}-wal")))
    space = _space(store.path, known)
    found = {finding.rule: finding.count for finding in report.findings if finding.rule != "event-log"}
    return Checkup(
        path=shortened(store.path),
        kind=store.kind,
        native=is_native(store.path),
        problem="",
        dialects=store.dialects,
        versions=dict(sorted(versions.items(), key=lambda one: numbers(one[0]), reverse=True)),
        states=states,
        space=space,
        found=found,
        in_use=tuple(_program(one) for one in store.holders()),
        next=tuple(_steps(store, states, space, found)),
    )


def _steps(store: Store, states: States, space: Space, found: Mapping[str, int]) -> list[tuple[str, str]]:
    """The next command for each thing that is not as it should be, the gravest first."""
    name, steps = _named(store.path), []
    if "sqlite-corrupt" in found:
        steps.append((f"suture recover {name} saved.db", "SQLite reports damage"))
    if bad := states.health.get("blocked", 0):
        steps.append((f"suture repair {name}", f"{_counted(bad)} blocked"))
    if risky := states.health.get("at-risk", 0) + states.health.get("unreadable", 0):
        steps.append((f"suture scan {name}", f"{_counted(risky)} at risk or unreadable"))
    if "session-gone" in found:
        steps.append((f"suture adopt {name} --into {name}", "of some sessions only events are left"))
    if states.hidden:
        steps.append((f"suture relink {name}", f"{_counted(states.hidden)} not listed by the client"))
    if store.kind == "storage" and (beside := databases_in(store.path.parent)):
        into = f"suture adopt {name} --into {_named(beside[0])}"
        steps.append((f"{into} --dry-run", "the client reads the database beside it, not this tree"))
    if space.events + space.free > max((space.rows + space.events + space.free) // 2, BLOATED):
        steps.append((f"suture slim {name}", "most of it is event log and free pages"))
    if space.kept:
        steps.append((f"suture slim {name} --forget-old", "the old file of a slimming still takes space"))
    return steps


def shortened(path: Path) -> str:
    """A path that does not tell whose it is: the home folder is ~."""
    text, home = str(path), str(Path.home())
    return f"~{text[len(home) :]}" if text.startswith(f"{home}{os.sep}") else text


def _named(path: Path) -> str:
    """The path as a shell takes it, still without the home folder's name."""
    text = shortened(path)
    return f"~/{shlex.quote(text[2:])}" if text.startswith("~/") else shlex.quote(text)


def _counted(count: int) -> str:
    return f"{count:,} session is" if count == 1 else f"{count:,} sessions are"


def _program(one: Holder) -> str:
    """A program by its name, without what it was called with."""
    name = "opencode" if one.is_client else Path(one.command.split(" ")[0] or "a process").name
    return f"{name} ({one.pid})"


def _space(path: Path, known: Space) -> Space:
    """``known`` with what lies beside the store; a store that is nobody's data directory has no folders of its own."""
    kept = sum(_size(file) for file in replacing.kept_files(path)) if path.is_file() else 0
    beside = {name: _folder(path.parent / folder) for name, folder in _BESIDE.items()} if _at_home(path) else {}
    return Space(known.rows, known.events, known.free, known.wal, kept, **beside)


def _at_home(path: Path) -> bool:
    return is_native(path) or path.parent.name in ("opencode", "kilo", "mimocode")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _folder(path: Path) -> int:
    """Bytes of all files below; links are not followed."""
    found = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                found += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return found
