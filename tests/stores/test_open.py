"""What a path is, and the words for what cannot be opened."""

from __future__ import annotations

import codecs
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sessions_app.stores import StoreError, discover, open_bytes, open_store
from sessions_app.stores.locations import data_directory
from tests.factories.bigstore import make_store
from tests.paths import CASES, CORPUS

EXPORT = (CORPUS / "clean.json").read_bytes()


def refusal(path: Path | str, kind=None) -> StoreError:
    with pytest.raises(StoreError) as caught:
        open_store(path, kind)
    return caught.value


def test_a_missing_path_is_missing(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.db").kind == "missing"


def test_a_zero_byte_database_is_called_empty_and_its_wal_is_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.touch()
    (tmp_path / "opencode.db-wal").write_bytes(b"x")

    error = refusal(path)

    assert error.kind == "empty-file"
    assert "-wal" in error.words


def test_a_file_of_nul_bytes_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(b"\0" * 8192)

    assert refusal(path).kind == "nul-filled"


def test_an_encrypted_database_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(random.Random(1).randbytes(8192))

    assert refusal(path).kind == "encrypted"


def test_a_picture_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\1" * 300)

    assert refusal(path).kind == "not-a-store"


def test_another_programs_database_is_refused_by_name(tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sqlite3; sqlite3.connect({str(tmp_path / 'x.db')!r}).execute('create table t(a)')",
        ],
        check=True,
    )

    error = refusal(tmp_path / "x.db")

    assert error.kind == "not-a-store"
    assert "not one of opencode's" in error.words


def test_an_empty_folder_says_what_to_give(tmp_path: Path) -> None:
    error = refusal(tmp_path)

    assert error.kind == "empty-folder"
    assert error.next_step


def test_ordinary_text_is_quoted_in_the_refusal(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Error: Session not found: ses_1\n")

    assert "Session not found: ses_1" in refusal(path).words


@pytest.mark.parametrize("length", [300, 1000, 2001, 4095, len(EXPORT) - 3])
def test_a_truncated_export_is_recognised_wherever_it_is_cut(tmp_path: Path, length: int) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(b"Exporting session: ses_x\n" + EXPORT[:length])

    error = refusal(path)

    assert error.kind == "truncated-export"
    assert "> session.json" in error.next_step


def test_every_cut_of_an_export_is_called_truncated() -> None:
    text = EXPORT.rstrip()
    for length in range(12, len(text), 7):
        with pytest.raises(StoreError) as caught:
            open_bytes(text[:length])
        assert caught.value.kind == "truncated-export", text[:length][-40:]


@pytest.mark.parametrize("length", [65_536, 131_072])
def test_an_export_cut_by_a_pipe_is_told_so(tmp_path: Path, length: int) -> None:
    export = json.loads(EXPORT)
    export["messages"][0]["parts"][0]["text"] = "x" * 200_000
    path = tmp_path / "session.json"
    path.write_bytes(json.dumps(export).encode()[:length])

    assert "pipe" in refusal(path).words


def test_broken_json_in_the_middle_is_not_called_truncated(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(EXPORT.replace(b'"messages": [', b'"messages": [,', 1))

    error = refusal(path)

    assert error.kind == "not-json"
    assert "line" in error.words


@pytest.mark.parametrize(
    "chatter",
    [
        b"Exporting session: ses_dd47f4334ffejEypvt6rUDOPzh\n",
        b"Exporting session: ses_dd47f4334ffejEypvt6rUDOPzh",
        b'[plugin] loaded {"name": "x"}\n{"level":"info","msg":"hi"}\n',
        b"{ not json at all\n[oops\n",
        b"\x1b[32mok\x1b[0m\r\n",
    ],
)
def test_chatter_before_an_export_is_passed_over(chatter: bytes) -> None:
    with open_bytes(chatter + EXPORT) as store:
        assert [row["title"] for row in store.sessions()] == ["A title"]


@pytest.mark.parametrize(
    "mark, encoding",
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_an_export_that_powershell_wrote_opens(tmp_path: Path, mark: bytes, encoding: str) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(mark + EXPORT.decode().replace("\n", "\r\n").encode(encoding))

    with open_store(path) as store:
        assert len(list(store.read_all())) == 1


def test_several_exports_in_one_file_are_several_sessions() -> None:
    both = EXPORT + b"\nExporting session: next\n" + (CORPUS / "think_clean.json").read_bytes()

    with open_bytes(both) as store:
        assert len(list(store.sessions())) == 2


def test_a_case_input_opens_as_a_row_document() -> None:
    for path in CASES.glob("*.json"):
        document = json.loads(path.read_text())["input"]
        with open_bytes(json.dumps(document).encode()) as store:
            assert store.kind == "rows"
            assert len(list(store.read_all())) == 1


def test_a_pipe_takes_no_database_and_no_more_than_the_limit() -> None:
    with pytest.raises(StoreError, match="pipe"):
        open_bytes(b"SQLite format 3\0" + b"\0" * 100)
    with pytest.raises(StoreError) as caught:
        open_bytes(EXPORT, limit=100)
    assert caught.value.kind == "too-big"


def test_a_data_folder_opens_its_database_and_the_tree_beside_it_is_found_too(tmp_path: Path) -> None:
    data = tmp_path / "opencode"
    (data / "storage" / "session" / "global").mkdir(parents=True)
    (data / "storage" / "session" / "global" / "ses_1.json").write_text('{"id":"ses_1"}')
    make_store(data / "opencode.db", sessions=1)

    with open_store(tmp_path) as store:
        assert store.path == data / "opencode.db"
    assert discover({"XDG_DATA_HOME": str(tmp_path)}) == [data / "opencode.db", data / "storage"]


def test_a_storage_folder_that_holds_only_diffs_is_no_tree(tmp_path: Path) -> None:
    (tmp_path / "opencode" / "storage" / "session_diff").mkdir(parents=True)
    (tmp_path / "opencode" / "storage" / "session_diff" / "ses_1.json").write_text("[]")

    assert discover({"XDG_DATA_HOME": str(tmp_path)}) == []


def test_the_database_is_looked_for_where_opencode_looks(tmp_path: Path) -> None:
    data = tmp_path / "share" / "opencode"
    data.mkdir(parents=True)
    for name in ("opencode.db", "opencode-dev.db", "mine.db"):
        make_store(data / name, sessions=1)
    make_store(tmp_path / "abs.db", sessions=1)
    environ = {"XDG_DATA_HOME": str(tmp_path / "share")}

    assert discover(environ) == [data / "opencode.db", data / "opencode-dev.db"]
    assert discover({**environ, "OPENCODE_DB": "mine.db"})[0] == data / "mine.db"
    assert discover({**environ, "OPENCODE_DB": str(tmp_path / "abs.db")})[0] == tmp_path / "abs.db"
    assert discover({**environ, "OPENCODE_DB": ":memory:"}) == discover(environ)


def test_an_empty_xdg_data_home_means_the_home_folder(tmp_path: Path) -> None:
    assert data_directory({"XDG_DATA_HOME": ""}, tmp_path) == tmp_path / ".local" / "share" / "opencode"


AS_NOBODY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def as_nobody(code: str) -> str:
    """What a process of a user without rights prints."""
    answer = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                f"import os; from sessions_app.stores import *; open_store({str(CORPUS / 'clean.db')!r}).close();"
                f" os.setgid(65534); os.setuid(65534)\n{code}"
            ),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


OPEN_AND_TELL = """
try:
    with open_store({path!r}) as store:
        print(len(list(store.sessions())))
except StoreError as error:
    print(error.kind)
"""


@pytest.fixture
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that others can enter but not write to."""
    folder = tmp_path_factory.mktemp("foreign")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 0o1 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o11)
    folder.chmod(0o755)
    return folder


@AS_NOBODY
def test_a_wal_database_in_a_folder_that_cannot_be_written_is_still_read(foreign: Path) -> None:
    path = foreign / "opencode.db"
    make_store(path, sessions=2)

    assert as_nobody(OPEN_AND_TELL.format(path=str(path))) == "2"


@AS_NOBODY
def test_changes_in_a_wal_that_cannot_be_read_are_not_hidden(foreign: Path, tmp_path: Path) -> None:
    make_store(tmp_path / "opencode.db", sessions=2)
    code = (
        "import sqlite3,os,sys; c=sqlite3.connect(sys.argv[1]); c.execute('update session set title=1'); c.commit();"
        " os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "opencode.db")], check=True)
    for end in ("", "-wal"):
        shutil.copy(tmp_path / f"opencode.db{end}", foreign / f"opencode.db{end}")

    assert as_nobody(OPEN_AND_TELL.format(path=str(foreign / "opencode.db"))) == "permission"


@AS_NOBODY
def test_a_file_that_may_not_be_read_is_a_matter_of_permission(foreign: Path) -> None:
    path = foreign / "opencode.db"
    make_store(path, sessions=1)
    path.chmod(0o600)

    assert as_nobody(OPEN_AND_TELL.format(path=str(path))) == "permission"
