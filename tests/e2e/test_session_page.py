"""The session page: how many clicks a repair takes, where its button stands, and that its sentences name places."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer
from pytest_playwright_axe import Axe

from sessions_app.models import Repair, Session, Source
from sessions_app.web.views import session as session_page
from tests.bulk.store import many
from tests.factories.corpus import attached
from tests.web.test_timeline import long_session

from .conftest import opened
from .test_pages import TAGS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def choices(transactional_db: None, tmp_path: Path, data_dir: Path) -> Source:
    """Sessions that a safe repair frees, and sessions that need a choice."""
    return attached(many(tmp_path / "opencode.db", {"dup_id_slow": 2, "think_nosig_tool": 2}))


def chosen(source: Source, fate: str) -> Session:
    return Session.objects.filter(source=source, health="blocked", fate=fate).order_by("pk")[0]


def clicks(page: Page, steps: list[Callable[[], None]]) -> int:
    """How many clicks; before each, the page of the one before is gone, with its outcome and its own buttons."""
    for number, step in enumerate(steps):
        if number:
            expect(page.locator("#outcome")).to_have_count(0)
        step()
    return len(steps)


def test_a_choice_is_two_clicks_from_the_list_and_two_from_the_next(page: Page, choices: Source) -> None:
    page.goto("/sessions/?health=blocked&fate=choice")
    made = clicks(
        page,
        [
            lambda: page.locator("[data-row-link]").first.click(),
            lambda: page.get_by_role("button", name="Apply", exact=True).click(),
        ],
    )
    outcome = page.locator("#outcome-words")
    expect(outcome).to_contain_text("Repaired: ")
    expect(outcome).to_contain_text("The session is now")
    expect(outcome).to_be_focused()
    assert (made, Repair.objects.filter(state="applied").count()) == (2, 1)

    again = clicks(
        page,
        [
            lambda: page.get_by_role("link", name="Next blocked session").click(),
            lambda: page.get_by_role("button", name="Apply", exact=True).click(),
        ],
    )
    expect(page.locator("#outcome-words")).to_contain_text("Repaired: ")
    assert "fate%3Dchoice" in page.url
    assert (again, Repair.objects.filter(state="applied").count()) == (2, 2)


def test_a_repaired_session_is_handed_back_in_two_clicks_with_its_state_said(page: Page, choices: Source) -> None:
    page.goto(f"/sessions/{chosen(choices, 'safe').pk}/")
    page.get_by_role("button", name="Apply", exact=True).click()
    page.locator("#outcome").get_by_role("link", name="Hand back").click()
    expect(page.locator(".level-choices")).to_contain_text("Healthy")
    with page.expect_download() as file:
        page.get_by_role("link", name="Row document, as stored").click()
    assert file.value.suggested_filename.endswith(".rows.json")


@pytest.mark.parametrize("fate", ["safe", "choice"])
def test_apply_is_in_sight_and_the_tabs_end_where_they_should(page: Page, choices: Source, fate: str) -> None:
    session = chosen(choices, fate)
    page.goto(f"/sessions/{session.pk}/?list=health%3Dblocked")
    expect(page.locator(".steps-nav").first).to_contain_text(re.compile(r"\d of 4"))
    bottom = "(node) => node.getBoundingClientRect().bottom"
    apply = page.locator(".fix-foot .button-primary")
    expect(apply).to_be_visible()
    assert apply.evaluate(bottom) <= 860
    page.evaluate("window.scrollTo(0, 0)")
    assert page.locator(".tabs").evaluate(bottom) <= 227
    assert apply.evaluate(bottom) <= 860
    assert page.locator("#conversation").evaluate("(node) => node.clientWidth") >= 900


def test_apply_stays_in_sight_however_many_choices_there_are(page: Page, choices: Source) -> None:
    page.goto(f"/sessions/{chosen(choices, 'choice').pk}/")
    page.evaluate(
        """() => {
          const ways = document.querySelector('.ways');
          for (let n = 0; n < 12; n++) ways.append(ways.querySelector('.way').cloneNode(true));
          window.scrollTo(0, 0);
        }"""
    )
    assert page.locator(".fix-foot .button-primary").evaluate("(node) => node.getBoundingClientRect().bottom") <= 860


def test_a_radio_button_shows_what_it_does_without_a_request(page: Page, choices: Source) -> None:
    page.goto(f"/sessions/{chosen(choices, 'choice').pk}/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    ways = page.locator(".way")
    expect(ways.nth(0).locator(".short-diff")).to_be_visible()
    expect(ways.nth(1).locator(".short-diff")).to_be_hidden()
    ways.nth(1).get_by_role("radio").check()
    expect(ways.nth(1).locator(".short-diff")).to_be_visible()
    expect(ways.nth(0).locator(".short-diff")).to_be_hidden()
    assert ways.nth(1).locator(".removed, .added").count() <= 3
    assert [address for address in asked if "/static/" not in address] == []

    page.get_by_role("button", name="Full preview").click()
    page.wait_for_url("**/repair/?**")
    expect(page.get_by_role("radio", name=re.compile("^Remove the whole answer")).first).to_be_checked()


def test_a_choice_on_the_preview_keeps_its_focus_and_the_page(page: Page, choices: Source) -> None:
    page.goto(f"/sessions/{chosen(choices, 'choice').pk}/repair/?safety=lossy")
    page.evaluate("window.kept = true")
    other = page.get_by_role("radio", name="Leave it as it is").first
    other.check()
    expect(page.locator("#repair")).not_to_have_attribute("aria-busy", "true")
    page.wait_for_url("**choice.**")
    expect(page.get_by_role("radio", name="Leave it as it is").first).to_be_focused()
    assert page.evaluate("window.kept") is True


def test_the_ways_of_a_long_session_come_after_the_page(
    page: Page, choices: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_page, "INLINE_PARTS", 0)
    page.goto(f"/sessions/{chosen(choices, 'choice').pk}/")
    expect(page.locator(".way")).to_have_count(2)
    expect(page.get_by_role("link", name="Work out what changes")).to_have_count(0)


def test_a_finding_of_the_list_works_its_ways_out_when_it_is_opened(page: Page, choices: Source) -> None:
    page.goto(f"/sessions/{chosen(choices, 'choice').pk}/findings/")
    expect(page.locator(".way")).to_have_count(0)
    page.locator(".finding-row > summary").first.click()
    expect(page.locator(".way")).to_have_count(2)


def test_without_a_script_the_ways_of_a_long_session_are_asked_for(
    chromium: Browser,
    live_server: LiveServer,
    signed_in: dict[str, str],
    choices: Source,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_page, "INLINE_PARTS", 0)
    context = opened(chromium, live_server, signed_in, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/sessions/{chosen(choices, 'choice').pk}/")
    page.get_by_role("link", name="Work out what changes").click()
    page.get_by_role("radio").nth(1).check()
    expect(page.locator(".way").nth(1).locator(".short-diff")).to_be_visible()
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator("#outcome-words")).to_contain_text("Repaired: ")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#outcome-words")).to_contain_text("Taken back")
    context.close()


def test_rail_index_and_status_follow_what_is_loaded(page: Page) -> None:
    session = long_session(turns=300)
    page.goto(f"/sessions/{session.pk}/?from=0")
    status, strip = page.locator("#window-status"), page.locator(".rail .window")
    expect(status).to_contain_text("Parts 1–")
    before = float((strip.get_attribute("height") or "0").rstrip("%"))
    page.locator("#later").scroll_into_view_if_needed()
    expect(page.locator("#turn-60")).to_be_attached()
    expect(status).not_to_contain_text("Parts 1–80 of")
    assert float((strip.get_attribute("height") or "0").rstrip("%")) > before
    page.locator("#turn-45").evaluate("(node) => node.scrollIntoView({ block: 'start', behavior: 'instant' })")
    expect(page.locator('.turn-index a[aria-current="true"]')).to_have_attribute("data-turn", re.compile("4[345]"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("width", [320, 1440])
def test_the_page_of_a_choice_passes_axe_and_fits(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], choices: Source, theme: str, width: int
) -> None:
    session = chosen(choices, "choice")
    context = opened(chromium, live_server, signed_in, color_scheme=theme, viewport={"width": width, "height": 900})
    page = context.new_page()
    axe = Axe(output_directory="test-results/axe")
    for path in ("", "findings/", "handback/", "repair/?safety=lossy", "details/"):
        page.goto(f"/sessions/{session.pk}/{path}")
        page.evaluate("document.querySelectorAll('main details:not(.body)').forEach((one) => (one.open = true))")
        page.wait_for_load_state("networkidle")
        found = axe.run(page, options={"runOnly": {"type": "tag", "values": TAGS}}, report_on_violation_only=True)
        assert [(path, item["id"], item["nodes"][0]["html"][:160]) for item in found["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
