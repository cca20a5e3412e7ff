"""The list of sessions: order, filters in words, search by any id, paging, queries."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import Message, Part, Session, Source
from sessions_app.selectors.filterfields import FIELDS, SORTS, Field
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.sessions import session_page
from sessions_app.services.counting import counts_recount
from sessions_app.services.mirror import searched
from tests.factories import models as factories

pytestmark = pytest.mark.django_db(transaction=True)


def titles(page: str) -> list[str]:
    return re.findall(r'class="title" data-row-link href="[^"]+">([^<]+)<', page)


@pytest.fixture
def several(db: None) -> Source:
    source = factories.source()
    for number, (health, updated) in enumerate([("healthy", 5), ("blocked", 1), ("at-risk", 3), ("blocked", 2)]):
        factories.session(
            source,
            f"ses_{number}",
            title=f"{health} {updated}",
            search=f"{health} {updated} ses_{number}",
            health=health,
            health_rank=Session.RANK[health],
            time_updated=updated,
        )
    return source


def test_the_worst_come_first_and_then_the_newest(alice: Client, several: Source) -> None:
    assert titles(alice.get("/sessions/").html) == ["blocked 2", "blocked 1", "at-risk 3", "healthy 5"]


def test_a_filter_is_said_in_words_and_each_condition_can_be_dropped(alice: Client, several: Source) -> None:
    page = alice.get("/sessions/?health=blocked&q=blocked+1&repaired=no").html

    assert titles(page) == ["blocked 1"]
    assert "matching “blocked 1”" in page
    assert 'href="?q=blocked+1&amp;health=blocked" aria-label="Remove: never repaired"' in page
    assert 'aria-label="Remove: matching' not in page, "that stands in the field beside it"
    assert re.search(r'<input id="q"[^>]*value="blocked 1"', page)


def test_what_a_filter_does_not_understand_is_said_and_not_applied(alice: Client, several: Source) -> None:
    page = alice.get("/sessions/?health=splendid&since=yesterday").html

    assert len(titles(page)) == 4
    assert "health=splendid" in page
    assert "since=yesterday" in page


def test_nothing_but_nul_is_no_condition_and_is_refused(alice: Client, several: Source) -> None:
    assert SessionFilter.from_query(QueryDict("q=%00")).ignored == ("q=",)
    assert alice.get("/sessions/?q=%00").status_code == 422
    assert alice.get("/sessions/?q=")["location"] == "/sessions/"


def test_empty_fields_of_the_form_leave_the_address(alice: Client, several: Source) -> None:
    assert alice.get("/sessions/?q=&rule=&health=blocked&sort=")["location"] == "/sessions/?health=blocked"
    live = alice.get("/sessions/?q=&health=blocked", headers={"HX-Request": "true", "HX-Target": "session-list"})
    assert live["HX-Push-Url"] == "/sessions/?health=blocked"


def test_a_live_filter_brings_its_counts_and_conditions_along(alice: Client, several: Source) -> None:
    asking = {"HX-Request": "true", "HX-Target": "session-list"}
    live = alice.get("/sessions/?q=blocked&repaired=no", headers=asking).html
    assert re.search(r'id="list-head" class="list-head" hx-swap-oob="true"', live)
    assert re.search(r"Blocked <strong>2</strong>", live)
    assert "never repaired" in live.split('id="chips"')[1]
    dropped = alice.get("/sessions/", headers=asking).html
    assert re.search(r"All <strong>4</strong>", dropped)
    assert "never repaired" not in dropped.split('id="chips"')[1]


def test_no_match_says_which_condition_to_drop(alice: Client, several: Source) -> None:
    page = alice.get("/sessions/?health=healthy&q=blocked").html

    assert "No session matches" in page
    assert "would show" in page


def test_a_first_visit_says_where_sessions_come_from(alice: Client) -> None:
    assert "No sessions yet" in alice.get("/sessions/").html


def test_htmx_gets_the_list_alone_and_everybody_else_the_page(alice: Client, several: Source) -> None:
    part = alice.get("/sessions/?health=blocked", headers={"HX-Request": "true", "HX-Target": "session-list"})
    whole = alice.get("/sessions/?health=blocked")

    assert part.html.lstrip().startswith("<section")
    assert whole.html.lstrip().lower().startswith("<!doctype html>")
    assert "HX-Request" in part["vary"]
    assert titles(part.html) == titles(whole.html)


@pytest.mark.parametrize("sort", sorted(SORTS))
def test_every_order_is_total_and_says_itself(alice: Client, several: Source, sort: str) -> None:
    page = alice.get(f"/sessions/?sort={sort}").html

    assert len(titles(page)) == 4
    assert SORTS[sort][-1] in ("id", "-id")
    direction = "descending" if sort.startswith("-") else "ascending"
    assert f'aria-sort="{direction}"' in page


@pytest.mark.parametrize("sort", sorted(SORTS))
@pytest.mark.parametrize("number", [1, 2])
def test_few_and_many_come_in_the_same_order(sort: str, number: int) -> None:
    source = factories.source()
    for at in range(6):
        name = f"{'rare' if at < number * 2 else 'usual'} {at % 4}"
        fields = {"part_count": at % 3, "size_bytes": at % 2, "blocked_count": at % 3, "time_updated": at // 2}
        factories.session(source, f"ses_{at}", title=name, search=f"{name}\n/home\nses_{at}", **fields)
    wanted = SessionFilter(q="rare", sort=sort)
    found = wanted.found_first(Session.objects.all()).values_list("pk", flat=True)
    assert len(found) == number * 2
    assert [*found] == [*wanted.apply(Session.objects.all(), many=True).values_list("pk", flat=True)]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="plans are SQLite's")
@pytest.mark.parametrize(
    "query", ["q=fox", "q=fox&health=blocked&source=1&min_parts=3&fate=safe", "directory=a&since=2026-01-02"]
)
def test_texts_are_read_from_the_narrow_index_alone(query: str) -> None:
    wanted = SessionFilter.understood(QueryDict(query))
    for found in (wanted.chosen(Session.objects.all()), wanted.found_first(Session.objects.all())):
        assert "SCAN sessions_app_session USING COVERING INDEX session_listed" in found.values("pk").explain()


def test_a_directory_is_looked_for_in_the_directory_alone(alice: Client) -> None:
    source = factories.source()
    for at, (title, directory) in enumerate([("one", "/home/Shop_1"), ("shop_1\nshop_1", "/home"), ("two", "/shop11")]):
        text = searched(title, directory, "ses_shop_1", "shop_1")
        factories.session(source, f"ses_{at}", title=title, directory=directory, search=text)
    assert titles(alice.get("/sessions/?directory=shop_1").html) == ["one"]
    assert titles(alice.get("/sessions/?q=shop_1&sort=title").html) == ["one", "shop_1 shop_1", "two"]


@pytest.mark.parametrize("text", ["a", "é", "語", "😀", "İ"])
def test_the_longest_texts_fit_into_the_index(text: str) -> None:
    found = searched(text * 9_000, text * 9_000, text * 255, text * 255)
    factories.session(factories.source(), "ses_long", search=found, provider="p", model="m")
    assert found.startswith(text.lower() * 100)
    assert len(found.encode()) <= 2_000


def test_pages_do_not_overlap_and_a_page_beyond_the_end_says_so(alice: Client) -> None:
    source = factories.source()
    for number in range(120):
        factories.session(source, f"ses_{number}", title=f"s{number:03}", time_updated=7)

    pages = [titles(alice.get(f"/sessions/?page={number}").html) for number in (1, 2, 3)]

    assert [len(page) for page in pages] == [50, 50, 20]
    assert len({title for page in pages for title in page}) == 120
    beyond = alice.get("/sessions/?page=99").html
    assert titles(beyond) == []
    assert "There is no page 99: the last is 3." in beyond
    assert 'href="?page=3"' in beyond


def test_rows_cost_no_queries_of_their_own(
    alice: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    source = factories.source()
    for number in range(60):
        factories.session(source, f"ses_{number}", title=f"s{number}")

    with django_assert_max_num_queries(12):
        alice.get("/sessions/")


def test_an_exact_id_goes_straight_to_its_place(alice: Client, blocked: Session) -> None:
    message = Message.objects.filter(session=blocked).first()
    part = Part.objects.filter(session=blocked, kind="tool").first()

    assert alice.get("/jump/", {"q": blocked.stored_id})["location"] == f"/sessions/{blocked.pk}/"
    assert (
        alice.get("/jump/", {"q": message.stored_id})["location"] == f"/sessions/{blocked.pk}/?at={message.stored_id}"
    )
    assert alice.get("/jump/", {"q": part.stored_id})["location"] == f"/sessions/{blocked.pk}/?at={part.stored_id}"
    assert alice.get("/jump/", {"q": part.call_id})["location"].startswith(f"/sessions/{blocked.pk}/?at=prt_")
    assert alice.get("/jump/", {"q": "no such thing"})["location"] == "/sessions/?q=no+such+thing"


def test_an_id_that_two_sessions_hold_lists_them(alice: Client) -> None:
    one, other = factories.source(), factories.source(path="/data/other.db")
    factories.session(one, "ses_twin", title="first copy")
    factories.session(other, "ses_twin", title="second copy")

    location = alice.get("/jump/", {"q": "ses_twin"})["location"]

    assert location == "/sessions/?holds=ses_twin"
    assert sorted(titles(alice.get(location).html)) == ["first copy", "second copy"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "q=%C3%A4+b&health=blocked&health=at-risk",
        "rule=stuck-tool&rejected=gemini&source=3&model=a%2Fb",
        "has=duplicate&repaired=no&since=2026-01-02&until=2026-02-03&min_parts=5&max_parts=9&holds=x&sort=-parts",
    ],
)
def test_a_filter_comes_back_out_of_its_own_query_string(query: str) -> None:
    found = SessionFilter.from_query(QueryDict(query))

    assert SessionFilter.from_query(QueryDict(found.to_query())) == found
    assert SessionFilter.from_query(found.as_dict()) == found
    assert found.ignored == ()


@pytest.mark.parametrize(
    "query",
    [
        "has=duplicate",
        "has=stuck",
        "has=orphan",
        "has=leftovers",
        "repaired=yes",
        "repaired=week",
        "repaired=no",
        "repaired=undone",
        "rejected=openai-chat",
        "rule=duplicate-call-id-in-message",
        "min_parts=1&max_parts=99",
        "directory=home",
        "since=2020-01-01",
        "until=2020-01-01",
        "model=fake%2Ffake-1",
        "holds=nothing",
    ],
)
def test_every_condition_is_one_that_the_database_can_answer(alice: Client, blocked: Session, query: str) -> None:
    found = titles(alice.get(f"/sessions/?{query}").html)

    matches = {
        "has=stuck",
        "has=orphan",
        "has=leftovers",
        "repaired=yes",
        "repaired=week",
        "repaired=undone",
        "until=2020-01-01",
        "holds=nothing",
    }
    assert len(found) == (0 if query in matches else 1)
    wanted, every = SessionFilter.from_query(QueryDict(query)), Session.objects.all()
    assert list(wanted.apply(every, many=True)) == list(wanted.apply(every))


def test_a_tools_name_and_an_error_text_find_their_sessions(alice: Client, blocked: Session) -> None:
    factories.session(blocked.source, "ses_other", title="another", search="another")

    for words in ("bash", "BASH", "functions"):
        assert titles(alice.get("/sessions/", {"said": words}).html) == [blocked.title]
    assert titles(alice.get("/sessions/?said=nothing+holds+this").html) == []
    assert titles(alice.get("/sessions/?said=%21%21").html) == [], "no word is no session, never all"
    assert 'href="?said=bash&amp;health=blocked"' in alice.get("/sessions/?q=bash&health=blocked").html


@pytest.mark.parametrize("sort", ["health", "-title", "updated"])
def test_few_that_match_come_in_the_order_of_the_list(blocked: Session, sort: str) -> None:
    for number in range(30):
        title = f"{'fox' if number < 3 else 'gull'} {-number}"
        factories.session(blocked.source, f"ses_{number}", title=title, search=title)
    counts_recount()
    wanted = SessionFilter.from_query(QueryDict(f"q=gu&sort={sort}"))
    rare = SessionFilter.from_query(QueryDict(f"q=fox&sort={sort}"))

    for one, number in ((wanted, 27), (rare, 3)):
        shown = session_page(one).page

        assert shown.total == number
        assert [row.id for row in shown.rows] == [session.pk for session in one.apply(Session.objects.all(), many=True)]


MISTYPED = [
    ("healt=blocked", "healt (did you mean health?)"),
    ("health=blokced", "health=blokced (did you mean blocked?)"),
    ("rule=stuck-tol", "rule=stuck-tol (did you mean stuck-tool?)"),
    ("min_parts=many", "min_parts=many"),
]


@pytest.mark.parametrize(("query", "told"), MISTYPED)
def test_a_name_or_value_mistyped_is_told_by_the_page_and_never_repaired_by(
    alice: Client, several: Source, query: str, told: str
) -> None:
    assert told in alice.get(f"/sessions/?{query}").content.decode()

    refused = alice.get(f"/bulk/?{query}", follow=True)

    assert refused.redirect_chain[-1][0] == "/sessions/"
    assert f"The filter does not understand {told}" in refused.content.decode()


def test_the_form_asks_for_every_field_that_has_a_label_and_carries_the_others(alice: Client, several: Source) -> None:
    page = alice.get("/sessions/?health=blocked&holds=ses_1&has=stuck&model=gone%2Fmodel&sort=title").html

    form = page[page.index('<form id="filters"') : page.index("</form>", page.index('<form id="filters"'))]
    asked = set(re.findall(r'<(?:input|select)\s[^>]*name="(\w+)"', form))
    assert asked == {field.name for field in FIELDS if field.label} | {"health", "holds", "sort"}
    assert re.search(r'<option value="stuck" selected>\s*A stuck tool or open turn', form)
    assert re.search(r'<option value="gone/model" selected>', form), "no session has it, and it is asked for"


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_field_is_read_said_and_answered_by_the_database(several: Source, field: Field) -> None:
    given = next(iter(field.values), {"number": "3", "date": "2026-01-02"}.get(field.kind, "a/b"))

    wanted = SessionFilter.understood({field.alias or field.name: given})

    assert wanted.values or field.default == given
    assert bool(wanted.terms()) == bool(field.condition)
    assert wanted.apply(Session.objects.all()).count() <= 4
