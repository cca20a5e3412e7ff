"""The index of words follows what is stored: filled by imports and in the background, left by what goes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app.models import Part, SearchBlock, Session
from sessions_app.selectors.searching import Found, sessions_search
from sessions_app.services import importing, indexing
from sessions_app.services.indexing import index_fill
from sessions_app.services.scanning import session_scan
from tests.factories.bigstore import make_store
from tests.factories.corpus import attached, synced

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(tmp_path: Path) -> Path:
    make_store(tmp_path / "opencode.db", sessions=3, output=3_000)
    return tmp_path / "opencode.db"


def changed(store: Path, session: Session, **data: Any) -> None:
    """The first text of a session becomes another."""
    part = Part.objects.filter(session=session, kind="text").order_by("position")[0]
    with closing(sqlite3.connect(store)) as file, file:
        file.execute(
            "UPDATE part SET data = ?, time_updated = time_updated + 1 WHERE id = ?",
            (json.dumps({"type": "text", **data}), part.stored_id),
        )
        file.execute("UPDATE session SET time_updated = time_updated + 1 WHERE id = ?", (session.stored_id,))


def said(text: str) -> Found:
    """Everything is in the index, so that nothing is read."""
    found = sessions_search(text)
    assert not found.unindexed
    return found


def words_kept() -> bool:
    """Whether the index holds a word at all."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT count(*) FROM sessions_app_searchword WHERE sessions_app_searchword MATCH %s", ("please",)
            )
        else:
            cursor.execute("SELECT count(*) FROM sessions_app_searchblock WHERE words @@ 'please'::tsquery")
        return bool(cursor.fetchone()[0])


def test_an_import_fills_it(store: Path) -> None:
    attached(store)

    assert len(said("please do step").hits) == 3
    assert {hit.hit.turn for hit in said("call_0_1_0").hits} == {2}
    assert [hit.hit.at for hit in said("quiet-fox-2").hits] == [""]


def test_what_changes_is_found_as_it_is_now(store: Path) -> None:
    source = attached(store)
    session = Session.objects.all()[0]

    changed(store, session, text="a pangolin")
    synced(source)

    (hit,) = said("pangolin").hits
    assert hit.row.id == session.pk
    changed(store, session, text="a walrus")
    synced(source)
    assert said("pangolin").hits == ()


def test_rows_that_changed_and_are_not_scanned_yet_are_read_and_said(store: Path) -> None:
    attached(store)
    session = Session.objects.all()[0]
    Part.objects.filter(session=session, kind="text").update(data='{"type":"text","text":"a pangolin"}')
    Session.objects.filter(pk=session.pk).update(indexed=False)

    found = sessions_search("pangolin")

    assert (found.unindexed, found.read, len(found.hits)) == (1, 1, 1)


def test_a_store_from_before_is_filled_in_the_background(store: Path) -> None:
    attached(store)
    SearchBlock.objects.all().delete()
    Session.objects.update(indexed=False)
    assert not words_kept()
    assert len(sessions_search("please").hits) == 3

    while index_fill():
        pass

    assert len(said("please").hits) == 3
    assert not index_fill()


def test_a_session_whose_words_cannot_be_read_says_so_and_stops_no_other(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(store)
    SearchBlock.objects.all().delete()
    Session.objects.update(indexed=False)
    poison = Session.objects.order_by("-time_updated", "-id")[0]
    real = indexing.session_rows

    def fails(session: Session) -> object:
        if session.pk == poison.pk:
            raise ValueError
        return real(session)

    monkeypatch.setattr(indexing, "session_rows", fails)

    while index_fill():
        pass

    poison.refresh_from_db()
    assert poison.error == indexing.NOT_INDEXED
    assert list(Session.objects.exclude(error="")) == [poison]
    assert set(SearchBlock.objects.values_list("session", flat=True)) == set(
        Session.objects.exclude(pk=poison.pk).values_list("pk", flat=True)
    )


def test_another_scan_of_the_same_rows_writes_nothing(store: Path) -> None:
    attached(store)
    before = list(SearchBlock.objects.values_list("pk", flat=True))

    session_scan(session=Session.objects.all()[0], now=timezone.now(), force=True)

    assert list(SearchBlock.objects.values_list("pk", flat=True)) == before


def test_what_is_deleted_leaves_it(store: Path) -> None:
    source = attached(store)
    Session.objects.all()[0].delete()
    assert len(said("please").hits) == 2

    importing.source_delete(source=source, actor="ann", now=timezone.now())

    assert not words_kept()
    assert not SearchBlock.objects.exists()


def test_of_an_output_the_beginning_is_in_it_and_the_rest_is_read_when_asked(store: Path) -> None:
    source = attached(store)
    session = Session.objects.all()[0]
    state = {
        "status": "completed",
        "input": {},
        "output": "heron " + "x " * 900 + "pelican",
        "title": "",
        "metadata": {},
        "time": {"start": 1, "end": 2},
    }
    changed(store, session, type="tool", tool="bash", callID="c", state=state)
    synced(source)

    assert len(said("heron").hits) == 1
    assert said("pelican").hits == ()
    assert len(sessions_search("pelican", deep=True).hits) == 1


@pytest.mark.parametrize(
    "text",
    [
        *('"', '""', '"a', "a*", "*", "AND", "a OR b", "NEAR(a b)", "-a", "a:b", "foo' & | !", "(", "\\", "%", "_"),
        *("'a':*", "^a", "{a}: b", "a\x1fb", "𐀀", "é" * 300, "- -> --", '"a b" c* "d'),
    ],
)
def test_no_text_is_a_mistake(store: Path, text: str) -> None:
    attached(store)

    sessions_search(text)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("step please", True),
        ('"step please"', False),
        ('"Please DO" step', True),
        ("ple", True),
        ("ple step", False),
        ("ple* step", True),
        ('"please d', True),
        ("please do stop", False),
        ("lease", False),
    ],
)
def test_words_stand_anywhere_in_a_place_and_phrases_as_they_are(store: Path, text: str, there: bool) -> None:
    attached(store)

    assert bool(said(text).hits) is there


def test_only_sessions_that_somebody_may_see_are_searched(store: Path) -> None:
    attached(store)
    mine = Session.objects.order_by("pk")[:1]

    found = sessions_search("please", among=Session.objects.filter(pk__in=[session.pk for session in mine]))

    assert ([hit.row.id for hit in found.hits], found.total) == ([mine[0].pk], 1)


def test_a_key_beside_a_place_is_not_cut_in_two(store: Path) -> None:
    source = attached(store)
    session, key = Session.objects.all()[0], "sk-ant-" + "a1b2" * 20
    changed(store, session, text=f"{key} {'.' * 30} pangolin")
    synced(source)

    (hit,) = said("pangolin").hits
    (key_hit,) = said("ant-a1b2").hits

    assert "a1b2" not in hit.hit.before
    assert key_hit.hit.found == key
