"""``suture search`` and its counterparts of the API: one selector, the same sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import Part, Session
from tests.commands.running import Suture
from tests.factories.corpus import copied

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stored(suture: Suture, tmp_path: Path) -> list[Session]:
    for name in ("dup_id_slow", "clean"):
        suture("import", copied(name, tmp_path / name))
    return list(Session.objects.order_by("pk"))


def test_words_a_tool_and_ids_are_found_with_their_places(suture: Suture, stored: list[Session]) -> None:
    part = Part.objects.filter(session=stored[0], kind="tool").order_by("position")[0]
    for words in (part.tool, part.call_id, part.stored_id, stored[0].stored_id):
        found = suture("search", words, "--json").json
        assert stored[0].stored_id in [item["id"] for item in found["sessions"]], words
        assert found["complete"]
    by_id = suture("search", part.stored_id, "--json").json["sessions"]
    assert [(item["at"], item["found"]) for item in by_id] == [(part.stored_id, part.stored_id)]
    shown = suture("search", part.call_id)
    assert (shown.code, stored[0].stored_id in shown.out, part.call_id in shown.out) == (0, True, True)


def test_a_source_and_a_limit_narrow_it_and_what_is_left_is_said(suture: Suture, stored: list[Session]) -> None:
    said = Part.objects.filter(session=stored[1], kind="tool").order_by("position")[0].tool
    assert len(suture("search", said, "--json").json["sessions"]) == 2
    one = suture("search", said, "--source", stored[1].source_id, "--json").json
    assert ([item["number"] for item in one["sessions"]], one["complete"]) == ([stored[1].pk], True)
    few = suture("search", said, "--limit", 1)
    assert len(few.out.splitlines()) == 1
    assert "raise --limit" in few.err


@pytest.mark.parametrize("more", [("--source", "99"), ("--source", "nothing.db"), ("--limit", "0")])
def test_what_makes_no_sense_is_bad_usage(suture: Suture, stored: list[Session], more: tuple[str, str]) -> None:
    assert suture("search", "words", *more).code == 2


def test_nothing_is_said_to_be_nothing(suture: Suture, stored: list[Session]) -> None:
    nothing = suture("search", "heronsandegrets")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "No session holds that.\n")


def test_the_api_finds_the_same_and_goes_on(visitor: Client, suture: Suture, stored: list[Session]) -> None:
    tool = Part.objects.filter(session=stored[0], kind="tool").order_by("position")[0].tool
    listed = suture("search", tool, "--json").json["sessions"]
    found = visitor.get(f"/api/v1/search?q={tool}").json()
    assert [(item["session"]["id"], item["at"]) for item in found["items"]] == [
        (item["number"], item["at"]) for item in listed
    ]
    assert (found["searched"], found["total"], found["next"]) == (2, 2, None)
    assert len(visitor.get(f"/api/v1/search?q={tool}&source={stored[0].source_id}").json()["items"]) == 1
    assert visitor.get(f"/api/v1/search?q={tool}&from=5").json()["items"] == []
    assert len(visitor.get(f"/api/v1/search?q={tool}&all=true").json()["items"]) == 2
    for wrong in ("", "?q=", "?q=%00", "?q=a&from=-1", "?q=a&wher=1", f"?q={'a' * 201}"):
        assert visitor.get(f"/api/v1/search{wrong}").status_code == 422, wrong
