"""Sources: attaching, uploading, progress, deleting."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from sessions_app.models import ImportJob, Session, Source

from .conftest import BLOCKED

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_path_is_attached_read_and_shown(alice: Client, copied: Callable[[str], Path], data_dir: Path) -> None:
    answer = alice.post("/sources/attach/", {"path": str(copied(BLOCKED))}, follow=True)

    page = answer.html
    assert "1 of 1 session read and scanned" in page
    assert Session.objects.get().health == "blocked"


def test_of_a_folder_of_databases_each_is_attached_and_what_is_none_is_named(
    alice: Client, copied: Callable[[str], Path], data_dir: Path
) -> None:
    folder = copied(BLOCKED).parent / "customers"
    folder.mkdir()
    for name in ("one.db", "two.db"):
        copied(BLOCKED).rename(folder / name)
    (folder / "notes.db").write_text("no database at all")
    (folder / "link.db").symlink_to(copied(BLOCKED))

    page = alice.post("/sources/attach/", {"path": str(folder)}, follow=True).html

    assert sorted(Source.objects.values_list("name", flat=True)) == ["one.db", "two.db"]
    assert Session.objects.filter(health="blocked").count() == 2
    assert "Attached 2 databases of the folder." in page
    assert "Passed over: notes.db: " in page


def test_a_folder_without_a_database_is_refused_in_words(alice: Client, data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = alice.post("/sources/attach/", {"path": str(tmp_path / "empty")})
    assert answer.status_code == 422
    assert "The folder holds no sessions of opencode." in answer.html


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "Give the whole path"),
        ("opencode.db", "beginning with"),
        ("/nowhere/opencode.db", ""),
        ("/etc/hostname\x00.db", "Give the whole path"),
    ],
)
def test_what_cannot_be_attached_is_said_beside_the_field_and_nothing_is_kept(
    alice: Client, data_dir: Path, path: str, words: str
) -> None:
    answer = alice.post("/sources/attach/", {"path": path})

    assert answer.status_code == 422
    assert 'id="path-problem"' in answer.html
    assert words in answer.html
    assert not Source.objects.exists()


def test_a_server_for_others_attaches_only_from_the_folders_it_was_given(
    alice: Client, copied: Callable[[str], Path], data_dir: Path, settings: object, tmp_path: Path
) -> None:
    settings.SUTURE_ATTACH_ROOTS = [str(tmp_path / "allowed")]  # type: ignore[attr-defined]
    outside = copied(BLOCKED)
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "link.db").symlink_to(outside)

    for path in (outside, tmp_path / "allowed" / "link.db", tmp_path / "allowed" / ".." / outside.name):
        assert alice.post("/sources/attach/", {"path": str(path)}).status_code == 422
    assert not Source.objects.exists()


def test_an_upload_is_kept_as_a_copy_and_read(alice: Client, copied: Callable[[str], Path], data_dir: Path) -> None:
    file = SimpleUploadedFile("theirs.db", copied(BLOCKED).read_bytes())

    answer = alice.post("/sources/upload/", {"file": file}, follow=True)

    assert answer.status_code == 200
    source = Source.objects.get()
    assert source.origin == "uploaded"
    assert Path(source.stored_path).is_relative_to(data_dir)
    assert Session.objects.get().health == "blocked"


@pytest.mark.parametrize("content", [b"", b"not a store at all", b"SQLite format 3\x00" + b"\x00" * 50])
def test_an_upload_that_is_no_store_is_refused_in_words(alice: Client, data_dir: Path, content: bytes) -> None:
    answer = alice.post("/sources/upload/", {"file": SimpleUploadedFile("x.db", content)})

    assert answer.status_code == 422
    assert 'id="file-problem"' in answer.html
    assert not Source.objects.exists()


def test_sending_no_file_says_so(alice: Client, data_dir: Path) -> None:
    answer = alice.post("/sources/upload/", {})

    assert answer.status_code == 422
    assert "Choose a file first" in answer.html


def test_progress_is_polled_while_it_runs_and_the_page_is_made_anew_at_its_end(alice: Client, source: Source) -> None:
    job = ImportJob.objects.get(source=source)
    asking = {"HX-Request": "true", "HX-Target": "progress"}
    ImportJob.objects.filter(pk=job.pk).update(state="running", done=0)

    running = alice.get(f"/sources/{source.pk}/", headers=asking)
    ImportJob.objects.filter(pk=job.pk).update(state="done", done=1)
    ended = alice.get(f"/sources/{source.pk}/", headers=asking)

    assert 'hx-trigger="every 1s"' in running.html
    assert "<html" not in running.html
    assert (ended["HX-Refresh"], ended.content) == ("true", b"")


def test_a_source_that_was_read_leads_to_its_only_session(alice: Client, source: Source) -> None:
    page = alice.get(f"/sources/{source.pk}/").html
    session = Session.objects.get(source=source)

    assert f'<a class="button" href="/sessions/{session.pk}/">Open the session</a>' in page
    assert "1, of which 1 read" in page


def test_an_import_ends_with_how_its_sessions_stand_and_what_to_press(
    alice: Client, victor: Client, source: Source
) -> None:
    page, seen = alice.get(f"/sources/{source.pk}/").html, victor.get(f"/sources/{source.pk}/").html

    assert '<p class="lead">1 of 1 session cannot go on</p>' in page
    assert "1 can be repaired without losing anything." in page
    assert f'href="/sessions/?health=blocked&amp;source={source.pk}"' in page
    bulk = f'href="/bulk/?health=blocked&amp;fate=safe&amp;source={source.pk}"'
    assert bulk in page
    assert bulk not in seen


def test_a_store_says_how_big_it_is_and_what_of_it_holds_nothing(alice: Client, source: Source) -> None:
    with closing(sqlite3.connect(source.path)) as held:
        held.execute("PRAGMA journal_mode=WAL")
        held.execute("CREATE TABLE filler AS SELECT randomblob(3000000) AS data")
        held.execute("DROP TABLE filler")
        held.commit()
        page = alice.get("/sources/").html

    assert re.search(r"can be tidied: <a[^>]*>2\.9 MB</a> hold nothing", re.sub(r"&nbsp;|\xa0", " ", page))
    assert re.search(r"of it log \d", page)


def test_deleting_needs_its_tick_and_leaves_the_file(alice: Client, source: Source) -> None:
    path = Path(source.path)

    alice.post(f"/sources/{source.pk}/delete/", {})
    assert Source.objects.filter(pk=source.pk).exists()
    answer = alice.post(f"/sources/{source.pk}/delete/", {"sure": "yes"}, follow=True)

    assert not Source.objects.exists()
    assert path.exists()
    assert "Deleted" in answer.html


def test_theme_and_shortcuts_are_rendered_by_the_server(alice: Client) -> None:
    alice.post("/preferences/", {"theme": "dark", "shortcuts": "off", "next": "/help/"})
    page = alice.get("/help/").html

    assert 'data-theme="dark"' in page
    assert 'data-shortcuts="off"' in page


def test_a_preference_leads_back_only_to_this_site(alice: Client) -> None:
    assert alice.post("/preferences/", {"next": "https://elsewhere.example/"})["location"] == "/sessions/"
    assert alice.post("/preferences/", {"next": "/sources/"})["location"] == "/sources/"


def test_screens_speak_of_stores(alice: Client, source: Source) -> None:
    number = Session.objects.get().pk
    places = ("/", "/sessions/", f"/sessions/?source={source.pk}", f"/sessions/{number}/", f"/sessions/{number}/more/")
    places += ("/sources/", f"/sources/{source.pk}/", f"/sources/{source.pk}/store/", "/account/", "/sessions/0/")
    for place in places:
        said = re.sub(r"<[^>]*>", " ", alice.get(place).html)
        assert not re.search(r"\bsources?\b", said, re.IGNORECASE), place


def test_help_explains_every_rule(alice: Client) -> None:
    from sessions_app.domain.rules import REGISTRY

    page = alice.get("/help/").html

    assert all(f'id="{code}"' in page for code in REGISTRY)
