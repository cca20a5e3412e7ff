"""Files and folders that may be read and not written, for somebody who is not root."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.paths import CORPUS
from tests.trials.surroundings import Ended, suture, without_privileges

pytestmark = pytest.mark.exhaustive

NAME = "dup_id_slow"


@contextmanager
def closed(*paths: Path) -> Iterator[None]:
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path in reversed(paths):
            path.chmod(0o755 if path.is_dir() else 0o644)


def in_words(done: Ended) -> bool:
    return done.code in (1, 2) and "Traceback" not in done.err and bool(done.err.strip())


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, Path]:
    folder = tmp_path / "store"
    folder.mkdir()
    for end in ("db", "json"):
        shutil.copyfile(CORPUS / f"{NAME}.{end}", folder / f"opencode.{end}")
    with tarfile.open(CORPUS / "kill_parallel@1.0.152.storage.tgz") as packed:
        packed.extractall(folder, filter="data")
    return {
        "database": folder / "opencode.db",
        "export": folder / "opencode.json",
        "tree": folder / "storage",
    }


def contents(path: Path) -> dict[str, bytes]:
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.parametrize("kind", ["database", "export", "tree"])
@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_it_is_read_and_a_repair_is_refused_or_done_whole(
    tmp_path: Path, stores: dict[str, Path], kind: str, what: str
) -> None:
    path = stores[kind]
    before = contents(path)
    inner = [path, *(sorted(path.rglob("*")))] if path.is_dir() else [path]
    files = [one for one in inner if one.is_file()]
    folders = [path.parent, *(one for one in inner if one.is_dir())]
    shut = {"file": files, "folder": folders, "both": [*folders, *files]}[what]
    with closed(*shut):
        scanned = suture(tmp_path, "scan", path, before=without_privileges)
        done = suture(tmp_path, "repair", path, "--safety", "lossy", "--json", before=without_privileges)
        names = [one.name for one in path.parent.iterdir()]

    assert scanned.code in (0, 1), scanned.err
    if contents(path) == before:
        assert done.code != 0
        assert "Traceback" not in done.err
        assert '"repaired"' not in done.out
    else:
        assert done.code == 0
    assert [name for name in names if name.endswith(".tmp")] == []


def test_a_data_directory_that_cannot_be_written_is_said_by_every_command_that_writes(
    tmp_path: Path, stores: dict[str, Path]
) -> None:
    data, path = tmp_path / "data", stores["database"]
    data.mkdir(mode=0o700)
    before = contents(path)
    with closed(data):
        for command in (("repair", path), ("import", path), ("bulk-repair",), ("serve", "--port", "0")):
            done = suture(tmp_path, *command, before=without_privileges)
            assert in_words(done), (command, done)
        assert suture(tmp_path, "scan", path, before=without_privileges).code == 1
        # Handed back as it is, it is still blocked: exit code 1, which is no matter of the folder.
        assert suture(tmp_path, "export", path, "--output", tmp_path / "out.json", before=without_privileges).code == 1
        assert (tmp_path / "out.json").exists()
    assert contents(path) == before


def test_a_place_for_results_that_cannot_be_written_is_said(tmp_path: Path, stores: dict[str, Path]) -> None:
    path, place = stores["database"], tmp_path / "place"
    place.mkdir()
    with closed(place):
        for command in (
            ("export", path, "--as", "database", "--output", place / "x.db"),
            ("export", path, "--output", place / "x.json"),
            ("repair", path, "--output", place / "x.db"),
            ("repair", path, "--patch", place / "x.sql"),
            ("recover", path, "--output", place / "x.db"),
        ):
            done = suture(tmp_path, *command, before=without_privileges)
            assert in_words(done), (command, done)
        assert list(place.iterdir()) == []


def test_backups_that_cannot_be_kept_are_said_and_the_restore_point_is_there(
    tmp_path: Path, stores: dict[str, Path]
) -> None:
    backups = tmp_path / "data" / "backups"
    backups.mkdir(mode=0o700, parents=True)
    with closed(backups):
        done = suture(tmp_path, "repair", stores["database"], before=without_privileges)
    assert done.code == 0
    assert "The backup could not be made: Permission denied." in done.err
    [point] = (tmp_path / "data" / "journal").glob("rep_*.json")
    assert suture(tmp_path, "undo", point.stem).code == 0
