"""Pack what a real V2 server sent: ``python tests/data/pack_recordings.py CORPUS REPORTS`` writes
``recordings-v2.jsonl.xz``.

``CORPUS`` holds ``index.json``, ``NAME.db`` and ``next/NAME.json`` (docs/contract/v2-server.md); ``REPORTS`` a few more
as ``NAME.db`` and ``NAME.next.json``, of which those with a request are taken. A line is a recording:
the rows of its session before the next prompt, and what the server did with them. Left out are the server's own words:
its system message, its tools, the context it stores beside a session, the update of the date behind a prompt, and the
request for a summary.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("recordings-v2.jsonl.xz")
_NEXT = ("model", "npm", "path", "error", "requests", "messages", "rewritten")
_SESSION = ("id", "project_id", "directory", "title", "version", "model", "agent", "time_created", "time_updated")


def pack(corpus: Path, reports: Path, archive: Path) -> None:
    found = {one["name"]: one for one in (*reported(reports), *recordings(corpus))}
    lines = [json.dumps(found[name], ensure_ascii=False, separators=(",", ":")) for name in sorted(found)]
    archive.write_bytes(lzma.compress("".join(line + "\n" for line in lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def recordings(folder: Path) -> Iterator[dict[str, Any]]:
    for entry in json.loads((folder / "index.json").read_text()):
        name = entry["name"]
        sent = json.loads((folder / "next" / f"{name}.json").read_text())
        yield _recording(folder / f"{name}.db", sent, entry["note"], entry["accepted"])


def reported(folder: Path) -> Iterator[dict[str, Any]]:
    for path in folder.glob("*.next.json"):
        sent = json.loads(path.read_text())
        if sent["requests"]:
            yield _recording(path.with_name(path.name.replace(".next.json", ".db")), sent, "", sent["accepted"])


def _recording(database: Path, sent: dict[str, Any], note: str, accepted: bool | None) -> dict[str, Any]:
    turn = sent["requests"][:1] == ["turn"]
    sent["messages"] = _without_update(sent["messages"]) if turn else None
    return {
        "name": database.stem,
        "note": note,
        "accepted": accepted,
        **{key: sent[key] for key in _NEXT},
        "rows": _rows(database, sent["session"]),
    }


def _rows(database: Path, session_id: str) -> dict[str, Any]:
    """The row document of the session."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)) as connection:
        connection.row_factory = sqlite3.Row

        def rows(query: str) -> list[dict[str, Any]]:
            return [dict(row) for row in connection.execute(query, (session_id,))]

        session = rows("SELECT * FROM session WHERE id = ?")[0]
        return {
            "session": {name: session[name] for name in _SESSION},
            "session_message": rows("SELECT * FROM session_message WHERE session_id = ? ORDER BY seq, id"),
            "session_context_epoch": [
                _epoch(row) for row in rows("SELECT * FROM session_context_epoch WHERE session_id = ?")
            ],
            "session_input": rows("SELECT * FROM session_input WHERE session_id = ? ORDER BY admitted_seq"),
            "event_sequence": rows("SELECT * FROM event_sequence WHERE aggregate_id = ?"),
        }


def _epoch(row: dict[str, Any]) -> dict[str, Any]:
    whole = row["snapshot"].startswith("{")
    return {**row, "baseline": "(the server's context)", "snapshot": "{}" if whole else row["snapshot"]}


def _without_update(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The request without what the server says of its changed context behind the new prompt."""
    *earlier, last = messages
    mark, content = "<system-update>", last.get("content")
    if isinstance(content, str):
        content = content.partition(f"\n{mark}")[0]
    elif isinstance(content, list):
        content = [block for block in content if not str(block.get("text", "")).startswith(mark)]
    return [*earlier, {**last, "content": content}]


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]), TARGET)
