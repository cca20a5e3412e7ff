"""Damaged databases: finding out, and recovering into a new file, never in place (docs/contract/rules.md#2.25,
docs/damaged-stores.md)."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sessions_app.stores.ground import StoreError

from .connection import escaping_text, explained, harden, open_reader, quoted, time_limit
from .schema import Table, probe

_OWNED = ("message", "part", "session_message")
_COMPUTING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_CREATE_VTABLE)


@dataclass(frozen=True, slots=True)
class Check:
    """``state``: ok, damaged (``messages`` in SQLite's words), or unfinished when the time was over first."""

    state: Literal["ok", "damaged", "unfinished"]
    messages: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def only_indexes(self) -> bool:
        """All the damage is in indexes, which can be made anew from the rows."""
        return self.state == "damaged" and all("index" in message for message in self.messages)


@dataclass(frozen=True, slots=True)
class Recovered:
    """``lost`` is session id -> rows (messages and parts) that the old file counts and the new one has not. ``method``:
    how it was done; ``unplaced``: rows found that belong to no known table; ``notes``: what went wrong on the way."""

    path: Path
    method: Literal["sqlite3 .recover", "row by row"]
    rows: int
    lost: dict[str, int]
    unplaced: int = 0
    notes: tuple[str, ...] = ()


def quick_check(path: Path, *, seconds: float = 30.0, full: bool = False, most: int = 100) -> Check:
    """``PRAGMA quick_check`` within a time limit (``full``: ``integrity_check``, which also compares indexes with
    rows)."""
    start = time.monotonic()
    connection: sqlite3.Connection | None = None
    try:
        connection = open_reader(path)
        with time_limit(connection, seconds):
            rows = connection.execute(f"PRAGMA {'integrity_check' if full else 'quick_check'}({most})").fetchall()
    except sqlite3.DatabaseError as error:
        stopped = (error.sqlite_errorcode & 0xFF) == sqlite3.SQLITE_INTERRUPT
        return Check("unfinished" if stopped else "damaged", () if stopped else (str(error),), time.monotonic() - start)
    except StoreError as error:
        if error.kind not in ("corrupt", "not-a-store"):
            raise
        return Check("damaged", (error.words,), time.monotonic() - start)
    finally:
        if connection is not None:
            connection.close()
    messages = tuple(line for (text,) in rows for line in str(text).splitlines())
    return Check(
        "ok" if messages == ("ok",) else "damaged",
        () if messages == ("ok",) else messages,
        time.monotonic() - start,
    )


def recover(path: Path, dest: Path, *, program: str | None = None, seconds: float = 600.0) -> Recovered:
    """Save what can be saved of ``path`` into the new file ``dest``.

    By the ``sqlite3`` program's ``.recover`` where it can do that, else row by row through tables and indexes. The old
    file is only read. Raises ``StoreError`` where nothing at all can be read, ``FileExistsError`` where ``dest``
    exists.
    """
    if dest.exists():
        raise FileExistsError(dest)
    program = program or shutil.which("sqlite3")
    partial = dest.with_name(f".{dest.name}.partial")
    partial.unlink(missing_ok=True)
    before = _counts(path)
    try:
        notes: list[str] = []
        if program is not None and _can_recover(program):
            method: Literal["sqlite3 .recover", "row by row"] = "sqlite3 .recover"
            _by_program(program, path, partial, seconds, notes)
        else:
            method = "row by row"
            notes.append("The sqlite3 program here cannot recover; rows were saved one by one.")
            _by_rows(path, partial, notes)
        after = _counts(partial)
        rows, unplaced = _totals(partial)
        if not rows:
            raise StoreError("corrupt", path, "Nothing could be recovered from this file.", "Look for a backup of it.")
        partial.replace(dest)
    except sqlite3.Error as error:
        raise explained(error, path) from error
    finally:
        partial.unlink(missing_ok=True)
    lost = {key: count - after.get(key, 0) for key, count in before.items() if count > after.get(key, 0)}
    return Recovered(dest, method, rows, lost, unplaced, tuple(notes))


def _can_recover(program: str) -> bool:
    """Some builds have the command without the module it needs."""
    try:
        answer = subprocess.run(
            [program, ":memory:", "CREATE TABLE t(a)", ".recover"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0 and "CREATE TABLE" in answer.stdout and "error" not in answer.stderr.lower()


def _by_program(program: str, path: Path, partial: Path, seconds: float, notes: list[str]) -> None:
    """Run the statements that ``.recover`` prints here, not in a second shell: a hostile schema could hold shell
    commands."""
    end = time.monotonic() + seconds
    target = _new_database(partial)
    process = subprocess.Popen(
        [program, "-readonly", str(path), ".recover"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    failed = 0
    try:
        target.execute("BEGIN")
        for statement in _statements(process.stdout):
            if time.monotonic() > end:
                raise StoreError("too-long", path, "Recovering took too long and was stopped.", "Allow more time.")
            if statement.split(None, 1)[0].upper() not in ("CREATE", "INSERT"):
                continue
            try:
                target.execute(statement)
            except sqlite3.Error:
                failed += 1
        target.execute("COMMIT")
    finally:
        target.close()
        process.kill()
        process.stdout.close()
        process.wait()
    if failed:
        notes.append(f"{failed} recovered statements could not be used.")


def _statements(lines: Iterable[bytes]) -> Iterator[str]:
    waiting = ""
    for line in lines:
        waiting += line.decode("utf-8", "replace")
        if sqlite3.complete_statement(waiting):
            statement = waiting.strip()
            waiting = ""
            if statement:
                yield statement


def _new_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    harden(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.set_authorizer(only_literal)
    return connection


def only_literal(action: int, *about: object) -> int:
    """Definitions come out of a hostile file: none may compute its rows (CREATE TABLE ... AS SELECT could run for
    ever)."""
    return sqlite3.SQLITE_DENY if action in _COMPUTING else sqlite3.SQLITE_OK


def _by_rows(path: Path, partial: Path, notes: list[str]) -> None:
    source = open_reader(path)
    target = _new_database(partial)
    try:
        source.text_factory = escaping_text
        try:
            schema = probe(source)
            made = source.execute(
                "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            ).fetchall()
        except sqlite3.Error as error:
            raise explained(error, path) from error
        target.execute("BEGIN")
        for kind, name, sql in made:
            if kind == "table" and name in schema.tables:
                try:
                    target.execute(sql)
                except sqlite3.Error as error:
                    notes.append(f"Table {name} could not be made: {error}")
                else:
                    _copy_rows(source, target, schema.tables[name], notes)
        for kind, name, sql in made:
            if kind == "index":
                try:
                    target.execute(sql)
                except sqlite3.Error as error:
                    notes.append(f"Index {name} could not be made: {error}")
        target.execute("COMMIT")
    finally:
        source.close()
        target.close()


def _copy_rows(source: sqlite3.Connection, target: sqlite3.Connection, table: Table, notes: list[str]) -> None:
    marks = ", ".join("?" for _ in table.columns)
    insert = (
        f"INSERT OR IGNORE INTO {quoted(table.name)} ({', '.join(quoted(column) for column in table.columns)}) VALUES"
        f" ({marks})"
    )
    seen: set[int] = set()
    complete = False
    if table.has_rowid:
        rowid_select = table.select().replace("SELECT ", "SELECT rowid, ", 1)
        for direction in ("ASC", "DESC"):
            with contextlib.suppress(sqlite3.DatabaseError):
                for rowid, *values in source.execute(f"{rowid_select} NOT INDEXED ORDER BY rowid {direction}"):
                    if rowid in seen:
                        continue
                    seen.add(rowid)
                    _put(target, insert, values)
                complete = True
                break
        if complete:
            return
        for rowid in _indexed_rowids(source, table):
            if rowid not in seen:
                with contextlib.suppress(sqlite3.DatabaseError):
                    for values in source.execute(f"{table.select()} WHERE rowid = ?", (rowid,)):
                        seen.add(rowid)
                        _put(target, insert, list(values))
    else:
        with contextlib.suppress(sqlite3.DatabaseError):
            for values in source.execute(table.select()):
                _put(target, insert, list(values))
            return
    notes.append(f"Table {table.name} is damaged: {len(seen)} rows were saved.")


def _indexed_rowids(source: sqlite3.Connection, table: Table) -> set[int]:
    """Row ids that the table's indexes know, damaged or not."""
    found: set[int] = set()
    with contextlib.suppress(sqlite3.DatabaseError):
        for _, index, *_ in source.execute(f"PRAGMA index_list({quoted(table.name)})").fetchall():
            with contextlib.suppress(sqlite3.DatabaseError):
                column = source.execute(f"PRAGMA index_info({quoted(index)})").fetchone()[2]
                for (rowid,) in source.execute(
                    f"SELECT rowid FROM {quoted(table.name)} INDEXED BY {quoted(index)} ORDER BY {quoted(column)}"
                ):
                    found.add(rowid)
    return found


def _put(target: sqlite3.Connection, insert: str, values: list[object]) -> None:
    """Text that is not UTF-8 cannot be bound as text; it goes in as the bytes it is, cast back."""
    try:
        target.execute(insert, values)
    except UnicodeEncodeError:
        raw = [value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value for value in values]
        head, _, _ = insert.partition(" VALUES ")
        marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, str) else "?" for value in values)
        target.execute(f"{head} VALUES ({marks})", raw)
    except sqlite3.IntegrityError:
        return


def _counts(path: Path) -> dict[str, int]:
    """Rows per session as far as the indexes or tables tell."""
    found: dict[str, int] = {}
    try:
        connection = open_reader(path)
    except StoreError:
        return found
    try:
        for table in _OWNED:
            with contextlib.suppress(sqlite3.DatabaseError):
                for session_id, number in connection.execute(
                    f"SELECT session_id, count(*) FROM {table} GROUP BY session_id"
                ):
                    found[str(session_id)] = found.get(str(session_id), 0) + number
    finally:
        connection.close()
    return found


def _totals(path: Path) -> tuple[int, int]:
    """(rows of sessions and what they hold, rows that ``.recover`` could not place)."""
    connection = open_reader(path)
    try:
        tables = probe(connection).tables
        rows = unplaced = 0
        for name in tables:
            if name in ("session", "session_v2", *_OWNED):
                rows += connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
            elif name.startswith("lost_and_found"):
                unplaced += connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
        return rows, unplaced
    finally:
        connection.close()
