"""Stores as a whole: damage told and recovered, rows that belong nowhere, hidden sessions, trees brought in; by
command, page and API."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app import stores
from sessions_app.domain.handback.relink import place_of, relink_operations
from sessions_app.domain.repair import OperationError
from sessions_app.domain.rowdoc import parse_value
from sessions_app.models import AuditEntry, Repair, Session, Source
from tests.factories.corpus import attached, copied
from tests.paths import CORPUS

from .sqlite import change, rows

TREE = CORPUS / "kill_parallel@1.0.152.storage.tgz"


@pytest.fixture
def admin(db) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("alice"))
    return client


def damaged(folder: Path) -> Path:
    """A database with a page of parts overwritten, as a torn write leaves it."""
    path = folder / "damaged.db"
    shutil.copyfile(CORPUS / "compact_ok.db", path)
    with closing(sqlite3.connect(path)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'part'").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x99" * size)
    return path


def stray(path: Path) -> None:
    """A part and a message of sessions that are not stored."""
    change(
        path,
        "INSERT INTO message SELECT 'msg_stray', 'ses_gone', time_created, time_updated, data FROM message LIMIT 1",
    )
    change(
        path,
        "INSERT INTO part SELECT 'prt_stray', 'msg_nowhere', 'ses_gone', time_created, time_updated, data FROM part"
        " LIMIT 1",
    )


def hidden(path: Path) -> None:
    change(path, "UPDATE session SET project_id = 'global', path = 'home/dev/proj', time_archived = 5")


# Damage


def test_scan_tells_damage_and_goes_on_with_the_rest(suture, tmp_path) -> None:
    run = suture("scan", damaged(tmp_path), "--json")

    assert run.json["store"]["check"]["state"] == "damaged"
    assert run.json["store"]["findings"][0]["rule"] == "sqlite-corrupt"
    assert run.json["sessions"], "the session row is still readable"


def test_scan_of_a_sound_database_says_so(suture, tmp_path) -> None:
    run = suture("scan", copied("clean", tmp_path), "--json")

    assert run.json["store"] == {"check": {"state": "ok", "messages": []}, "findings": []}


def test_recover_writes_a_new_file_counts_what_is_lost_and_leaves_the_old_one(suture, tmp_path) -> None:
    path = damaged(tmp_path)
    before = path.read_bytes()

    run = suture("recover", path, tmp_path / "new.db", "--json")

    assert run.code == (1 if run.json["lost"] else 0)
    assert path.read_bytes() == before
    assert suture("scan", tmp_path / "new.db", "--json").json["store"]["check"]["state"] == "ok"
    kept = len(rows(tmp_path / "new.db", "part")["part"]) + len(rows(tmp_path / "new.db", "message")["message"])
    there = len(rows(CORPUS / "compact_ok.db", "part")["part"]) + len(
        rows(CORPUS / "compact_ok.db", "message")["message"]
    )
    assert kept + sum(run.json["lost"].values()) == there
    assert suture("recover", path, tmp_path / "new.db").code == 2, "never over a file that is there"


def test_recover_of_a_sound_file_loses_nothing(suture, tmp_path) -> None:
    run = suture("recover", copied("clean", tmp_path), tmp_path / "new.db")

    assert run.code == 0, run.err
    for table in ("session", "message", "part", "project"):
        assert rows(tmp_path / "new.db", table) == rows(CORPUS / "clean.db", table), table


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "empty (zero bytes)"), (b"\0" * 8192, "NUL"), (b"hello" * 100, "not")]
)
def test_files_that_hold_nothing_are_told_in_words(suture, tmp_path, content: bytes, words: str) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(content)

    for command in (("scan", path), ("recover", path, tmp_path / "new.db"), ("export", path)):
        run = suture(*command)
        assert run.code == 2, command
        assert words in run.err, (command, run.err)
    assert not (tmp_path / "new.db").exists()


@pytest.mark.django_db
def test_the_page_tells_damage_and_recovers_into_a_source_of_its_own(admin, data_dir, tmp_path) -> None:
    source = attached(damaged(tmp_path))

    page = admin.get(reverse("sessions_app:source-store", args=[source.pk])).content.decode()
    done = admin.post(reverse("sessions_app:source-recover", args=[source.pk]))

    assert "SQLite reports damage" in page and "Recover into a new file" in page
    found = Source.objects.exclude(pk=source.pk).get()
    assert done.url == reverse("sessions_app:source", args=[found.pk])
    assert "rows of sessions were saved" in found.note
    assert Path(found.file) != Path(source.file)
    assert Session.objects.filter(source=found).exists()
    assert AuditEntry.objects.filter(action="source.recovered").count() == 1


@pytest.mark.django_db
def test_a_file_too_damaged_to_attach_is_offered_for_recovery(admin, data_dir, tmp_path, settings, monkeypatch) -> None:
    monkeypatch.setattr("sessions_app.stores.sqlite.damage.shutil.which", lambda name: None)  # no .recover here
    settings.SUTURE_ATTACH_ROOTS = [str(tmp_path)]
    path = Path(shutil.copyfile(CORPUS / "compact_ok.db", tmp_path / "torn.db"))
    with closing(sqlite3.connect(path)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:  # the page that holds the table of tables, behind the file's header
        file.seek(100)
        file.write(b"\x99" * (size - 100))

    refused = admin.post(reverse("sessions_app:source-attach"), {"path": str(path)})
    done = admin.post(reverse("sessions_app:path-recover"), {"path": str(path)}, follow=True)

    assert refused.status_code == 422
    assert "Recover into a new file" in refused.content.decode()
    assert "Nothing could be recovered" in done.content.decode()
    assert not Source.objects.exists() and path.exists()


# Rows that belong nowhere


def test_rows_of_no_session_are_found_taken_out_and_put_back(suture, tmp_path, db) -> None:
    path = copied("clean", tmp_path)
    stray(path)
    before = rows(path)
    found = {one["table"]: one["rows"] for one in suture("scan", path, "--json").json["store"]["findings"]}
    source = attached(path)
    client = Client()
    client.force_login(User.objects.create_superuser("alice"))

    done = client.post(f"/api/v1/sources/{source.pk}/tidy", headers={"X-CSRFToken": ""}).json()

    assert found["message"] == ["msg_stray"] and "prt_stray" in found["part"]
    assert done["rows"] == 2
    assert suture("scan", path, "--json").json["store"]["findings"] == []
    assert suture("undo", done["repair"]).code == 0
    assert rows(path) == before


@pytest.mark.django_db
def test_there_is_nothing_to_take_out_of_a_sound_store(admin, data_dir, tmp_path) -> None:
    source = attached(copied("clean", tmp_path))

    assert admin.post(f"/api/v1/sources/{source.pk}/tidy").json() == {"repair": "", "rows": 0}


# Hidden sessions


@pytest.mark.parametrize(
    ("directory", "place"),
    [
        ("/home/dev/proj", ("p1", "")),
        ("/home/dev/proj/", ("p1", "")),
        ("/home/dev/proj/a/b", ("p1", "a/b")),
        ("/home/dev/proj/nested/x", ("p2", "x")),
        ("/home/dev/project", ("global", "home/dev/project")),
        ("/tree/wt", ("p1", "")),
        ("/old", ("new", "")),
        ("/", ("global", "")),
    ],
)
def test_project_and_path_are_those_the_client_computes(directory: str, place: tuple[str, str]) -> None:
    projects = [
        {"id": "global", "worktree": "/"},
        {"id": "p1", "worktree": "/home/dev/proj", "sandboxes": '["/tree/wt"]'},
        {"id": "p2", "worktree": "/home/dev/proj/nested"},
        {"id": "former", "worktree": "/old", "time_updated": 1},
        {"id": "new", "worktree": "/old", "time_updated": 2},
    ]

    assert place_of(directory, projects) == place


@pytest.mark.parametrize("directory", ["relative/path", "/nul\x00"])
def test_what_is_no_whole_path_is_refused(directory: str) -> None:
    with pytest.raises(OperationError):
        place_of(directory, [])


def test_a_project_that_the_store_has_not_is_never_made_up() -> None:
    session = parse_value(
        {"session": {"id": "ses_1", "project_id": "p", "directory": "/x", "path": ""}, "projects": []}
    )

    with pytest.raises(OperationError, match="Start opencode in /x once"):
        relink_operations(session)


def test_relink_sets_all_columns_together_and_undo_takes_them_back(suture, tmp_path, db) -> None:
    path = copied("clean", tmp_path)
    hidden(path)
    before = rows(path)
    session = suture("scan", path, "--json").json["sessions"][0]["id"]

    told = suture("relink", path, "--json").json["hidden"]
    plan = suture("relink", path, "--session", session, "--dry-run")
    untouched = rows(path)
    done = suture("relink", path, "--session", session, "--json")

    assert {reason["rule"] for reason in told[0]["reasons"]} >= {"hidden-project", "hidden-archived"}
    assert untouched == before
    assert all(f"{column} " in plan.out for column in ("project_id", "path", "time_archived"))
    with closing(sqlite3.connect(path)) as connection:
        stored = connection.execute("SELECT project_id, directory, path, time_archived FROM session").fetchone()
        known = connection.execute("SELECT id FROM project WHERE worktree = ?", (stored[1],)).fetchone()[0]
    assert stored == (known, "/home/dev/proj", "", None)
    assert suture("relink", path, "--json").json["hidden"] == []
    assert suture("undo", done.json["repairs"][0]).code == 0
    assert rows(path) == before


def test_relink_elsewhere_can_leave_the_archive_alone(suture, tmp_path) -> None:
    path = copied("clean", tmp_path)
    hidden(path)
    session = suture("scan", path, "--json").json["sessions"][0]["id"]

    done = suture("relink", path, "--session", session, "--directory", "/home/dev/proj/sub", "--keep-archived")

    assert done.code == 0, done.err
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT directory, path, time_archived FROM session").fetchone() == (
            "/home/dev/proj/sub",
            "sub",
            5,
        )


@pytest.mark.django_db
def test_the_store_page_says_why_a_session_is_hidden_and_the_relink_page_repairs_it(admin, data_dir, tmp_path) -> None:
    path = copied("clean", tmp_path)
    hidden(path)
    source = attached(path)
    session = Session.objects.get(source=source)
    address = reverse("sessions_app:relink", args=[session.pk])

    page = admin.get(reverse("sessions_app:source-store", args=[source.pk])).content.decode()
    preview = admin.get(address).content.decode()
    wrong = admin.get(address, {"directory": "relative"})
    done = admin.post(address, {"directory": "/home/dev/proj", "hash": session.rows_hash})

    assert "filed under project global" in page and address in page
    assert "time_archived" in preview and "project_id" in preview
    assert wrong.status_code == 422
    repair = Repair.objects.get()
    assert done.url.endswith(f"?outcome={repair.public_id}")
    assert Session.objects.get(pk=session.pk).findings.filter(rule__startswith="hidden-").count() == 0


@pytest.mark.django_db
def test_a_relink_of_a_session_that_changed_is_refused(admin, data_dir, tmp_path) -> None:
    path = copied("clean", tmp_path)
    hidden(path)
    session = Session.objects.get(source=attached(path))
    change(path, "UPDATE session SET title = 'renamed meanwhile'")

    done = admin.post(reverse("sessions_app:relink", args=[session.pk]), {"hash": session.rows_hash})

    assert done.status_code == 409
    assert "Nothing was written" in done.content.decode()
    assert not Repair.objects.filter(state=Repair.State.APPLIED).exists()


@pytest.mark.django_db
def test_the_api_previews_and_applies_a_relink(admin, data_dir, tmp_path) -> None:
    path = copied("clean", tmp_path)
    hidden(path)
    source = attached(path)
    session = Session.objects.get(source=source)

    def post(address: str, body: dict[str, Any]) -> Any:
        return admin.post(address, json.dumps(body), content_type="application/json")

    store = admin.get(f"/api/v1/sources/{source.pk}/store").json()
    plan = post(f"/api/v1/sessions/{session.pk}/relink/plan", {}).json()
    done = post(f"/api/v1/sessions/{session.pk}/relink", {"reason": "moved"})
    again = post(f"/api/v1/sessions/{session.pk}/relink", {})

    assert store["check"] == "ok" and store["rules"]["hidden-project"] == 1
    assert store["hidden"][0]["id"] == session.stored_id
    assert plan["before"]["project_id"] == "global" and plan["after"]["path"] == ""
    assert done.status_code == 200, done.content
    assert again.status_code == 409


def unpacked(folder: Path) -> Path:
    """A data directory of opencode with a tree in it."""
    shutil.unpack_archive(TREE, folder / "packed", "gztar", filter="data")
    tree = next((folder / "packed").rglob("session")).parent
    (folder / "opencode").mkdir()
    return Path(shutil.move(tree, folder / "opencode" / "storage"))


def test_a_session_that_is_only_in_the_tree_beside_the_database_is_told(suture, tmp_path) -> None:
    tree = unpacked(tmp_path)
    alone = suture("scan", tree, "--json").json["sessions"][0]["findings"]
    database = copied("clean", tmp_path / "opencode").rename(tmp_path / "opencode" / "opencode.db")
    beside = suture("scan", tree, "--json").json["sessions"][0]["findings"]
    suture("adopt", tree, "--into", database)
    brought = suture("scan", tree, "--json").json["sessions"][0]["findings"]

    told = [
        [finding["rule"] for finding in findings].count("hidden-generation") for findings in (alone, beside, brought)
    ]
    assert told == [0, 1, 0]


def test_a_database_of_a_2_x_client_hides_rows_of_1_x(suture, tmp_path) -> None:
    path = copied("clean", tmp_path)
    change(path, "ALTER TABLE session RENAME TO session_v2")

    hidden = suture("relink", path, "--json").json["hidden"]

    assert "2.x client" in hidden[0]["reasons"][0]["summary"]


def test_a_tree_with_empty_and_nul_filled_files_is_read_as_far_as_it_goes(suture, tmp_path) -> None:
    tree = unpacked(tmp_path)
    parts = sorted(tree.glob("part/*/*.json"))
    parts[0].write_bytes(b"")
    parts[1].write_bytes(b"\0" * 413)
    parts[2].write_bytes(parts[2].read_bytes()[:20])

    run = suture("scan", tree, "--json")

    corrupt = [
        part
        for finding in run.json["sessions"][0]["findings"]
        if finding["rule"] == "corrupt-json"
        for part in finding["parts"]
    ]
    assert sorted(corrupt) == sorted(path.stem for path in parts[:3])
    assert "is empty (zero bytes)" in run.err and "NUL bytes" in run.err


# Bringing sessions in


def test_a_tree_is_previewed_brought_in_and_taken_out_again(suture, tmp_path, db) -> None:
    path = copied("clean", tmp_path)
    before = rows(path)

    plan = suture("adopt", TREE, "--into", path, "--dry-run", "--json").json["sessions"][0]
    untouched = rows(path)
    done = suture("adopt", TREE, "--into", path, "--json").json["sessions"][0]
    again = suture("adopt", TREE, "--into", path, "--json").json["sessions"][0]

    assert plan["outcome"] == "would-adopt" and untouched == before
    assert done["outcome"] == "adopted" and done["messages"] > 0
    assert again["outcome"] == "there"
    with stores.open_store(TREE) as tree, stores.open_store(path) as store:
        told, brought = tree.read(done["id"]), store.read(done["id"])
        assert [row["id"] for row in brought.parts] == [row["id"] for row in told.parts]
        assert [json.loads(row["data"]) for row in brought.parts] == [json.loads(row["data"]) for row in told.parts]
    assert suture("undo", done["repair"]).code == 0
    assert rows(path) == before


def test_what_is_brought_in_is_filed_where_the_client_looks(suture, tmp_path) -> None:
    path = copied("clean", tmp_path)

    done = suture("adopt", TREE, "--into", path, "--json").json["sessions"][0]

    assert done["id"] not in [one["id"] for one in suture("relink", path, "--json").json["hidden"]]


@pytest.mark.parametrize("version", ["1.2.1", "1.18.11"])
def test_databases_of_other_versions_take_them_too(suture, tmp_path, version: str) -> None:
    path = copied(f"kill_parallel@{version}" if version == "1.2.1" else f"compact_ok@{version}", tmp_path)

    done = suture("adopt", CORPUS / "compact_ok.json", "--into", path, "--json").json["sessions"][0]

    assert done["outcome"] == "adopted", done
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_store_of_a_2_x_client_gets_no_rows_of_1_x(suture, tmp_path) -> None:
    path = copied("clean", tmp_path)
    change(path, "ALTER TABLE session RENAME TO session_v2")

    done = suture("adopt", TREE, "--into", path)

    assert done.code == 2
    assert "2.x client" in done.err and "opencode import" in done.err


@pytest.mark.django_db
def test_the_page_previews_and_brings_a_tree_into_another_source(
    admin, data_dir, tmp_path, django_capture_on_commit_callbacks
) -> None:
    tree = attached(Path(shutil.copyfile(TREE, tmp_path / "storage.tgz")))
    into = attached(copied("clean", tmp_path))
    address = reverse("sessions_app:source-adopt", args=[tree.pk])

    preview = admin.get(address, {"into": into.pk}).content.decode()
    nothing = Session.objects.filter(source=into).count()
    with django_capture_on_commit_callbacks(execute=True):
        done = admin.post(address, {"into": into.pk}).content.decode()

    assert "would be brought in" in preview and nothing == 1
    assert "brought in" in done and "suture undo rep_" in done
    assert Session.objects.filter(source=into).count() == 2


# What is handed back over the API


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["export", "patch", "undo", "rows", "report", "bundle", "database"])
def test_every_form_is_a_download_and_is_audited(admin, data_dir, tmp_path, form: str) -> None:
    session = Session.objects.get(source=attached(copied("dup_id_slow", tmp_path)))

    answer = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": form})
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content

    assert answer.status_code == 200, content[:300]
    assert answer["Content-Disposition"].startswith('attachment; filename="ses_')
    assert content
    assert AuditEntry.objects.get(action="export.made").data["form"] == form


@pytest.mark.django_db
def test_a_copy_of_the_database_is_repaired_and_keeps_no_log_ins(admin, data_dir, suture, tmp_path) -> None:
    path = copied("dup_id_slow", tmp_path)
    change(path, "INSERT INTO account VALUES ('a', 'a@b', 'u', 'token-secret', 'refresh-secret', 1, 1, 1)")
    before = rows(path)
    session = Session.objects.get(source=attached(path))

    answer = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "database"})
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"".join(answer.streaming_content))

    assert b"token-secret" not in copy.read_bytes()
    assert "Log-ins" in answer["X-Suture-Note"]
    assert suture("scan", copy, "--json").json["sessions"][0]["health"] == "healthy"
    assert rows(path) == before


@pytest.mark.django_db
def test_forms_of_no_use_are_refused_in_words(admin, data_dir, tmp_path) -> None:
    tree = Session.objects.get(source=attached(Path(shutil.copyfile(TREE, tmp_path / "storage.tgz"))))
    clean = Session.objects.get(source=attached(copied("clean", tmp_path)))

    for session, form, words in (
        (tree, "patch", "for a database"),
        (tree, "database", "not come from a database"),
        (clean, "patch", "nothing to repair"),
        (clean, "tree", "storage tree"),
    ):
        answer = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": form})
        assert answer.status_code == 409, (form, answer.content)
        assert words in answer.json()["detail"], (form, answer.json())


@pytest.mark.django_db
def test_a_source_that_is_gone_still_hands_back_what_was_imported(admin, data_dir, tmp_path) -> None:
    path = copied("clean", tmp_path)
    session = Session.objects.get(source=attached(path))
    path.unlink()

    report = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "report"})
    database = admin.get(f"/api/v1/sessions/{session.pk}/export", {"as": "database"})

    assert report.status_code == 200
    assert "imported before" in report["X-Suture-Note"]
    assert database.status_code == 503


@pytest.mark.django_db
def test_the_hand_back_tab_offers_the_forms_that_fit(admin, data_dir, tmp_path) -> None:
    session = Session.objects.get(source=attached(copied("dup_id_slow", tmp_path)))

    page = admin.get(reverse("sessions_app:handback", args=[session.pk])).content.decode()

    for form in ("database", "export", "patch", "undo", "rows", "report", "bundle"):
        assert f"export?as={form}" in page, form
    assert "as=tree" not in page


def test_a_report_is_markdown_that_hostile_text_cannot_leave(suture, tmp_path) -> None:
    path = copied("dup_id_slow", tmp_path)
    change(
        path,
        "UPDATE session SET title = ?",
        "# pwn <img src=x onerror=alert(1)> `x` | a\n\n[click](javascript:1)",
    )

    report = suture("export", path, "--as", "report").out

    assert report.startswith("# \\# pwn \\<img")
    assert "<img" not in report.replace("\\<img", "")
    assert "[click]" not in report.replace("\\[click\\]", "")
    assert "After it: **Healthy**" in report
