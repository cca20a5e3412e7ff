"""What the real client makes of what is handed back: it imports the export, lists what was relinked and brought in, and
goes on."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import opencode, strict
from tests.client.opencode import Client
from tests.client.provider import ANSWER, Provider
from tests.paths import CORPUS

from .sqlite import PROGRAM, change, run

__all__ = ["opencode", "strict"]

pytestmark = [pytest.mark.client, pytest.mark.exhaustive]


def listed(client: Client) -> list[str]:
    """Ids that ``opencode session list`` shows."""
    output = client.run("session", "list", "--format", "json").output
    return [row["id"] for row in json.loads(output[output.index("[") :])] if "[" in output else []


def test_a_repaired_export_is_imported_beside_the_original_and_goes_on(
    suture, opencode: Client, strict: Provider, tmp_path: Path
) -> None:
    original = opencode.take(CORPUS / "dup_id_slow.db")
    made = suture("export", opencode.database, "--as", "export", "--output", tmp_path / "export.json")
    session = json.loads((tmp_path / "export.json").read_text("utf-8"))["info"]["id"]

    taken = opencode.take_in(tmp_path / "export.json")
    run_ = opencode.go_on(session)

    assert made.code == 0, made.err
    assert taken.code == 0, taken.output
    assert session != original
    assert ANSWER in run_.output
    assert [request.error for request in strict.turns()] == [None]


def test_the_imported_rows_are_all_there(suture, opencode: Client, tmp_path: Path) -> None:
    opencode.take(CORPUS / "compact_ok.db")
    suture("export", opencode.database, "--as", "export", "--as-stored", "--output", tmp_path / "export.json")
    document = json.loads((tmp_path / "export.json").read_text("utf-8"))

    opencode.take_in(tmp_path / "export.json")

    with closing(sqlite3.connect(opencode.database)) as connection:
        stored = connection.execute(
            "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id",
            (document["info"]["id"],),
        ).fetchall()
    expected = sorted(
        (part.pop("id"), part.pop("messageID"), part)
        for message in document["messages"]
        for part in message["parts"]
        if part.pop("sessionID")
    )
    assert [(part, message, json.loads(data)) for part, message, data in stored] == expected


def test_under_its_own_ids_the_client_takes_it_only_after_a_delete(suture, opencode: Client, tmp_path: Path) -> None:
    repository(opencode.project)
    session = opencode.take(CORPUS / "dup_id_slow.db")
    suture("export", opencode.database, "--as", "export", "--same-ids", "--output", tmp_path / "export.json")

    opencode.take_in(tmp_path / "export.json")
    before = suture("scan", opencode.database, "--json").json["sessions"][0]["health"]
    opencode.run("session", "delete", session)
    opencode.take_in(tmp_path / "export.json")
    after = suture("scan", opencode.database, "--json").json["sessions"][0]["health"]

    assert (before, after) == ("blocked", "healthy")


@pytest.mark.parametrize(
    "name",
    [
        "v1_unknown_part_chat.db",
        "v1_output_missing_chat.db",
        "v1_text_missing_chat.db",
        "kill_pending_args@1.0.152.storage.tgz",
        "lone_surrogate.db",
    ],
)
def test_the_client_imports_what_is_odd(suture, opencode: Client, tmp_path: Path, name: str) -> None:
    for form in ([], ["--as-stored"]):
        target = tmp_path / f"export{len(form)}.json"
        suture("export", CORPUS / name, "--as", "export", *form, "--output", target)

        taken = opencode.take_in(target)

        assert taken.code == 0, (form, taken.output)


@pytest.mark.skipif(PROGRAM is None, reason="the sqlite3 program is not installed")
def test_a_patched_database_goes_on(suture, opencode: Client, strict: Provider, tmp_path: Path) -> None:
    session = opencode.take(CORPUS / "seed_dup_partial_abort.db")
    suture("repair", opencode.database, "--patch", tmp_path / "patch.sql")

    done = run(opencode.database, (tmp_path / "patch.sql").read_text("utf-8"))
    run_ = opencode.go_on(session)

    assert done.returncode == 0, done.stderr
    assert ANSWER in run_.output
    assert [request.error for request in strict.turns()] == [None]


def test_a_relinked_session_is_listed(suture, opencode: Client) -> None:
    session = opencode.take(CORPUS / "clean.db")
    repository(opencode.project)
    before = listed(opencode)  # the client makes the project now
    plan = suture("relink", opencode.database, "--session", session, "--dry-run")
    done = suture("relink", opencode.database, "--session", session)

    assert session not in before
    assert "project_id" in plan.out
    assert done.code == 0, done.err
    assert session in listed(opencode)


def test_a_tree_brought_in_is_listed_and_goes_on(suture, opencode: Client, strict: Provider, tmp_path: Path) -> None:
    opencode.take(CORPUS / "clean.db")
    tree = unpacked(CORPUS / "compact_ok@1.0.152.storage.tgz", tmp_path, opencode.project)
    repository(opencode.project)
    listed(opencode)
    session = suture("scan", tree, "--json").json["sessions"][0]["id"]

    brought = suture("adopt", tree, "--into", opencode.database, "--json")
    run_ = opencode.go_on(session)

    assert brought.code == 0, brought.err
    assert session in listed(opencode)
    assert ANSWER in run_.output, run_.output
    assert [request.error for request in strict.turns()] == [None]


@pytest.mark.django_db
def test_a_tree_brought_in_and_taken_out_again_leaves_no_row(suture, opencode: Client, tmp_path: Path) -> None:
    opencode.take(CORPUS / "clean.db")
    tree = unpacked(CORPUS / "kill_parallel@1.0.152.storage.tgz", tmp_path, opencode.project)
    brought = suture("adopt", tree, "--into", opencode.database, "--json").json["sessions"][0]

    undone = suture("undo", brought["repair"])

    assert undone.code == 0, undone.err
    assert brought["id"] not in listed(opencode)


def test_a_recovered_database_opens(suture, opencode: Client, strict: Provider, tmp_path: Path) -> None:
    session = opencode.take(CORPUS / "clean.db")
    done = suture("recover", opencode.database, tmp_path / "new.db")
    opencode.forget()
    shutil.copyfile(tmp_path / "new.db", opencode.database)

    run_ = opencode.go_on(session)

    assert done.code == 0, done.out
    assert ANSWER in run_.output


def test_a_moved_folder_goes_on_where_it_is_now(suture, opencode: Client, strict: Provider, tmp_path: Path) -> None:
    session = opencode.take(CORPUS / "clean.db")
    repository(opencode.project)
    listed(opencode)
    suture("relink", opencode.database, "--session", session)
    there = Client(opencode.home, opencode.project.rename(tmp_path / "elsewhere"))

    done = suture("relink", there.database, "--from", opencode.project, "--to", there.project, "--json").json
    run_ = there.go_on(session)

    assert len(done["repairs"]) == 1 and done["projects"], "the client was not started there yet"
    assert session in listed(there)
    assert ANSWER in run_.output, run_.output
    assert [request.error for request in strict.turns()] == [None]


def test_a_session_made_from_its_events_goes_on(suture, opencode: Client, strict: Provider) -> None:
    session = opencode.take(CORPUS / "clean.db")
    for table in ("part", "message", "session"):
        change(opencode.database, f"DELETE FROM {table}")
    before = listed(opencode)

    done = suture("adopt", opencode.database, "--into", opencode.database, "--json").json["sessions"]
    filed = suture("relink", opencode.database, "--session", session, "--directory", opencode.project)
    run_ = opencode.go_on(session)

    assert session not in before
    assert [(one["outcome"], one["messages"], one["parts"]) for one in done] == [("adopted", 3, 9)]
    assert filed.code == 0, filed.err
    assert ANSWER in run_.output, run_.output
    assert [request.error for request in strict.turns()] == [None]


def test_a_session_without_its_patches_is_exported_and_goes_on(
    suture, opencode: Client, strict: Provider, tmp_path: Path
) -> None:
    session = opencode.take(CORPUS / "clean.db")
    change(
        opencode.database,
        "UPDATE message SET data = json_set(data, '$.summary', json(?)) WHERE json_extract(data, '$.role') = 'user'",
        json.dumps({"diffs": [{"file": "a.js", "patch": "+x" * 100_000, "additions": 1, "deletions": 0}]}),
    )

    done = suture("repair", opencode.database, "--session", session)
    export = json.loads(opencode.export(session, tmp_path / "export.json").read_text("utf-8"))
    run_ = opencode.go_on(session)

    assert done.code == 0, done.err
    [diff] = export["messages"][0]["info"]["summary"]["diffs"]
    assert diff == {"file": "a.js", "patch": "", "additions": 1, "deletions": 0}
    assert ANSWER in run_.output, run_.output


def repository(folder: Path) -> None:
    """Make the folder a git repository with one commit, so that the client gives it a project of its own."""
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "a"), ("EMAIL", "a@b"))
    }
    for command in (["git", "init", "-q"], ["git", "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(command, cwd=folder, env={**os.environ, **who}, check=True)


def unpacked(archive: Path, folder: Path, project: Path) -> Path:
    """The tree, its sessions moved to ``project``."""
    shutil.unpack_archive(archive, folder / "tree", "gztar", filter="data")
    tree = next((folder / "tree").rglob("session")).parent
    for path in [*tree.glob("session/*/*.json"), *tree.glob("project/*.json")]:
        value: dict[str, Any] = json.loads(path.read_text("utf-8"))
        value |= {"directory": str(project)} if "directory" in value else {"worktree": str(project)}
        path.write_text(json.dumps(value), "utf-8")
    return tree
