"""Uploads: copied, disarmed, without the customer's secrets."""

from __future__ import annotations

import io
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from sessions_app.stores import StoreError, open_store
from sessions_app.stores.archive import ArchiveLimits
from sessions_app.stores.intake import Limits, take_in
from tests.factories.bigstore import make_store
from tests.paths import CORPUS

from .conftest import run
from .test_sqlite_read import damage

SECRET = "sk-very-secret-token-0123456789"


@pytest.fixture
def rich(database: Path) -> Path:
    """A database with accounts and credentials, all of it in the main file."""
    run(database, "INSERT INTO account VALUES ('acc', 'a@b.c', 'https://x', ?, ?, 1, 1, 1)", SECRET, SECRET)
    run(
        database,
        "INSERT INTO control_account VALUES ('a@b.c', 'https://x', ?, ?, 1, 1, 1, 1)",
        SECRET,
        SECRET,
    )
    run(
        database,
        "INSERT INTO credential (id, label, value, time_created, time_updated) VALUES ('c', 'key', ?, 1, 1)",
        SECRET,
    )
    return database


def take(path: Path, folder: Path, name: str | None = None, wal: Path | None = None, limits: Limits | None = None):
    with path.open("rb") as upload:
        if wal is None:
            return take_in(upload, folder, name=name or path.name, limits=limits)
        with wal.open("rb") as second:
            return take_in(upload, folder, name=name or path.name, wal=second, limits=limits)


def test_the_secrets_are_gone_from_every_byte_of_the_copy(rich: Path, tmp_path: Path) -> None:
    kept = take(rich, tmp_path / "in")

    assert SECRET.encode() in rich.read_bytes()
    assert all(SECRET.encode() not in path.read_bytes() for path in (tmp_path / "in").rglob("*") if path.is_file())
    assert run(kept.path, "SELECT id, access_token FROM account") == [("acc", "")]
    assert run(kept.path, "SELECT email, refresh_token FROM control_account") == [("a@b.c", "")]
    assert run(kept.path, "SELECT value FROM credential") == [("",)]


def test_the_sessions_of_the_copy_are_those_of_the_original(rich: Path, tmp_path: Path) -> None:
    kept = take(rich, tmp_path / "in")

    with open_store(rich) as before, open_store(kept.path) as after:
        assert list(before.read_all()) == list(after.read_all())
    assert kept.kind == "sqlite"
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["opencode.db"]


def test_triggers_views_and_virtual_tables_are_dropped_and_never_run(rich: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(rich)
    connection.executescript(
        "CREATE TRIGGER t AFTER UPDATE ON account BEGIN UPDATE session SET title = 'pwned'; END;"
        "CREATE VIEW v AS SELECT * FROM account; CREATE VIRTUAL TABLE f USING fts5(a);"
    )
    connection.close()

    kept = take(rich, tmp_path / "in")

    assert run(
        kept.path,
        "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view') OR sql LIKE '%VIRTUAL%'",
    ) == [(0,)]
    assert run(kept.path, "SELECT count(*) FROM session WHERE title = 'pwned'") == [(0,)]
    assert any("removed" in note for note in kept.notes)


@pytest.fixture
def with_wal(database: Path, tmp_path: Path) -> Path:
    """A database whose newest change is in its -wal."""
    code = (
        "import sqlite3,os,sys; c=sqlite3.connect(sys.argv[1]); c.execute(\"update session set title='newest'\");"
        " c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(database)], check=True)
    folder = tmp_path / "customer"
    folder.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{database}{end}", folder / f"opencode.db{end}")
    return folder / "opencode.db"


def test_the_wal_that_comes_with_a_database_is_in_the_copy(with_wal: Path, tmp_path: Path) -> None:
    kept = take(with_wal, tmp_path / "in", wal=Path(f"{with_wal}-wal"))

    with open_store(kept.path) as store:
        assert {row["title"] for row in store.sessions()} == {"newest"}
    assert kept.notes == ()


def test_a_missing_wal_is_pointed_out(with_wal: Path, tmp_path: Path) -> None:
    kept = take(with_wal, tmp_path / "in")

    with open_store(kept.path) as store:
        assert "newest" not in {row["title"] for row in store.sessions()}
    assert any("-wal" in note for note in kept.notes)


def test_a_wal_that_is_none_is_refused(with_wal: Path, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.write_bytes(b"hello there")

    with pytest.raises(StoreError, match="-wal"):
        take(with_wal, tmp_path / "in", wal=fake)
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("name", ["clean.json", "think_clean.json"])
def test_an_export_is_kept_as_it_came(tmp_path: Path, name: str) -> None:
    kept = take(CORPUS / name, tmp_path / "in")

    assert kept.kind == "export"
    assert kept.path.read_bytes() == (CORPUS / name).read_bytes()
    assert kept.bytes == (CORPUS / name).stat().st_size


def test_a_truncated_export_is_refused_under_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        take_in(
            io.BytesIO((CORPUS / "clean.json").read_bytes()[:900]),
            tmp_path / "in",
            name="C:\\Users\\x\\mine.json",
        )
    assert caught.value.kind == "truncated-export"
    assert caught.value.path == "mine.json"
    assert not (tmp_path / "in").exists()


def test_an_archived_tree_is_unpacked(tmp_path: Path) -> None:
    kept = take(CORPUS / "compact_ok@1.0.152.storage.tgz", tmp_path / "in")

    assert kept.kind == "storage"
    with open_store(kept.path) as store:
        assert len(list(store.read_all())) == 1


def test_a_zip_with_a_database_and_its_wal_is_one_database(with_wal: Path, tmp_path: Path) -> None:
    packed = tmp_path / "case.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for end in ("", "-wal"):
            archive.write(f"{with_wal}{end}", f"share/opencode.db{end}")

    kept = take(packed, tmp_path / "in")

    with open_store(kept.path) as store:
        assert {row["title"] for row in store.sessions()} == {"newest"}


def test_an_archive_cannot_write_outside_its_folder(tmp_path: Path) -> None:
    packed = tmp_path / "evil.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        for name in (
            "../../escaped.json",
            "/tmp/escaped-by-suture-test.json",
            "storage/session/global/ses_1.json",
        ):
            info = tarfile.TarInfo(name)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"{}"))
        link = tarfile.TarInfo("storage/session/global/ses_2.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)

    kept = take(packed, tmp_path / "deep" / "in")

    assert [path.name for path in kept.path.rglob("*.json")] == ["ses_1.json"]
    assert not list(tmp_path.rglob("escaped*"))
    assert not Path("/tmp/escaped-by-suture-test.json").exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "bomb.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("storage/session/global/ses_1.json", b"0" * 10_000_000)

    with pytest.raises(StoreError) as caught:
        take(packed, tmp_path / "in", limits=Limits(archive=ArchiveLimits(bytes=1_000_000)))
    assert caught.value.kind == "too-big"
    assert not (tmp_path / "in").exists()


def test_an_upload_over_the_limit_is_refused(database: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        take(database, tmp_path / "in", limits=Limits(database=1_000))
    assert caught.value.kind == "too-big"


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "other.db", "CREATE TABLE t(a)")

    with pytest.raises(StoreError) as caught:
        take(tmp_path / "other.db", tmp_path / "in")
    assert caught.value.kind == "not-a-store"


def test_a_damaged_upload_is_recovered_into_a_file_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_store(path, sessions=1, turns=40, output=3_000)
    run(
        path,
        "INSERT INTO credential (id, label, value, time_created, time_updated) VALUES ('c', 'key', ?, 1, 1)",
        SECRET,
    )
    damage(path, "part", page=9)

    kept = take(path, tmp_path / "in")

    assert any("damaged" in note for note in kept.notes)
    with open_store(kept.path) as store:
        assert len(next(store.read_all()).parts) > 100
    assert all(SECRET.encode() not in file.read_bytes() for file in (tmp_path / "in").rglob("*") if file.is_file())
