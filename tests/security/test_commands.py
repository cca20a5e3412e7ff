"""Commands given odd places to write to: words and exit code 2, and never a store written over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import CORPUS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    shutil.copyfile(CORPUS / "dup_id_slow.db", path)
    return path


def suture(tmp_path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "SUTURE_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "manage.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("option", ["--output", "--patch"])
@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_a_result_is_never_written_over_the_store_that_is_read(tmp_path, poisoned, option, link):
    result = poisoned
    if link is not None:
        result = tmp_path / "other.db"
        link(result, poisoned)
    before = poisoned.read_bytes()
    answer = suture(tmp_path, "repair", poisoned, option, result)
    assert (answer.returncode, poisoned.read_bytes()) == (2, before)
    assert "is the file that is read" in answer.stderr


def test_a_place_that_cannot_be_written_is_said_in_a_line(tmp_path, poisoned):
    for option, place in (("--patch", tmp_path), ("--output", tmp_path / "missing" / "x.db")):
        answer = suture(tmp_path, "repair", poisoned, option, place)
        assert answer.returncode == 2
        assert answer.stderr.startswith("CommandError: ") and "Traceback" not in answer.stderr


def test_the_database_of_transcripts_is_for_its_owner_alone(tmp_path):
    assert suture(tmp_path, "import", CORPUS / "clean.db").returncode == 0
    assert (tmp_path / "data" / "suture.db").stat().st_mode & 0o077 == 0
