"""What never reaches a model and stops people all the same: moved folders, sessions of which only events are left,
stores of a newer client, journals that stop an older one, and stores that lie beside; by command, page and API."""

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
from sessions_app.domain.handback.relink import Move, project_moves, relink_operations
from sessions_app.domain.repair import OperationError
from sessions_app.domain.rowdoc import parse_value
from sessions_app.models import AuditEntry, Session
from sessions_app.stores.sqlite.events import gone_sessions, rebuilt
from sessions_app.stores.sqlite.inspection import sizes
from sessions_app.stores.sqlite.store import SqliteStore
from tests.factories.corpus import attached, copied
from tests.paths import CORPUS

from .sqlite import change, rows

OLD, NEW = "/home/dev/proj", "/srv/proj"


@pytest.fixture
def admin(db) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("alice"))
    return client


def twin(database: Path, number: int, **columns: object) -> str:
    """Another session like the first one, without messages."""
    name = f"ses_{number}d47f4334ffejEypvt6rUDOPzh"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM session").fetchone()) | {"id": name} | columns
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO session ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    return name


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def moved(folder: Path, *, project: str = NEW) -> Path:
    """Six sessions that still name the folder that was moved; two lie deeper in it."""
    path = copied("clean", folder)
    for number in range(3):
        twin(path, number)
    for number in (3, 4):
        twin(path, number, directory=f"{OLD}/sub", path="sub")
    change(path, f"UPDATE project SET worktree = '{project}'")
    return path


# A folder that was moved


@pytest.mark.parametrize("project", [NEW, OLD], ids=["the client was there", "not yet"])
def test_a_whole_folder_is_filed_anew_in_one_plan_with_one_undo(suture, tmp_path, db, project: str) -> None:
    path = moved(tmp_path, project=project)
    before = rows(path)

    plan = suture("relink", path, "--from", OLD, "--to", f"{NEW}/", "--dry-run", "--json").json
    untouched = rows(path)
    done = suture("relink", path, "--from", OLD, "--to", NEW, "--json").json
    again = suture("relink", path, "--from", OLD, "--to", NEW)

    assert untouched == before
    assert {one["outcome"] for one in plan["sessions"]} == {"would-repair"} and plan["repairs"] == []
    assert len(done["sessions"]) == 6 and len(done["repairs"]) == 1
    assert len(done["projects"]) == (project == OLD)
    assert sorted(query(path, "SELECT directory, path FROM session")) == sorted(
        [(NEW, "")] * 4 + [(f"{NEW}/sub", "sub")] * 2
    )
    assert query(path, "SELECT worktree FROM project") == [(NEW,)]
    assert suture("relink", path, "--json").json["hidden"] == []
    assert again.code == 0 and f"No session is filed in {OLD}" in again.out
    assert suture("undo", done["repairs"][0]).code == 0
    assert rows(path) == before


def test_sessions_that_are_named_go_where_their_project_is_now(suture, tmp_path) -> None:
    path = moved(tmp_path)
    named = [session for (session,) in query(path, "SELECT id FROM session WHERE path = ''")][:3]
    flags = [word for session in named for word in ("--session", session)]

    done = suture("relink", path, *flags, "--json").json

    assert len(done["repairs"]) == 1
    assert {one["after"]["directory"] for one in done["sessions"]} == {NEW}
    assert query(path, f"SELECT count(*) FROM session WHERE directory = '{OLD}'") == [(1,)]


def test_one_directory_may_be_for_several_sessions(suture, tmp_path) -> None:
    path = moved(tmp_path)
    named = [session for (session,) in query(path, "SELECT id FROM session")]
    flags = [word for session in named for word in ("--session", session)]

    assert suture("relink", path, *flags, "--directory", NEW).code == 0
    assert query(path, "SELECT DISTINCT directory, path FROM session") == [(NEW, "")]


@pytest.mark.parametrize(
    "flags",
    [
        ("--from", OLD),
        ("--to", NEW),
        ("--from", "proj", "--to", NEW),
        ("--from", OLD, "--to", f"{OLD}/"),
        ("--directory", NEW),
        ("--from", OLD, "--to", NEW, "--directory", NEW),
    ],
)
def test_folders_that_say_nothing_are_bad_usage(suture, tmp_path, flags: tuple[str, ...]) -> None:
    path = moved(tmp_path)
    before = rows(path)

    assert suture("relink", path, *flags).code == 2
    assert rows(path) == before


@pytest.mark.parametrize(
    ("path", "becomes"),
    [
        (OLD, NEW),
        (f"{OLD}/", NEW),
        (f"{OLD}/a/b", f"{NEW}/a/b"),
        ("/home/dev/project", ""),
        ("/home", ""),
        (None, ""),
    ],
)
def test_what_lies_in_the_old_folder_lies_at_the_same_place_in_the_new_one(path: object, becomes: str) -> None:
    assert Move.of(f"{OLD}/", NEW).where(path) == becomes


def test_a_project_moves_with_its_folder_unless_one_is_there() -> None:
    project: dict[str, Any] = {"id": "p", "worktree": f"{OLD}/app", "sandboxes": f'[ "{OLD}/wt", "/elsewhere" ]'}
    there = {"id": "q", "worktree": f"{NEW}/app", "sandboxes": "not json"}
    move = Move.of(OLD, NEW)

    [change] = project_moves([project, {"id": "global", "worktree": "/"}], move)

    assert change.after == {"id": "p", "worktree": f"{NEW}/app", "sandboxes": f'[ "{NEW}/wt", "/elsewhere" ]'}
    assert project_moves([project, there], move) == ()
    assert project_moves([{**there, "worktree": OLD}], move)[0].after["sandboxes"] == "not json"  # type: ignore[index]


def test_a_session_whose_project_was_moved_is_filed_at_its_path_there() -> None:
    session = {"id": "ses_1", "project_id": "p", "directory": f"{OLD}/sub", "path": "sub"}
    document = {"session": session, "projects": [{"id": "p", "worktree": NEW}]}

    [operation] = relink_operations(parse_value(document))

    assert operation.columns == {"directory": f"{NEW}/sub"}
    with pytest.raises(OperationError, match="no project global"):
        relink_operations(parse_value({**document, "projects": [{"id": "p", "worktree": "/"}]}))


@pytest.mark.django_db
def test_page_and_api_file_a_moved_folder_too(admin, data_dir, tmp_path, django_capture_on_commit_callbacks) -> None:
    source = attached(moved(tmp_path))
    page, api = reverse("sessions_app:source-relink", args=[source.pk]), f"/api/v1/sources/{source.pk}/relink"
    folders = {"from": OLD, "to": NEW}

    preview = admin.get(page, folders).content.decode()
    planned = admin.post(api, json.dumps(folders), content_type="application/json").json()
    before = rows(Path(source.path))
    with django_capture_on_commit_callbacks(execute=True):
        done = admin.post(page, folders).content.decode()
    again = admin.post(api, json.dumps(folders | {"dry_run": False}), content_type="application/json")

    assert "File them there" in preview and f"directory: {NEW}/sub" in preview
    assert len(planned["sessions"]) == 6 and planned["repairs"] == []
    assert "suture undo rep_" in done and rows(Path(source.path)) != before
    assert AuditEntry.objects.get(action="source.relinked").data["count"] == 6
    assert set(Session.objects.filter(source=source).values_list("directory", flat=True)) == {NEW, f"{NEW}/sub"}
    assert again.status_code == 409 and again.json()["kind"] == "nothing"
    assert admin.get(page, {"from": "x", "to": NEW}).status_code == 422


@pytest.mark.django_db
def test_the_page_of_a_session_proposes_where_its_project_is_now(admin, data_dir, tmp_path) -> None:
    source = attached(moved(tmp_path))
    session = Session.objects.filter(source=source)[0]
    address = reverse("sessions_app:relink", args=[session.pk])

    preview = admin.get(address).content.decode()
    done = admin.post(address, {"directory": NEW, "hash": session.rows_hash})

    assert f'name="directory" value="{NEW}"' in preview
    assert done.status_code == 302
    assert Session.objects.get(pk=session.pk).directory == NEW


# A store whose client is 2.x now


def test_relink_refuses_what_its_client_cannot_list_and_says_what_works(suture, tmp_path) -> None:
    path = copied("clean", tmp_path)
    change(path, "CREATE TABLE session_v2 AS SELECT * FROM session WHERE 0")
    change(path, "UPDATE session SET directory = '/elsewhere'")
    before = rows(path)
    [(session,)] = query(path, "SELECT id FROM session")

    for flags in (("--session", session), ("--from", "/elsewhere", "--to", NEW)):
        run = suture("relink", path, *flags)
        assert run.code == 1
        assert "used by a 2.x client" in run.err and "Export the session" in run.err
    assert rows(path) == before


@pytest.mark.django_db
def test_the_page_offers_no_relink_where_it_would_not_help(admin, data_dir, tmp_path) -> None:
    path = copied("clean", tmp_path)
    change(path, "CREATE TABLE session_v2 AS SELECT * FROM session WHERE 0")
    source = attached(path)
    session = Session.objects.get(source=source)
    address = reverse("sessions_app:relink", args=[session.pk])

    store = admin.get(reverse("sessions_app:source-store", args=[source.pk])).content.decode()
    page = admin.get(address, {"directory": "/home/dev/proj/x"}).content.decode()
    posted = admin.post(address, {"directory": "/home/dev/proj/x", "hash": session.rows_hash})
    asked = admin.post(f"/api/v1/sessions/{session.pk}/relink/plan", "{}", content_type="application/json")
    told = admin.get(f"/api/v1/sources/{source.pk}/store").json()["hidden"]

    assert address not in store and "Export the session" in store
    assert "Export the session" in page and "What would change" not in page
    assert posted.status_code == 409
    assert asked.status_code == 409 and "Export the session" in asked.json()["detail"]
    assert told[0]["instead"].startswith("Export the session")


# Sessions of which only events are left


def gone(folder: Path) -> tuple[Path, str]:
    """A database whose session is deleted with its rows; its events are there."""
    path = copied("clean", folder)
    twin(path, 0)
    session = "ses_dd47f4334ffejEypvt6rUDOPzh"
    for table, column in (("part", "session_id"), ("message", "session_id"), ("session", "id")):
        change(path, f"DELETE FROM {table} WHERE {column} = '{session}'")
    return path, session


def as_json(path: Path, table: str) -> dict[str, Any]:
    return {name: json.loads(data) for name, data in query(path, f"SELECT id, data FROM {table}")}


def test_a_session_that_is_gone_is_named_made_from_its_events_and_taken_out_again(suture, tmp_path, db) -> None:
    path, session = gone(tmp_path)
    before = rows(path)

    told = suture("scan", path, "--json").json["store"]["findings"]
    plan = suture("adopt", path, "--into", path, "--dry-run", "--json").json["sessions"]
    untouched = rows(path)
    [done] = suture("adopt", path, "--session", session, "--into", path, "--json").json["sessions"]
    again = suture("adopt", path, "--into", path)

    assert [(one["rule"], one["rows"]) for one in told] == [("session-gone", [session])]
    assert [one["outcome"] for one in plan] == ["would-adopt"] and untouched == before
    assert (done["outcome"], done["messages"], done["parts"], done["left_out"]) == ("adopted", 3, 9, [])
    for table in ("message", "part"):
        assert as_json(path, table) == as_json(CORPUS / "clean.db", table)
    row = f"SELECT * FROM session WHERE id = '{session}'"
    assert query(path, row) == query(CORPUS / "clean.db", row)
    assert again.code == 0 and "no session to bring in" in again.out
    assert suture("undo", done["repair"]).code == 0
    assert rows(path) == before


def test_a_session_that_is_gone_can_be_made_in_another_database(suture, tmp_path) -> None:
    path, session = gone(tmp_path)
    other = copied("dup_id_slow", tmp_path / "other")

    assert "no session" in suture("adopt", path, "--session", "ses_nowhere", "--into", other).err.lower()
    done = suture("adopt", path, "--session", session, "--into", other, "--json").json["sessions"]
    everything = suture("adopt", path, "--into", other, "--dry-run", "--json").json["sessions"]

    assert [one["outcome"] for one in done] == ["adopted"]
    assert session not in [one["id"] for one in everything], "only what is asked for is made from events"


def event(path: Path, kind: str, data: dict[str, Any]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        found = connection.execute("SELECT aggregate_id, max(seq) + 1 FROM event").fetchone()
        row = (f"evt_zz{found[1]:010d}", *found, kind, json.dumps(data))
        connection.execute("INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, ?)", row)


def test_what_was_removed_stays_removed_and_what_cannot_be_read_is_named(tmp_path) -> None:
    path, session = gone(tmp_path)
    [message, last] = [name for (name,) in query(CORPUS / "clean.db", "SELECT id FROM message ORDER BY id")][1:]
    [(part,)] = query(CORPUS / "clean.db", f"SELECT id FROM part WHERE message_id = '{message}' LIMIT 1")
    event(path, "message.part.removed.1", {"sessionID": session, "messageID": message, "partID": part})
    event(path, "message.removed.1", {"sessionID": session, "messageID": last})
    event(path, "session.updated.1", {"sessionID": session, "info": {"title": "Renamed", "permission": None}})
    event(path, "message.updated.1", {"sessionID": session, "info": {"id": "msg_x"}})
    event(path, "todo.updated.1", {"sessionID": session})

    with stores.open_store(path) as store:
        assert isinstance(store, SqliteStore)
        made = rebuilt(store, session)

    assert [row["id"] for row in made.rows.messages][1:] == [message]
    assert part not in [row["id"] for row in made.rows.parts] and len(made.rows.parts) == 5
    assert (made.rows.session["title"], made.rows.session["permission"]) == ("Renamed", None)
    assert made.rows.session["slug"] == "proud-knight", "older clients tell only what changed"
    assert len(made.unread) == 2 and "todo.updated" in made.unread[1][1]


def test_a_session_that_was_deleted_on_purpose_is_not_missed(tmp_path) -> None:
    path, session = gone(tmp_path)
    event(path, "session.deleted.1", {"sessionID": session, "info": {"id": session}})

    with stores.open_store(path) as store:
        assert isinstance(store, SqliteStore)
        assert gone_sessions(store) == ()


def test_rows_that_are_left_go_first_so_that_undo_holds(suture, tmp_path) -> None:
    path = copied("clean", tmp_path)
    change(path, "DELETE FROM session")  # its messages and parts stay, as without foreign keys
    before = rows(path)

    run = suture("adopt", path, "--into", path, "--json")

    assert run.code == 1
    assert run.json["sessions"][0]["outcome"] == "refused" and "Take them out first" in run.json["sessions"][0]["why"]
    assert rows(path) == before


@pytest.mark.django_db
def test_page_and_api_make_a_session_anew(admin, data_dir, tmp_path, django_capture_on_commit_callbacks) -> None:
    path, session = gone(tmp_path)
    source = attached(path)
    store, adopt = (reverse(f"sessions_app:source-{name}", args=[source.pk]) for name in ("store", "adopt"))
    asked = {"into": source.pk, "session": session}

    page = admin.get(store).content.decode()
    told = admin.get(f"/api/v1/sources/{source.pk}/store").json()
    preview = admin.get(adopt, asked).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        done = admin.post(adopt, asked).content.decode()
    body = json.dumps({"into": source.pk})
    again = admin.post(f"/api/v1/sources/{source.pk}/adopt", body, content_type="application/json")

    assert "Make it anew" in page and told["gone"] == [{"id": session, "title": "A title", "events": 32, "told": True}]
    assert f'name="session" value="{session}"' in preview
    assert "suture undo rep_" in done
    assert Session.objects.get(source=source, stored_id=session).health == Session.Health.HEALTHY
    assert again.status_code == 409 and again.json()["kind"] == "nothing"


# What stops an older client, and what fills the file


def test_a_journal_that_stops_older_clients_is_told_with_what_to_do(suture, tmp_path) -> None:
    path = copied("kill_running@1.2.1", tmp_path)
    sound = suture("scan", path, "--json").json["store"]["findings"]
    change(path, "CREATE TABLE migration (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL)")

    [found] = suture("scan", path, "--json").json["store"]["findings"]
    change(path, "INSERT INTO migration VALUES ('20260101000000_x', 1)")

    assert sound == []
    assert found["rule"] == "migration-stopped"
    assert "no such column: name" in found["summary"]
    assert "Upgrade the client" in found["summary"] and "do not delete the file" in found["summary"]
    assert suture("scan", path, "--json").json["store"]["findings"] == []


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected error\n\nno such column: name",
        "Database is not empty and has no session table",
        "Legacy migration timestamp 1771372800000 does not match any known migration",
    ],
)
def test_what_an_older_client_says_when_it_stops_is_understood(suture, tmp_path, text: str) -> None:
    said = suture("locate", copied("clean", tmp_path), "--error", text, "--json").json

    assert (said["class"], said["kind"]) == ("store", "migration")
    assert "Upgrade the client" in said["next"] and "do not delete the file" in said["next"]


def bloat(folder: Path) -> Path:
    path = copied("clean", folder)
    with closing(sqlite3.connect(path)) as connection, connection:
        [(session,)] = connection.execute("SELECT id FROM session").fetchall()
        big = (
            (f"evt_zz{number:08d}", session, 100 + number, "message.part.updated.1", "x" * 20_000)
            for number in range(900)
        )
        connection.executemany("INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, ?)", big)
        connection.execute("CREATE TABLE junk (x)")
        connection.executemany("INSERT INTO junk VALUES (?)", [("y" * 4000,)] * 1500)
        connection.execute("DROP TABLE junk")
    return path


def test_events_and_free_pages_are_measured_and_told(suture, tmp_path, monkeypatch) -> None:
    path = bloat(tmp_path)

    [found] = suture("scan", path, "--json").json["store"]["findings"]
    with stores.open_store(path) as store:
        assert isinstance(store, SqliteStore)
        exact = sizes(store)
        monkeypatch.setattr("sessions_app.stores.sqlite.inspection._MEASURED", 1)
        monkeypatch.setattr("sessions_app.stores.sqlite.inspection._SAMPLE", 100)
        guessed = sizes(store)

    assert found["rule"] == "event-log" and found["severity"] == "info"
    assert "18 MB are the client's event log (932 events) and 6.2 MB free pages" in found["summary"]
    assert exact.file == path.stat().st_size and exact.events > 18_000_000 and not exact.sampled
    assert guessed.sampled and abs(guessed.events - exact.events) < exact.events * 0.1


@pytest.mark.django_db
def test_page_and_api_say_what_fills_the_file(admin, data_dir, tmp_path) -> None:
    source = attached(bloat(tmp_path))

    page = admin.get(reverse("sessions_app:source-store", args=[source.pk])).content.decode()
    told = admin.get(f"/api/v1/sources/{source.pk}/store").json()["sizes"]

    assert "18 MB are the client" in page and "Tidy this store" in page
    assert told["event_rows"] == 932 and told["free"] > 6_000_000


# Stores that lie beside


def several(folder: Path) -> Path:
    """The data directory with two channels of opencode, and two forks beside and in it."""
    home = folder / "share"
    for name in (
        "opencode/opencode.db",
        "opencode/opencode-stable.db",
        "kilo/kilo.db",
        "opencode/mimocode/mimocode.db",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CORPUS / "clean.db", home / name)
    return home


def test_stores_beside_are_named_and_opened(suture, tmp_path, monkeypatch) -> None:
    home = several(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.delenv("OPENCODE_DB", raising=False)

    run = suture("scan", "--json")
    folder = suture("scan", home / "opencode")
    named = suture("scan", home / "opencode" / "opencode.db")

    assert run.json["source"]["path"] == str(home / "opencode" / "opencode.db")
    for name in ("opencode/opencode-stable.db", "kilo/kilo.db", "opencode/mimocode/mimocode.db"):
        assert f"{home / name} (1 session)" in run.err
        assert suture("scan", home / name, "--json").json["sessions"]
    assert "mimocode.db" in folder.err and "opencode-stable.db" in folder.err
    assert named.err == ""
    assert suture("scan", home / "kilo", "--json").json["sessions"], "a fork's folder is opened too"


def test_a_fork_alone_is_what_is_opened(suture, tmp_path, monkeypatch) -> None:
    home = several(tmp_path)
    shutil.rmtree(home / "opencode")
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.delenv("OPENCODE_DB", raising=False)

    run = suture("scan", "--json")

    assert run.json["source"]["path"] == str(home / "kilo" / "kilo.db")
    assert run.err == ""
