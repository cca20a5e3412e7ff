"""Symbolic links: a store reached through one, one that is turned elsewhere meanwhile, one inside a tree."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app.models import Session, Source
from sessions_app.services.importing import import_run, source_attach, source_sync
from sessions_app.services.reading import session_refresh
from sessions_app.services.repair.write import full_backup
from sessions_app.stores import StoreError, discover, open_store
from tests.paths import CORPUS
from tests.trials import surroundings

NAME = "dup_id_slow"


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["db", "json"])
def test_a_repair_through_a_link_writes_the_file_and_leaves_the_link(suture, tmp_path: Path, end: str) -> None:
    real, link = tmp_path / "real" / f"opencode.{end}", tmp_path / f"link.{end}"
    real.parent.mkdir()
    before = shutil.copyfile(CORPUS / f"{NAME}.{end}", real).read_bytes()
    link.symlink_to(real)

    done = suture("repair", link, "--json")

    assert done.code == 0, done.err
    assert link.is_symlink()
    assert real.read_bytes() != before
    assert suture("scan", real).code == 0
    link.unlink()
    assert suture("undo", done.json["repairs"][0]).code == 0
    assert suture("scan", real).code == 1


def test_backups_and_repairs_are_the_files_whichever_way_it_was_named(suture, tmp_path: Path) -> None:
    real, link = tmp_path / "opencode.db", tmp_path / "link.db"
    shutil.copyfile(CORPUS / f"{NAME}.db", real)
    link.symlink_to(real)
    suture("repair", link)

    for named in (real, link):
        assert len(suture("backups", named, "--json").json["backups"]) == 1, named
        assert len(suture("repairs", named, "--json").json["repairs"]) == 1, named


def test_a_link_that_is_turned_elsewhere_meanwhile_changes_nothing(tmp_path: Path) -> None:
    one, two, link = tmp_path / "one.db", tmp_path / "two.db", tmp_path / "link.db"
    shutil.copyfile(CORPUS / f"{NAME}.db", one)
    other = shutil.copyfile(CORPUS / "clean.db", two).read_bytes()
    link.symlink_to(one)

    with open_store(link) as store:
        link.unlink()
        link.symlink_to(two)
        assert store.path == one
        full_backup(store=store, now=timezone.now())

    assert two.read_bytes() == other


WRITES_AND_DIES = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = wal")
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("UPDATE session SET title = 'in the wal'")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_wal_beside_the_file_is_not_hidden_by_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "opencode.db", tmp_path / "link.db"
    real.parent.mkdir()
    shutil.copyfile(CORPUS / f"{NAME}.db", real)
    link.symlink_to(real)
    dead = subprocess.run([sys.executable, "-c", WRITES_AND_DIES, str(real)], check=False)
    assert dead.returncode == -signal.SIGKILL
    Path(f"{real}-shm").unlink()
    real.parent.chmod(0o555)
    try:
        closed = surroundings.suture(tmp_path, "scan", link, "--json", before=surroundings.without_privileges)
    finally:
        real.parent.chmod(0o755)

    assert closed.code == 2
    assert "changes in its -wal" in closed.err
    assert '"title":"in the wal"' in surroundings.suture(tmp_path, "scan", link, "--json").out


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    with tarfile.open(CORPUS / "compact_ok@1.0.152.storage.tgz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "storage"


def behind_a_link(folder: Path, elsewhere: Path) -> None:
    elsewhere.mkdir(exist_ok=True)
    folder.rename(elsewhere / folder.name)
    folder.symlink_to(elsewhere / folder.name)


@pytest.mark.parametrize("table", ["session", "message", "part"])
def test_a_table_of_a_tree_behind_a_link_is_refused_in_words(tree: Path, tmp_path: Path, table: str) -> None:
    behind_a_link(tree / table, tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="is a link"), open_store(tree) as store:
        store.read(store.session_ids()[0])
    assert discover({}, tmp_path) == []


@pytest.mark.parametrize("table", ["message", "part"])
def test_a_session_whose_rows_are_behind_a_link_is_unreadable_and_not_shorter(
    tree: Path, tmp_path: Path, table: str
) -> None:
    folder = next(path for path in sorted((tree / table).iterdir()) if any(path.iterdir()))
    behind_a_link(folder, tmp_path / "elsewhere")

    with open_store(tree) as store:
        with pytest.raises(StoreError, match="is a link"):
            store.read(store.session_ids()[0])
        assert list(store.read_all()) == []
        assert store.problems
        assert store.mark().sessions


@pytest.mark.django_db
@pytest.mark.parametrize("inside", ["", "opencode.db"])
def test_an_attached_path_that_became_a_link_leads_nowhere_else(tmp_path: Path, inside: str) -> None:
    attached, secret = tmp_path / "allowed" / "store", tmp_path / "secret.db"
    file = attached / inside
    file.parent.mkdir(parents=True)
    shutil.copyfile(CORPUS / f"{NAME}.db", file)
    shutil.copyfile(CORPUS / "clean.db", secret)
    _, job = source_attach(path=attached, actor="ann", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    kept = list(Session.objects.values_list("stored_id", "rows_hash"))

    file.unlink()
    file.symlink_to(secret)

    source = Source.objects.get()
    with pytest.raises(StoreError, match="not what was attached"):
        source.open_store()
    told = session_refresh(session=Session.objects.get(), now=timezone.now())
    assert "not what was attached" in told.problem
    assert list(Session.objects.values_list("stored_id", "rows_hash")) == kept
    sync = source_sync(source=source, actor="ann", now=timezone.now())
    assert not import_run(job_id=sync.pk, clock=timezone.now)
    sync.refresh_from_db()
    assert (sync.state, "not what was attached" in sync.error) == ("failed", True)
    assert list(Session.objects.values_list("stored_id", "rows_hash")) == kept


def test_a_backup_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "data" / "backups").symlink_to(tmp_path / "disk")
    shutil.copyfile(CORPUS / f"{NAME}.db", tmp_path / "opencode.db")

    assert surroundings.suture(tmp_path, "repair", tmp_path / "opencode.db").code == 0

    [made] = (tmp_path / "disk").rglob("*.db")
    assert made.stat().st_mode & 0o777 == 0o600
    assert surroundings.suture(tmp_path, "restore", made, tmp_path / "opencode.db").code == 0
    assert surroundings.suture(tmp_path, "scan", tmp_path / "opencode.db").code == 1
    assert os.readlink(tmp_path / "data" / "backups") == str(tmp_path / "disk")
