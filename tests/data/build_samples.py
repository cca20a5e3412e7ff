"""Build the bundled samples from the corpus: ``python -m tests.data.build_samples``.

Rows are taken as the client wrote them; only titles are given (the scripted provider called every
session "A title"), and the event log is left out.
"""

from __future__ import annotations

import lzma
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from tests.paths import CORPUS

TITLES = {
    "clean": "A healthy session",
    "dup_id_slow": "One call id used twice in an answer",
    "dup_id_anthropic": "One tool_use id used twice (Anthropic)",
    "seed_kimi_abort": "Kimi reuses functions.todowrite:1 after an abort",
    "think_nosig_tool": "Thinking without a signature before a tool call",
    "short_ids_across_turns_anthropic": "Short call ids that come back in a later turn",
    "retry_tool_done_sameid": "A retry after the tool had already run",
    "kill_pending_args": "Killed while a call's arguments arrived",
    "abort_parallel": "Aborted with two tools running",
    "subagent_kill": "Killed while a sub-agent worked",
    "compact_ok": "A compacted session",
    "revert_part": "Reverted in the middle of an answer",
    "lone_surrogate": "Half an emoji in a tool's output",
    "v1_bad_state_chat": "A tool state that the client cannot read",
    "v1_callid_chars_anth": "Call ids that become equal when cleaned",
    "v2-gen1": "A session of the V2 line",
}
TARGET = Path(__file__).resolve().parents[2] / "sessions_app" / "samples" / "samples.db.xz"


def build(database: Path) -> None:
    shutil.copyfile(CORPUS / f"{next(iter(TITLES))}.db", database)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for name, title in TITLES.items():
            connection.execute("ATTACH ? AS other", (str(CORPUS / f"{name}.db"),))
            for table in ("project", "session", "message", "part", "session_message"):
                connection.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
            connection.execute(
                "UPDATE session SET title = ? WHERE id IN (SELECT id FROM other.session WHERE parent_id IS NULL)",
                (title,),
            )
            connection.execute("DETACH other")
        # The recordings were made in one directory each, all rewritten to the same name: they become one project.
        project = connection.execute(
            "SELECT project_id FROM session WHERE title = ?", (next(iter(TITLES.values())),)
        ).fetchone()
        connection.execute("UPDATE session SET project_id = ? WHERE project_id != 'global'", project)
        connection.execute("DELETE FROM project WHERE id NOT IN (SELECT project_id FROM session)")
        connection.execute("DELETE FROM event")
        connection.execute("DELETE FROM event_sequence")
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "samples.db"
        build(scratch)
        TARGET.write_bytes(lzma.compress(scratch.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
