"""Real-shaped opencode databases of any size: ``python -m bench.shaped OUT.db --size mid``.

Usage counters add up, reasoning is the session's own provider's and signed where that provider signs, ids are unique,
sizes of sessions and outputs are spread as in real stores. The same options give the same rows.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench.damage import READABLE, damage
from bench.madesession import PROJECTS, VERSION, MadeSession, Row, project
from bench.wording import wording
from tests.factories.bigstore import START, schema, stored_id

SIZES = {"small": 20, "mid": 400, "big": 2_000}
"""Sessions; mid is about 220 MB, big 1.1 GB."""
_COLUMNS = {
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "message_id", "session_id", "time_created", "time_updated", "data"),
    "event": ("id", "aggregate_id", "seq", "type", "data"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """``damaged`` is a share of ``sessions``; ``long`` adds a session of that many parts each, ``outputs`` a session
    with one output of that many characters each; ``faults`` damages each added one so many times in ways that leave
    every row readable; ``events`` writes the event log too, which doubles the file."""

    sessions: int = SIZES["mid"]
    damaged: float = 0.0
    long: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    faults: int = 0
    events: bool = False
    seed: int = 1


@dataclass(slots=True)
class Store:
    """What was written: ids of all sessions, oldest first; of the damaged ones with the way; of the added ones."""

    path: Path
    ids: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    messages: int = 0
    parts: int = 0


def make_shaped(path: Path, shape: Shape) -> Store:
    """Write a new database; the file must not be there yet. Raises ``FileExistsError``."""
    if path.exists():
        raise FileExistsError(path)
    store = Store(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + schema(VERSION) + "BEGIN;")
        connection.executemany(
            "INSERT INTO project (id, worktree, vcs, time_created, time_updated, sandboxes)"
            " VALUES (?, ?, 'git', ?, ?, '[]')",
            [(*project(at), START, START) for at in range(PROJECTS)],
        )
        for made in _sessions(shape, store):
            _write(connection, made, shape)
            store.messages += len(made.messages)
            store.parts += len(made.parts)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    return store


def _sessions(shape: Shape, store: Store) -> Iterator[MadeSession]:
    words = wording(shape.seed)
    added = [(parts, 0) for parts in shape.long] + [(40, output) for output in shape.outputs]
    whole = shape.sessions + len(added)
    hurt = set(random.Random(shape.seed).sample(range(shape.sessions), round(shape.sessions * shape.damaged)))
    parent: str | None = None
    for number in range(whole):
        parts, output = added[number - shape.sessions] if number >= shape.sessions else (0, 0)
        sub = parent is not None and not parts and number % 12 == 11
        made = MadeSession(words, shape.seed, number, whole, parts, output, parent if sub else None)
        parent = parent if sub else made.id
        store.ids.append(made.id)
        if parts:
            store.added.append(made.id)
        if number in hurt:
            store.damaged[made.id] = damage(made, made.dice)
        for _ in range(shape.faults if parts else 0):
            store.damaged[made.id] = damage(made, made.dice, READABLE)
        yield made


def _write(connection: sqlite3.Connection, made: MadeSession, shape: Shape) -> None:
    _insert(connection, "session", tuple(made.session), [tuple(made.session.values())])
    for table, rows in (("message", made.messages), ("part", made.parts)):
        columns = _COLUMNS[table]
        _insert(connection, table, columns, ((*tuple(row.values())[:-1], _json(row["data"])) for row in rows))
    events = _events(made)
    seq = len(events) - 1
    connection.execute("INSERT INTO event_sequence (aggregate_id, seq) VALUES (?, ?)", (made.id, seq))
    if shape.events:
        logged = ((_event_id(made, at), made.id, at, kind, _json(data)) for at, (kind, data) in enumerate(events))
        _insert(connection, "event", _COLUMNS["event"], logged)


def _events(made: MadeSession) -> list[tuple[str, Row]]:
    """The log that leads to these rows, shortened: each row as it came to be, tools running before they are done."""
    info = {"id": made.id, "projectID": made.session["project_id"], "title": made.session["title"], "version": VERSION}
    events: list[tuple[str, Row]] = [("session.created.1", {"sessionID": made.id, "info": info})]
    for row in made.messages:
        data = {"id": row["id"], "sessionID": made.id, **row["data"]}
        events.append(("message.updated.1", {"sessionID": made.id, "info": data}))
    for row in made.parts:
        data = {"id": row["id"], "sessionID": made.id, "messageID": row["message_id"]}
        data |= row["data"] if isinstance(row["data"], dict) else {}
        if data.get("type") == "tool":
            state = {"status": "running", "input": data["state"]["input"], "time": {"start": row["time_created"]}}
            events.append(("message.part.updated.1", {"sessionID": made.id, "part": {**data, "state": state}}))
        events.append(("message.part.updated.1", {"sessionID": made.id, "part": data, "time": row["time_updated"]}))
    return events


def _event_id(made: MadeSession, at: int) -> str:
    return stored_id("evt", made.start + at, 1, made.number * 10_000_000 + at)


def _insert(connection: sqlite3.Connection, table: str, columns: tuple[str, ...], rows: Iterable[Any]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.shaped", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--sessions", type=int, help="in place of the size's number")
    parser.add_argument("--damaged", type=float, default=0.0, metavar="SHARE", help="0.05: each twentieth")
    parser.add_argument(
        "--long", type=int, action="append", default=[], metavar="PARTS", help="add a session of so many"
    )
    parser.add_argument(
        "--output", type=int, action="append", default=[], metavar="SIZE", help="add one with such output"
    )
    parser.add_argument("--faults", type=int, default=0, help="damage each added session so many times")
    parser.add_argument("--events", action="store_true", help="write the event log too")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    sessions = SIZES[asked.size] if asked.sessions is None else asked.sessions
    shape = Shape(
        sessions, asked.damaged, tuple(asked.long), tuple(asked.output), asked.faults, asked.events, asked.seed
    )
    store = make_shaped(asked.out, shape)
    sys.stdout.write(
        f"{asked.out}: {len(store.ids):,} sessions ({len(store.damaged)} damaged), {store.messages:,} messages,"
        f" {store.parts:,} parts, {asked.out.stat().st_size / 1e6:,.0f} MB\n"
    )
    for stored in store.added:
        sys.stdout.write(f"  added {stored}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
