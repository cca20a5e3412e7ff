"""The client's event log for a store of ``bench.shaped``, as long as real clients leave it:
``python -m bench.events STORE.db``.

Every row as it came to be (docs/contract/formats.md#a4): texts begin empty, tools are pending, run, and tell more of
their output each time, messages grow to their end, the session is told again after each. Keys are in the order in which
the client writes them, which is not that of its rows.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from tests.factories.bigstore import stored_id

_TOLD_EACH = 400
"""Characters of output after which a running tool tells it again."""
_TOLD_MOST = 40

type Event = tuple[str, dict[str, Any]]


def add_events(path: Path) -> tuple[int, int]:
    """Write the log of every session of the database; how many events, and how many bytes they hold."""
    count = size = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; DELETE FROM event;")
        connection.row_factory = sqlite3.Row
        for session in connection.execute("SELECT * FROM session ORDER BY time_created").fetchall():
            rows = []
            for seq, (kind, data) in enumerate(_events(connection, session)):
                text = msgspec.json.encode({"sessionID": session["id"], **data}).decode()
                count, size = count + 1, size + len(text)
                event_id = stored_id("evt", session["time_created"] + seq, 1, count)
                rows.append((event_id, session["id"], seq, f"{kind}.1", text))
            connection.executemany("INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, ?)", rows)
            numbered = "INSERT OR REPLACE INTO event_sequence (aggregate_id, seq) VALUES (?, ?)"
            connection.execute(numbered, (session["id"], len(rows) - 1))
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    return count, size


def _events(connection: sqlite3.Connection, session: sqlite3.Row) -> Iterator[Event]:
    info = {name: session[name] for name in ("id", "slug", "directory", "title", "version")}
    info |= {"projectID": session["project_id"], "time": {"created": session["time_created"]}}
    yield "session.created", {"info": info}
    messages = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for message in connection.execute(messages, (session["id"],)).fetchall():
        whole = _told(message["data"])
        own = {"id": message["id"], "sessionID": session["id"]}
        begun = {name: value for name, value in whole.items() if name not in ("finish", "error", "summary")}
        yield "message.updated", {"info": {**own, **begun}}
        yield "session.updated", {"info": info}
        yield from _parts(connection, session["id"], message["id"])
        for _ in range(2):  # with its tokens, and completed
            yield "message.updated", {"info": {**own, **whole}}
        yield "session.updated", {"info": info}


def _parts(connection: sqlite3.Connection, session_id: str, message_id: str) -> Iterator[Event]:
    sql = "SELECT id, time_updated, data FROM part WHERE message_id = ? ORDER BY id"
    for row in connection.execute(sql, (message_id,)).fetchall():
        own = {"id": row["id"], "sessionID": session_id, "messageID": message_id}
        for told in _growing(_told(row["data"])):
            yield "message.part.updated", {"part": {**own, **told}, "time": row["time_updated"]}


def _growing(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A part as it is told, until it is what its row says."""
    if part["type"] in ("text", "reasoning"):
        yield part | {"text": ""}
    if part["type"] == "tool":
        state = part["state"]
        yield part | {"state": {"status": "pending", "input": {}, "raw": ""}}
        running = {"status": "running", "input": state["input"], "time": {"start": state["time"]["start"]}}
        yield part | {"state": running}
        output = state.get("metadata", {}).get("output", "")
        steps = min(_TOLD_MOST, len(output) // _TOLD_EACH)
        for step in range(steps):
            said = output[: len(output) * (step + 1) // steps]
            yield part | {"state": {**running, "metadata": {"output": said}}}
    yield part


def _told(data: str) -> dict[str, Any]:
    """What a row holds, its members in the order of events."""
    value: dict[str, Any] = msgspec.json.decode(data)
    first: dict[str, Any] = {name: value[name] for name in ("type", "role", "callID") if name in value}
    if "role" in value:
        first["time"] = value["time"]
    return first | value


def main() -> int:
    path = Path(sys.argv[1])
    count, size = add_events(path)
    whole = path.stat().st_size
    sys.stdout.write(f"{path}: {count:,} events, {size / 1e6:,.0f} of {whole / 1e6:,.0f} MB\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
