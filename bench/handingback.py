"""Handing back a long session: fresh ids, the export, the patch of every part, the mask; and one guarded write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.suture import begin, timed


def measure(path: str) -> dict[str, Any]:
    """Megabytes of stored JSON a second, the slowest of four; ``waited``: seconds that other writers wait for a guarded
    write. ``path`` holds one session, and is written to."""
    begin()
    from sessions_app.domain.handback.extent import extent
    from sessions_app.domain.handback.freshids import renamed
    from sessions_app.domain.handback.redact import redacted
    from sessions_app.domain.repair import RowChange
    from sessions_app.services.handback.exportdoc import export_documents
    from sessions_app.services.handback.patch import patch_sql
    from sessions_app.stores import open_store
    from sessions_app.stores.journal import Journal
    from sessions_app.stores.sqlite import SqliteStore

    with open_store(Path(path)) as store:
        assert isinstance(store, SqliteStore)
        rows = store.read(store.session_ids()[0])
        size = sum(len(str(row["data"])) for row in rows.parts) / 1e6
        changes = [RowChange("part", {"id": row["id"]}, row, {**row, "data": row["data"] + " "}) for row in rows.parts]
        guarded = [extent(rows)]
        slowest = max(
            timed(lambda: renamed([rows]))["cpu"],
            timed(lambda: export_documents([rows]))["cpu"],
            timed(lambda: patch_sql(changes, made_for="bench", extents=guarded))["cpu"],
            timed(lambda: redacted(rows))["cpu"],
        )
        done = store.apply(changes[:1], journal=Journal(Path("journal").resolve()))
    return {"rate": size / slowest, "waited": done.seconds}
