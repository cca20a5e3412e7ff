"""What nothing can beat: each row read once by sqlite3 as bytes and its JSON parsed once by msgspec; a plain SQL copy
of the rows with the mirror's own indexes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from bench.running import Cost

type Statements = tuple[str, ...]

TABLES: Statements = (
    "CREATE TABLE copied_message (id {key}, session text, stored_id text, time_created bigint, time_updated bigint,"
    " data text)",
    "CREATE TABLE copied_part (id {key}, session text, message text, position bigint, stored_id text,"
    " time_created bigint, time_updated bigint, data text)",
)
INDEXES: Statements = (
    "CREATE UNIQUE INDEX copied_message_once ON copied_message (session, stored_id)",
    "CREATE INDEX copied_message_id ON copied_message (stored_id)",
    "CREATE UNIQUE INDEX copied_part_once ON copied_part (session, message, stored_id)",
    "CREATE INDEX copied_part_order ON copied_part (session, position)",
    "CREATE INDEX copied_part_id ON copied_part (stored_id)",
)
MESSAGES = "SELECT session_id, id, time_created, time_updated, data FROM {schema}message"
PARTS = "SELECT session_id, message_id, rowid, id, time_created, time_updated, data FROM {schema}part"
INTO_MESSAGES = "copied_message (session, stored_id, time_created, time_updated, data)"
INTO_PARTS = "copied_part (session, message, position, stored_id, time_created, time_updated, data)"


def reading(path: Path, times: int = 3) -> Cost:
    """The least of ``times``."""
    return min((clocked(lambda: _read(path)) for _ in range(times)), key=lambda cost: cost.cpu)


def copying(path: Path, to: Path) -> Cost:
    """Into a SQLite database with the settings of Suture's own."""
    with closing(sqlite3.connect(to, isolation_level=None)) as connection:
        connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;")
        for statement in (*TABLES, *INDEXES):
            connection.execute(statement.format(key="integer PRIMARY KEY"))
        connection.execute("ATTACH ? AS source", (str(path),))

        def copy() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"INSERT INTO {INTO_MESSAGES} {MESSAGES.format(schema='source.')}")
            connection.execute(f"INSERT INTO {INTO_PARTS} {PARTS.format(schema='source.')}")
            connection.execute("COMMIT")

        return clocked(copy)


def copying_postgres(path: Path, url: str) -> Cost:
    """By COPY into the PostgreSQL database at ``url``; its own processor time is not in it."""
    import psycopg

    with psycopg.connect(url) as connection, closing(sqlite3.connect(path)) as source:
        for statement in (*TABLES, *INDEXES):
            connection.execute(statement.format(key="bigserial PRIMARY KEY"))

        def copy() -> None:
            for into, rows in ((INTO_MESSAGES, MESSAGES), (INTO_PARTS, PARTS)):
                with connection.cursor().copy(f"COPY {into} FROM STDIN") as copied:
                    for row in source.execute(rows.format(schema="")):
                        copied.write_row(
                            [value.replace("\0", "") if isinstance(value, str) else value for value in row]
                        )
            connection.commit()

        cost = clocked(copy)
        connection.execute("DROP TABLE copied_message, copied_part")
    return cost


def clocked(action: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall, 0.0)


def _read(path: Path) -> None:
    decode = msgspec.json.Decoder().decode
    for data in _datas(path):
        try:
            decode(data)
        except msgspec.DecodeError:  # a damaged row was read all the same
            continue


def _datas(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        for table in ("message", "part"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                yield row[-1]
