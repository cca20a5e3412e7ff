"""Commands given odd places to write to: words and exit code 2, and never a store written over."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.client.suture import Suture
from tests.paths import CORPUS


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    shutil.copyfile(CORPUS / "dup_id_slow.db", path)
    return path


@pytest.mark.parametrize("option", ["--output", "--patch"])
@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_a_result_is_never_written_over_the_store_that_is_read(suture, tmp_path, poisoned, option, link):
    result = poisoned
    if link is not None:
        result = tmp_path / "other.db"
        link(result, poisoned)
    before = poisoned.read_bytes()
    answer = suture("repair", poisoned, option, result)
    assert (answer.code, poisoned.read_bytes()) == (2, before)
    assert "is the file that is read" in answer.err


def test_a_place_that_cannot_be_written_is_said_in_a_line(suture, tmp_path, poisoned):
    for option, place in (("--patch", tmp_path), ("--output", tmp_path / "missing" / "x.db")):
        answer = suture("repair", poisoned, option, place)
        assert answer.code == 2
        assert answer.err.startswith("suture: ") and "Traceback" not in answer.err


def test_the_database_of_transcripts_is_for_its_owner_alone(tmp_path):
    Suture(tmp_path / "data").json("import", str(CORPUS / "clean.db"))
    assert (tmp_path / "data" / "suture.db").stat().st_mode & 0o077 == 0
