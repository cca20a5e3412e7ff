"""Handing back a long session: fresh ids, the export, the patch, the masked bundle."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sessions_app.domain.handback.extent import extent
from sessions_app.domain.handback.freshids import renamed
from sessions_app.domain.handback.redact import redacted
from sessions_app.domain.repair import RowChange
from sessions_app.services.handback.exportdoc import export_documents
from sessions_app.services.handback.patch import patch_sql
from sessions_app.stores import open_store
from tests.factories.bigstore import make_store

TURNS, STEPS = 400, 3
"""One session of 400 turns of 3 steps: 7,600 parts."""


LEAST = 0.3
"""MB of stored JSON a second below which something is wrong."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        (session,) = make_store(path, sessions=1, turns=TURNS, steps=STEPS, output=2_000)
        with open_store(path) as store:
            rows = store.read(session)
        size = sum(len(str(row["data"])) for row in rows.parts)
        print(f"handing back: one session, {len(rows.parts):,} parts, {size / 1e6:.1f} MB of JSON")
        changes = [RowChange("part", {"id": row["id"]}, row, {**row, "data": row["data"] + " "}) for row in rows.parts]
        guarded = [extent(rows)]
        slowest = min(
            _timed("fresh ids", lambda: renamed([rows]), size),
            _timed("export", lambda: export_documents([rows]), size),
            _timed("patch of every part", lambda: patch_sql(changes, made_for="bench", extents=guarded), size),
            _timed("mask for a bundle", lambda: redacted(rows), size),
        )
    return int(slowest < LEAST)


def _timed(what: str, action: Callable[[], object], size: int) -> float:
    """MB a second."""
    start = time.perf_counter()
    action()
    seconds = time.perf_counter() - start
    print(f"  {what:22} {seconds * 1000:9.1f} ms   {size / 1e6 / seconds:8.1f} MB/s")
    return size / 1e6 / seconds


if __name__ == "__main__":
    raise SystemExit(main())
