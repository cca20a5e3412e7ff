"""The storage tree of 1.0 and 1.1: whole, partial, broken, and written back file by file."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sessions_app.domain.repair import RowChange
from sessions_app.domain.rowdoc import rows_hash
from sessions_app.stores import GuardRefused, StoreError, open_store
from sessions_app.stores.ground import Problem
from sessions_app.stores.journal import Journal
from tests.each import for_each, stem
from tests.paths import CORPUS

from .conftest import replaced

TREES = sorted(CORPUS.glob("*.storage.tgz"))


def unpacked(archive: Path, dest: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(dest, filter="data")
    return dest / "storage"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return unpacked(CORPUS / "compact_ok@1.0.152.storage.tgz", tmp_path)


@pytest.fixture
def file(tree: Path) -> Callable[[str, int], Path]:
    """The n-th file of a kind, by name."""
    return lambda kind, n: sorted(tree.glob(f"{kind}/*/*.json"))[n]


@for_each("archive", TREES, name=stem)
def test_every_row_changed_and_undone_leaves_every_byte_of_every_file(
    archive: Path, tmp_path: Path, journal: Journal
) -> None:
    tree = unpacked(archive, tmp_path)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with open_store(tree) as store:
        for rows in list(store.read_all()):
            changes = [replaced(row, "part", data="{ " + row["data"][1:]) for row in rows.parts[1:]]
            changes += [replaced(row, "message", data="{ " + row["data"][1:]) for row in rows.messages]
            changes += [
                replaced(rows.session, "session", title="other"),
                RowChange("part", {"id": rows.parts[0]["id"]}, rows.parts[0], None),
            ]
            done = store.apply(changes, journal=journal)
            assert store.read(rows.id).session["title"] == "other"
            assert len(store.read(rows.id).parts) == len(rows.parts) - 1
            store.apply(journal.get(done.entry_id).inverse, journal=journal)
            assert rows_hash(store.read(rows.id)) == rows_hash(rows)

    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_the_parent_folder_opens_the_tree_too(tree: Path) -> None:
    with open_store(tree.parent) as store:
        assert store.path == tree


def test_a_zero_byte_part_is_a_problem_and_the_rest_goes_on(tree: Path, file) -> None:
    broken = file("part", 3)
    broken.write_bytes(b"")

    with open_store(tree) as store:
        (rows,) = store.read_all()

    assert {row["id"]: row["data"] for row in rows.parts}[broken.stem] == ""
    assert [(problem.where, problem.rule) for problem in store.problems] == [(f"part {broken.stem}", "corrupt-json")]
    assert "zero bytes" in store.problems[0].reason


def test_a_session_file_of_nul_bytes_does_not_empty_the_list(tree: Path, file) -> None:
    broken = file("session", 0)
    broken.write_bytes(b"\0" * 413)

    with open_store(tree) as store:
        (row,) = store.sessions()
        rows = store.read(row["id"])

        assert row["id"] == broken.stem
        assert len(rows.messages) > 3
        assert "413 NUL bytes" in store.problems[0].reason


def test_a_truncated_message_keeps_its_text_and_its_place(tree: Path, file) -> None:
    with open_store(tree) as store:
        (whole,) = store.read_all()
    broken = file("message", 4)
    text = broken.read_text()[:40]
    broken.write_text(text)

    with open_store(tree) as store:
        (rows,) = store.read_all()

    assert [row["id"] for row in rows.messages] == [row["id"] for row in whole.messages]
    assert rows.messages[4]["data"] == text
    assert [problem.rule for problem in store.problems] == ["corrupt-json"]


def test_two_values_in_one_file_are_a_fault(tree: Path, file) -> None:
    broken = file("part", 2)
    text = broken.read_text()
    broken.write_text(text + text)

    with open_store(tree) as store:
        (rows,) = store.read_all()

    assert {row["id"]: row["data"] for row in rows.parts}[broken.stem] == text + text
    assert "more than one value" in store.problems[0].reason


def test_messages_whose_session_file_is_gone_are_still_a_session(tree: Path, file) -> None:
    session = file("session", 0)
    session.unlink()

    with open_store(tree) as store:
        (row,) = store.sessions()
        assert row["id"] == session.stem
        assert store.read(row["id"]).parts
        assert "own file is missing" in store.problems[0].reason


def test_parts_whose_message_file_is_gone_come_as_orphans(tree: Path, file) -> None:
    message = file("message", 1)
    parts = {path.stem for path in (tree / "part" / message.stem).glob("*.json")}
    message.unlink()

    with open_store(tree) as store:
        (rows,) = store.read_all()

    assert parts and parts <= {row["id"] for row in rows.parts}
    assert message.stem not in {row["id"] for row in rows.messages}


def test_links_in_a_tree_are_not_followed(tree: Path, tmp_path: Path, file) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"id":"prt_x","token":"hush"}')
    (file("part", 0).parent / "prt_zzz.json").symlink_to(secret)

    with open_store(tree) as store:
        (rows,) = store.read_all()

    assert "hush" not in str(rows)


def test_a_renumbered_part_moves_to_another_file(tree: Path, file, journal: Journal) -> None:
    old = file("part", 5)
    with open_store(tree) as store:
        (rows,) = store.read_all()
        row = next(row for row in rows.parts if row["id"] == old.stem)
        store.apply([replaced(row, id="prt_new")], journal=journal)

    assert not old.exists()
    assert json.loads((old.parent / "prt_new.json").read_text())["id"] == "prt_new"


def test_a_row_that_changed_on_disk_refuses_the_write(tree: Path, file, journal: Journal) -> None:
    with open_store(tree) as store:
        (rows,) = store.read_all()
        one, two = rows.parts[:2]
        path = tree / "part" / two["message_id"] / f"{two['id']}.json"
        path.write_text(path.read_text().replace("type", "tipe"))
        with pytest.raises(GuardRefused, match="changed since"):
            store.apply([replaced(one, data="{}"), replaced(two, data="{}")], journal=journal)
        assert store.row("part", {"id": one["id"]}) == one


def test_an_id_cannot_lead_out_of_the_tree(tree: Path, journal: Journal) -> None:
    with open_store(tree) as store:
        (rows,) = store.read_all()
        for name in ("../../x", "a/b", ".", ""):
            with pytest.raises(GuardRefused, match="file name"):
                store.apply([replaced(rows.parts[0], id=name)], journal=journal)


def test_a_write_that_fails_half_way_puts_back_what_it_wrote(tree: Path, journal: Journal) -> None:
    before = {path: path.read_bytes() for path in tree.rglob("*.json")}
    with open_store(tree) as store:
        (rows,) = store.read_all()

        def disk_full(step: str) -> None:
            if step == "row 1":
                raise OSError("disk full")

        with pytest.raises(OSError, match="disk full"):
            store.apply([replaced(row, data="{}") for row in rows.parts[:4]], journal=journal, at=disk_full)

    assert {path: path.read_bytes() for path in tree.rglob("*.json")} == before
    assert [entry.state for entry in journal.entries()] == ["failed"]


def test_what_changed_in_a_tree_is_told_by_session(tree: Path, file) -> None:
    with open_store(tree) as store:
        mark = store.mark()
        assert store.changed_since(mark).changed == ()
        path = file("part", 1)
        path.write_text(path.read_text() + "\n")
        assert store.changed_since(mark).changed == (file("session", 0).stem,)
        file("session", 0).unlink()
        for message in tree.glob("message/*/*.json"):
            message.unlink()
        for folder in tree.glob("message/*"):
            folder.rmdir()
        assert store.changed_since(mark).deleted != ()


def test_a_tree_in_an_archive_is_read_and_not_written(journal: Journal) -> None:
    with open_store(TREES[0]) as store:
        rows = next(store.read_all())
        with pytest.raises(StoreError) as caught:
            store.apply([replaced(rows.parts[0], data="{}")], journal=journal)
    assert caught.value.kind == "read-only"


def test_thousands_of_broken_files_are_each_told_once_without_comparing_each_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "storage" / "message" / "ses_1"
    folder.mkdir(parents=True)
    for number in range(2000):
        (folder / f"msg_{number:04}.json").touch()
    compared = 0
    same = Problem.__eq__

    def counted(one: Problem, other: object) -> bool:
        nonlocal compared
        compared += 1
        return same(one, other)

    monkeypatch.setattr(Problem, "__eq__", counted)

    with open_store(tmp_path / "storage") as store:
        store.read("ses_1")
        store.read("ses_1")
        told = [problem.where for problem in store.problems]

    assert len(told) == len(set(told)) == 2001  # the session's own file is missing, too
    assert compared < 20_000
