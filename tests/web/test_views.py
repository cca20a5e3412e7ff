"""Views of the list: tabs by what they show, saving, changing, sharing; columns; rows that open."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Finding, SavedView, Session
from tests.factories import models as factories
from tests.factories.people import signed_in

pytestmark = pytest.mark.django_db(transaction=True)


def tabs(page: str) -> tuple[list[str], list[str]]:
    """(all tabs, the current ones)."""
    nav = page.split('aria-label="Views">')[1].split("</nav>")[0]
    links = re.findall(r"<a href=\"[^\"]*\"( aria-current=\"page\")?>([^<]+)", nav)
    return [word.strip() for _, word in links], [word.strip() for current, word in links if current]


def heads(page: str) -> list[str]:
    head = page.split("<thead>")[1].split("</thead>")[0]
    return [re.sub("<[^>]+>", "", cell).strip() for cell in re.findall(r"<th[^>]*>(.*?)</th>", head, re.DOTALL)][1:]


@pytest.fixture
def listed(db: None) -> Session:
    return factories.session(factories.source(), "ses_1", title="one", search="one", health="blocked", health_rank=0)


@pytest.mark.parametrize(
    ("query", "tab"),
    [
        ("", "All sessions"),
        ("?health=at-risk&health=blocked", "Needs repair"),
        ("?rejected=anthropic-messages", "Refused by Anthropic"),
        ("?rejected=openai-chat", "Refused by OpenAI"),
        ("?has=duplicate", "Duplicates"),
        ("?sort=-updated&repaired=week", "Repaired this week"),
        ("?health=not-scanned", "Not scanned"),
    ],
)
def test_the_tab_of_a_filter_is_found_by_what_it_shows(alice: Client, listed: Session, query: str, tab: str) -> None:
    assert tabs(alice.get(f"/sessions/{query}").html)[1] == [tab]


def test_a_filter_that_no_view_has_is_on_no_tab(alice: Client, listed: Session) -> None:
    assert tabs(alice.get("/sessions/?q=one").html)[1] == []


def test_a_view_is_saved_opened_edited_saved_again_and_reset(alice: Client, listed: Session) -> None:
    saved = alice.post(
        "/views/save/", {"name": "  My   own ", "query": "q=one&sort=-size", "column": ["size", "nonsense"]}
    )
    view = SavedView.objects.get()
    opened = alice.get(saved["location"]).html
    edited = alice.get(f"/sessions/?q=two&view={view.pk}").html

    assert saved["location"] == f"/sessions/?q=one&sort=-size&view={view.pk}"
    assert (view.name, view.columns) == ("My own", ["size"])
    assert tabs(opened)[1] == ["My own"]
    assert heads(opened) == ["State", "Session", "What is wrong", "Size"]
    assert "My own (edited)" in tabs(edited)[0]
    assert f'href="?q=one&amp;sort=-size&amp;view={view.pk}">Reset' in edited
    alice.post("/views/save/", {"name": "My own", "query": "q=two", "column": ["size"]})
    assert [saved.query for saved in SavedView.objects.all()] == ["q=two"]


def test_only_the_owner_sees_changes_and_deletes_a_view_unless_it_is_shared(
    alice: Client, victor: Client, listed: Session
) -> None:
    alice.post("/views/save/", {"name": "secret", "query": "q=one"})
    alice.post("/views/save/", {"name": "for all", "query": "q=two", "shared": "yes"})
    secret, shared = SavedView.objects.order_by("query")

    seen = tabs(victor.get("/sessions/").html)[0]

    assert "for all" in seen
    assert "secret" not in seen
    for view in (secret, shared):
        assert victor.post(f"/views/{view.pk}/change/", {"name": "mine now"}).status_code == 404
        assert victor.post(f"/views/{view.pk}/delete/").status_code == 404
    alice.post(f"/views/{shared.pk}/change/", {"name": "only mine"})
    assert "only mine" not in tabs(victor.get("/sessions/").html)[0]
    alice.post(f"/views/{shared.pk}/delete/")
    assert list(SavedView.objects.values_list("name", flat=True)) == ["secret"]


@pytest.mark.parametrize("name", ["", "   "])
def test_a_view_without_a_name_is_refused_in_words(alice: Client, listed: Session, name: str) -> None:
    answer = alice.post("/views/save/", {"name": name, "query": "q=one"}, follow=True)

    assert "A view needs a name" in answer.html
    assert not SavedView.objects.exists()


def test_two_views_of_one_owner_have_two_names(alice: Client, listed: Session) -> None:
    for name in ("first", "second"):
        alice.post("/views/save/", {"name": name, "query": f"q={name}"})
    second = SavedView.objects.get(name="second")

    page = alice.post(f"/views/{second.pk}/change/", {"name": "first"}, follow=True).html

    assert "You have another view named" in page
    assert SavedView.objects.get(pk=second.pk).name == "second"


def test_conditions_that_no_longer_exist_are_named_and_the_rest_applies(listed: Session) -> None:
    user = User.objects.create_superuser("olga", password="olga")
    SavedView.objects.create(owner=user, name="old", query="q=one&colour=red&has=spots", created_at=factories.NOW)

    page = signed_in(user).get(f"/sessions/?q=one&view={SavedView.objects.get().pk}").html

    assert "left out: colour, has=spots" in page
    assert tabs(page)[1] == ["old"]


def test_columns_are_the_readers_choice_and_a_filter_keeps_them(alice: Client, listed: Session) -> None:
    answer = alice.post(
        "/preferences/", {"columns": "given", "column": ["updated", "source"], "next": "/sessions/?q=one"}
    )

    page = alice.get(answer["location"]).html

    assert heads(page) == ["State", "Session", "What is wrong", "Store", "Updated"]
    assert "opencode.db" in page.split("<tbody")[1]
    alice.post("/preferences/", {"columns": "given"})
    assert len(heads(alice.get("/sessions/").html)) == 9


def test_every_column_has_its_cell(alice: Client, listed: Session) -> None:
    from sessions_app.web.columns import COLUMNS

    alice.post("/preferences/", {"columns": "given", "column": list(COLUMNS)})
    page = alice.get("/sessions/").html
    row = page.split("<tbody")[1].split("</tr>")[0]

    assert row.count("<td") == 4 + len(COLUMNS)
    assert heads(page)[3:] == [word for word, _, _ in COLUMNS.values()]


def test_a_row_says_its_worst_fault_in_one_line_and_the_session_beside_the_list_says_them_all(
    alice: Client, listed: Session
) -> None:
    for number, severity in enumerate(["info", "at-risk", "at-risk", "blocked", "at-risk"]):
        Finding.objects.create(
            session=listed,
            key=f"k{number}",
            rule="stuck-tool",
            severity=severity,
            safety="safe",
            position=number,
            summary=f"{severity} at {number}",
            line=f"A bash call {number} never ended",
            place=f"bash call {number}, turn {number}",
            parts=[f"prt_{number}"],
        )
    Session.objects.filter(pk=listed.pk).update(blocked_count=1, at_risk_count=3, info_count=1, fate="safe")

    page = alice.get("/sessions/").html
    row = page.split("<tbody")[1].split("</tr>")[0]
    assert "A bash call 3 never ended" in row
    assert ">turn 3</span>" in row
    assert "+3" in row
    (address,) = re.findall(r'data-peek hx-boost="true" href="([^"]+)"', row)

    beside = alice.get(f"/sessions/{address}", headers={"HX-Request": "true", "HX-Target": "peek"}).html
    assert re.findall(r">A bash call (\d) never ended<", beside) == ["3", "1", "2", "4"]
    assert f"/sessions/{listed.pk}/?at=prt_3#at-prt_3" in beside
    assert "Apply 4 safe repairs" in beside
    assert not re.search(r">[^<]*prt_", row + beside)


def test_the_session_beside_the_list_comes_with_the_page_where_there_is_no_script(
    alice: Client, listed: Session
) -> None:
    page = alice.get(f"/sessions/?peek={listed.pk}").html
    assert '<aside id="peek" class="peek card"' in re.sub(r"\s+", " ", page)
    assert f'data-session="{listed.pk}" aria-current="true"' in page
    assert alice.get("/sessions/?peek=99999").status_code == 200
    assert alice.get("/sessions/?peek=x").status_code == 200
