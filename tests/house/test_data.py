"""The packed test data is whole."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from sessions_app.samples import unpack
from tests.paths import CASES, CORPUS, GOLDENS


def test_every_file_that_the_index_names_is_in_the_corpus() -> None:
    entries = json.loads((CORPUS / "index.json").read_text())

    assert len(entries) > 300
    for entry in entries:
        if entry.get("next_recorded"):
            assert (CORPUS / "next" / f"{entry['name']}.json").is_file(), entry["name"]
        assert list(CORPUS.glob(f"{entry['name']}.*")), entry["name"]


def test_every_database_of_the_corpus_is_sound() -> None:
    databases = sorted(CORPUS.glob("*.db"))

    assert len(databases) > 300
    for database in databases[::20]:
        connection = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)
        try:
            assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)], database.name
        finally:
            connection.close()


def test_goldens_and_cases_are_there() -> None:
    assert {path.name for path in GOLDENS.iterdir()} >= {f"named-gen{n}.jsonl" for n in (1, 2, 3)}
    assert len(list(CASES.glob("*.json"))) >= 20


def test_the_bundled_samples_unpack_to_a_sound_database_and_leave_a_repaired_one_alone(
    tmp_path: Path,
) -> None:
    database = unpack(tmp_path / "data")
    with closing(sqlite3.connect(database)) as connection, connection:
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM session").fetchone()[0] >= 15
        connection.execute("DELETE FROM session WHERE id = 'ses_fixture'")

    again = unpack(tmp_path / "data")

    with closing(sqlite3.connect(again)) as connection:
        assert connection.execute("SELECT count(*) FROM session WHERE id = 'ses_fixture'").fetchone() == (0,)
