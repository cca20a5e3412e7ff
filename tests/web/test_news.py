"""A list left open hears what became new."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from sessions_app.models import Session, Source
from sessions_app.services.counting import counts_recount
from tests.factories import models as factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def several(db: None) -> Source:
    source = factories.source()
    for number, health in enumerate(["healthy", "blocked", "at-risk", "blocked"]):
        factories.session(source, f"ses_{number}", title=f"t{number}", health=health, health_rank=Session.RANK[health])
    counts_recount()
    return source


def asks(client: Client, address: str) -> str:
    """Where the page asks for news."""
    found = re.search(r'id="news"[^>]*hx-get="([^"]+)"', client.get(address).html)
    assert found
    return found[1].replace("&amp;", "&")


def test_nothing_new_is_answered_with_nothing(alice: Client, several: Source) -> None:
    for address in ("/sessions/", "/sessions/?health=blocked&sort=title", "/sessions/?q=nothing+like+it"):
        answer = alice.get(asks(alice, address))
        assert (answer.status_code, answer.content) == (204, b"")


def test_what_changed_is_said_once_and_the_pills_follow(alice: Client, several: Source) -> None:
    ask = asks(alice, "/sessions/?health=blocked&health=at-risk")
    Session.objects.filter(stored_id="ses_2").update(health="blocked", health_rank=0)
    counts_recount()

    answer = alice.get(ask).html

    assert "1 session changed, 1 newly blocked" in answer
    assert re.search(r'id="list-pills" class="pills grow"[^>]*hx-swap-oob="true"', answer)
    assert "Blocked <strong>3</strong>" in answer
    assert 'href="/sessions/?health=blocked&amp;health=at-risk"' in answer
    again = re.search(r'hx-get="([^"]+)"', answer)
    assert again and alice.get(again[1].replace("&amp;", "&")).status_code == 204


def test_sessions_that_came_and_went_are_counted(alice: Client, several: Source) -> None:
    ask = asks(alice, "/sessions/")
    factories.session(several, "ses_new", title="new", health="healthy", health_rank=4)
    counts_recount()
    assert "<span>1 new</span>" in alice.get(ask).html

    Session.objects.filter(stored_id__in=["ses_new", "ses_1"]).delete()
    counts_recount()
    assert "<span>1 gone, 1 no longer blocked</span>" in alice.get(ask).html


def test_a_question_that_nobody_asked_is_answered_with_nothing(alice: Client, several: Source) -> None:
    for seen in ("", "x", "1.2~", "9.9.9.9.x~abcd", "1" * 5000):
        assert alice.get("/sessions/news/", {"seen": seen}).status_code == 204


def test_the_list_shown_anew_is_no_new_page_in_the_browsers_history(alice: Client, several: Source) -> None:
    asking = {"HX-Request": "true", "HX-Target": "session-list"}
    here = "http://testserver/sessions/?health=blocked"
    assert not alice.get("/sessions/?health=blocked", headers=asking | {"HX-Current-URL": here}).has_header(
        "HX-Push-Url"
    )
    assert alice.get("/sessions/?q=t", headers=asking | {"HX-Current-URL": here})["HX-Push-Url"] == "/sessions/?q=t"
