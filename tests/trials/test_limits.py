"""Files that may not grow (``ulimit -f``): repair, backup, hand-back and import end in words, with nothing lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores import open_store
from tests.paths import CORPUS
from tests.trials.surroundings import files_up_to, suture

pytestmark = pytest.mark.exhaustive

NAME = "dup_id_slow"
SIZES = (0, 1_000, 5_000, 20_000, 100_000, 200_000)
"""The database has 270,336 bytes, the restore point some 3,500."""


def contents(path: Path) -> list[str]:
    """What is stored; reading takes back what a writer left half done."""
    with open_store(path) as store:
        return [rows_hash(rows) for rows in store.read_all()]


def copied(folder: Path, end: str) -> Path:
    path = folder / f"opencode.{end}"
    shutil.copyfile(CORPUS / f"{NAME}.{end}", path)
    return path


@pytest.mark.parametrize("end", ["db", "json"])
@pytest.mark.parametrize("size", SIZES)
def test_a_repair_is_whole_or_refused_in_words(tmp_path: Path, size: int, end: str) -> None:
    path = copied(tmp_path, end)
    old = contents(path)

    done = suture(tmp_path, "repair", path, "--json", before=files_up_to(size))

    assert "Traceback" not in done.err
    if done.code == 0:
        assert contents(path) != old
    else:
        said = done.err + done.out
        assert "too large" in said or "ulimit -f" in said, said
        assert contents(path) == old
    again = suture(tmp_path, "repair", path, "--json")
    assert again.code == 0, again.err
    assert contents(path) != old


@pytest.mark.parametrize("form", ["database", "export", "patch", "rows", "report"])
def test_a_hand_back_is_whole_or_not_there(tmp_path: Path, form: str) -> None:
    path, result = copied(tmp_path, "db"), tmp_path / "result"
    for size in (0, 1_000, 100_000):
        done = suture(
            tmp_path, "export", path, "--as", form, "--output", result, before=files_up_to(size), TMPDIR=str(tmp_path)
        )
        assert "Traceback" not in done.err
        assert (done.code in (0, 1)) == result.exists(), done.err
        if not result.exists():
            assert done.err.startswith("suture: "), done.err
        result.unlink(missing_ok=True)
        assert [left.name for left in tmp_path.iterdir() if "suture-" in left.name] == []


@pytest.mark.parametrize("size", SIZES)
def test_an_import_ends_in_words_and_goes_on(tmp_path: Path, size: int) -> None:
    path = copied(tmp_path, "db")

    done = suture(tmp_path, "import", path, before=files_up_to(size))

    assert done.code != 0
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "own database" in done.err or "too large" in done.err, done.err
    again = suture(tmp_path, "import", path)
    assert (again.code, "1 session, 1 read" in again.out) == (0, True), again.err + again.out


def test_a_bulk_repair_ends_in_words_and_nothing_is_half_told(tmp_path: Path) -> None:
    path = copied(tmp_path, "db")
    assert suture(tmp_path, "import", path).code == 0
    old = contents(path)
    for size in (0, 1_000, 20_000, 100_000):
        done = suture(tmp_path, "bulk-repair", before=files_up_to(size))
        assert "Traceback" not in done.err
        assert done.code != 0
        assert contents(path) == old, size

    assert suture(tmp_path, "bulk-repair").code == 0
    assert contents(path) != old


def test_a_restore_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = copied(tmp_path, "db")
    assert suture(tmp_path, "repair", path).code == 0
    [backup] = (tmp_path / "data" / "backups").rglob("*.db")
    new = contents(path)
    for size in (0, 1_000, 100_000, 200_000):
        done = suture(tmp_path, "restore", backup, path, before=files_up_to(size))
        assert done.code != 0
        assert "Traceback" not in done.err
        assert contents(path) == new, size

    assert suture(tmp_path, "restore", backup, path).code == 0
    assert contents(path) != new
