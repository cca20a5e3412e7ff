"""Every page in a real browser: accessible in both themes, at 320 px, and without JavaScript."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer
from pytest_playwright_axe import Axe

from sessions_app.models import Session

from .conftest import opened

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LEVELS = """() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((one) => one.checkVisibility())
  .map((one) => Number(one.tagName[1]))"""
"""Of the headings, in the order in which they are read."""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_passes_axe(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str], theme: str
) -> None:
    axe = Axe(output_directory="test-results/axe")
    context = opened(chromium, live_server, signed_in, color_scheme=theme, viewport={"width": 1440, "height": 900})
    stranger = opened(chromium, live_server, {}, color_scheme=theme)
    faults = []
    for name, path in places.items():
        page = (stranger if name == "login" else context).new_page()
        page.goto(path)
        result = axe.run(page, options={"runOnly": {"type": "tag", "values": TAGS}}, report_on_violation_only=True)
        faults += [
            f"{name}: {item['id']} {[node['html'][:160] for node in item['nodes'][:3]]}"
            for item in result["violations"]
        ]
        page.close()
    context.close()
    stranger.close()
    assert faults == []


@pytest.mark.exhaustive
def test_axe_finds_a_planted_fault(page: Page) -> None:
    page.goto("/login/")
    page.evaluate("document.querySelector('main').innerHTML = '<img src=\"/static/img/favicon.svg\">'")

    result = Axe(output_directory="test-results/axe").run(page, options={"runOnly": {"type": "tag", "values": TAGS}})

    assert "image-alt" in [item["id"] for item in result["violations"]]


@pytest.mark.exhaustive
def test_every_page_fits_into_320_pixels(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    context = opened(chromium, live_server, signed_in, viewport={"width": 320, "height": 640})
    page = context.new_page()
    wide = {}
    for name, path in places.items():
        page.goto(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 320:
            wide[name] = width
    context.close()
    assert wide == {}


@pytest.mark.exhaustive
def test_every_page_has_one_main_heading_and_its_landmarks(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    context = opened(chromium, live_server, signed_in)
    page = context.new_page()
    for name, path in places.items():
        page.goto(path)
        assert page.locator("h1").count() == 1, name
        assert page.locator("main").count() == 1, name
        levels = page.evaluate(LEVELS)
        assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels)), (name, levels)
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
        assert len(ids) == len(set(ids)), name
    context.close()


@pytest.mark.exhaustive
def test_no_page_makes_the_browser_complain(page: Page, places: dict[str, str]) -> None:
    for name, path in places.items():
        if name != "missing":  # the browser reports the 404 itself
            page.goto(path)
    expect(page.locator("main")).to_be_visible()


def test_everything_can_be_done_without_javascript(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], blocked: Session
) -> None:
    context = opened(
        chromium, live_server, signed_in, java_script_enabled=False, viewport={"width": 1200, "height": 900}
    )
    page = context.new_page()
    page.goto("/sessions/?health=blocked")
    page.locator("[data-row-link]").first.click()
    page.get_by_role("button", name="Full preview").click()
    page.get_by_role("link", name="Stored rows").click()
    expect(page.locator("td.removed").first).to_be_visible()
    page.get_by_role("button", name="Apply repair").click()
    expect(page.locator("#outcome-words")).to_contain_text("Repaired: ")
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("Taken back")).to_be_visible()
    page.goto(f"/sessions/{blocked.pk}/")
    page.locator("details.body > summary").first.click()
    page.get_by_role("link", name="Open input").first.click()
    expect(page.locator("pre.code")).to_be_visible()
    context.close()
