"""Searching inside conversations: one session's turns, and all sessions."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import Message, Part, Session
from sessions_app.selectors import searching
from sessions_app.selectors.searching import sessions_search
from tests.factories import models as factories

pytestmark = pytest.mark.django_db(transaction=True)


def said(stored_id: str, *texts: str, updated: int = 1) -> Session:
    """A session with one user message for each text."""
    session = factories.session(
        factories.source(), stored_id, dialect="opencode-v1", imported_at=factories.NOW, time_updated=updated
    )
    for number, text in enumerate(texts):
        message = Message.objects.create(
            session=session,
            table="message",
            position=number,
            kind="user",
            stored_id=f"msg_{stored_id}_{number}",
            data='{"role":"user"}',
        )
        data = json.dumps({"type": "text", "text": text}, ensure_ascii=False)
        Part.objects.create(
            session=session,
            message=message,
            message_stored_id=message.stored_id,
            position=number,
            kind="text",
            stored_id=f"prt_{stored_id}_{number}",
            data=data,
            size=len(data),
        )
    return session


def found(page: str) -> list[str]:
    return re.findall(r"<mark>([^<]*)</mark>", page)


def test_a_phrase_in_any_text_leads_to_its_place(alice: Client) -> None:
    other = said("ses_other", "nothing of interest")
    session = said("ses_mine", "first words", "the Quick-brown fox\njumps over")

    page = alice.get("/search/?q=quick+BROWN+fo").html

    assert found(page) == ["Quick-brown fo"]
    assert f"/sessions/{session.pk}/?find=quick+BROWN+fo&amp;at=prt_ses_mine_1#at-prt_ses_mine_1" in page
    assert f"/sessions/{other.pk}/" not in page


@pytest.mark.parametrize("text", ["jumps", "zażółć", "C:\\new", 'say "hi"'])
def test_what_is_escaped_in_stored_json_is_found(alice: Client, text: str) -> None:
    said("ses_mine", 'a line\njumps zażółć in C:\\new\\folder and they say "hi" loudly')

    assert len(found(alice.get("/search/", {"q": text}).html)) == 1


@pytest.mark.parametrize("word", ["text", "type", "role"])
def test_names_of_json_members_are_no_words(alice: Client, word: str) -> None:
    said("ses_mine", "hello")

    assert found(alice.get("/search/", {"q": word}).html) == []


def test_what_is_changed_or_removed_is_not_found_any_more(db: None) -> None:
    session = said("ses_mine", "aardvark", "badger")
    Part.objects.filter(stored_id="prt_ses_mine_0").update(data='{"type":"text","text":"capybara"}')
    Part.objects.filter(stored_id="prt_ses_mine_1").delete()

    assert [len(sessions_search(word).hits) for word in ("aardvark", "badger", "capybara")] == [0, 0, 1]
    session.delete()
    assert sessions_search("capybara").hits == ()


def test_texts_of_the_newer_dialect_are_found_at_their_content_item(db: None) -> None:
    session = factories.session(factories.source(), "ses_new", dialect="opencode-v2", imported_at=factories.NOW)
    data = {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "the second pangolin"}]}
    Message.objects.create(
        session=session,
        table="session_message",
        position=0,
        kind="assistant",
        stored_id="msg_new",
        data=json.dumps(data),
    )

    (hit,) = sessions_search("pangolin").hits

    assert hit.hit.at == "msg_new#1"


def test_rows_that_are_no_json_are_searched_as_they_stand(db: None) -> None:
    session = said("ses_mine", "hello")
    Part.objects.filter(session=session).update(data='{"type":"text","text":"broken walrus')

    assert len(sessions_search("walrus").hits) == 1


def test_a_search_that_runs_out_of_time_says_how_far_it_came_and_goes_on(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_CHUNK", 1)
    monkeypatch.setattr(searching, "SECONDS", 0.0)
    clock = iter([0.0, -1.0, 1.0, 0.0, -1.0, 1.0])
    monkeypatch.setattr(searching.time, "monotonic", clock.__next__)
    said("ses_new", "nothing", updated=2)
    said("ses_old", "the last quokka", updated=1)

    first = alice.get("/search/?q=quokka&all=1").html
    second = alice.get("/search/?q=quokka&from=1&all=1").html

    assert "No session holds “quokka” so far" in first
    assert "The 1 last updated of 2 sessions were read" in first
    assert 'href="?q=quokka&amp;from=1&amp;all=1"' in first
    assert found(second) == ["quokka"]
    assert "Go on" not in second


def test_a_common_word_costs_as_many_queries_as_a_rare_one(
    db: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(120):
        said(f"ses_{number}", "the same word everywhere")

    with django_assert_max_num_queries(10):
        assert len(sessions_search("everywhere").hits) >= 50


def test_one_session_is_searched_in_all_its_turns_and_stepped_through(alice: Client) -> None:
    session = said("ses_mine", *(f"turn {number} {'heron' if number % 100 == 7 else 'gull'}" for number in range(450)))

    first = alice.get(f"/sessions/{session.pk}/?find=HERON").html
    third = alice.get(f"/sessions/{session.pk}/?find=heron&match=3").html
    around = alice.get(f"/sessions/{session.pk}/?find=heron&match=6").html

    assert "Place 1 of 5</strong>, turn 8" in first
    assert 'id="at-prt_ses_mine_7"' in first
    assert "Place 3 of 5</strong>, turn 208" in third
    assert re.search(r'class="part [^"]* at" id="at-prt_ses_mine_207"', third)
    assert "find=heron&amp;match=2" in third
    assert "find=heron&amp;match=4" in third
    assert "Place 1 of 5" in around


def test_enter_goes_on_and_another_text_begins_anew(alice: Client) -> None:
    session = said("ses_mine", "heron", "heron", "gull heron", "gull")

    onwards = alice.get(f"/sessions/{session.pk}/?find=heron&was=heron&match=2").html
    anew = alice.get(f"/sessions/{session.pk}/?find=gull&was=heron&match=2").html

    assert "Place 2 of 3" in onwards
    assert "Place 1 of 2" in anew


def test_what_a_session_does_not_hold_is_said(alice: Client) -> None:
    session = said("ses_mine", "hello")

    assert "is nowhere in this session" in alice.get(f"/sessions/{session.pk}/?find=heron").html


def test_markup_that_is_searched_for_stays_text(alice: Client) -> None:
    session = said("ses_mine", "<script>alert(1)</script>")

    page = alice.get(f"/sessions/{session.pk}/", {"find": "<script>alert"}).html

    assert "<script>alert" not in page
    assert "Place 1 of 1" in page


def test_the_list_offers_to_search_inside(alice: Client) -> None:
    said("ses_mine", "hello")

    assert 'href="/search/?q=heron"' in alice.get("/sessions/?q=heron").html
