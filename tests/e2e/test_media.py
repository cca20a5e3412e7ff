"""Pages on paper, in forced colours, without motion, on narrow and on very wide screens, and with their menus open."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer
from pytest_playwright_axe import Axe

from sessions_app.models import Session

from .conftest import opened
from .test_pages import TAGS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
MOVING = """() => [...document.querySelectorAll('*')].filter((node) => {
  const style = getComputedStyle(node);
  const longest = (text) => Math.max(...text.split(',').map(parseFloat));
  return style.scrollBehavior === 'smooth' || longest(style.transitionDuration) > 0.01
    || (style.animationName !== 'none' && longest(style.animationDuration) > 0.01);
}).map((node) => node.outerHTML.slice(0, 120))"""
CUT = """() => [...document.querySelectorAll('main *')].filter((node) => {
  const style = getComputedStyle(node);
  return node.checkVisibility() && node.scrollHeight > node.clientHeight + 2 && node.clientHeight > 0
    && ['hidden', 'auto', 'scroll'].includes(style.overflowY) && style.whiteSpace !== 'nowrap';
}).map((node) => node.outerHTML.slice(0, 120))"""
"""What hides some of its content."""
TOO_LONG = """() => [...document.querySelectorAll('main p')].filter((node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  const size = parseFloat(getComputedStyle(node).fontSize);
  return node.checkVisibility() && [...range.getClientRects()].some((line) => line.width > 100 * size);
}).map((node) => node.textContent.trim().slice(0, 120))"""
"""Sentences whose lines nobody follows with the eye: over 100 em."""


def test_on_paper_a_session_is_its_conversation(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], blocked: Session
) -> None:
    context = opened(chromium, live_server, signed_in, color_scheme="dark")
    page = context.new_page()
    page.goto(f"/sessions/{blocked.pk}/?print=1")
    page.emulate_media(media="print")

    expect(page.locator("main")).to_contain_text("do a thing")
    for gone in (".bar", ".tabs", "main form", "main button", ".menu", ".page-foot"):
        assert page.locator(gone).locator("visible=true").count() == 0, gone
    ground, ink = page.evaluate(
        "[document.body, document.querySelector('main')].map((node, at) =>"
        " getComputedStyle(node)[at ? 'color' : 'backgroundColor'].match(/\\d+/g).slice(0, 3).map(Number))"
    )
    assert min(ground) > 240 and max(ink) < 80, (ground, ink)
    assert page.evaluate(CUT) == []
    context.close()


def test_in_forced_colours_states_the_focus_and_the_open_row_are_seen(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], blocked: Session
) -> None:
    context = opened(chromium, live_server, signed_in, forced_colors="active", viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"/sessions/?health=blocked&peek={blocked.pk}")
    here = page.locator("tr[aria-current]")
    assert here.evaluate("(row) => getComputedStyle(row).outlineStyle") != "none"
    expect(here).to_contain_text("Blocked")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.goto("/")
    bar = page.locator(".health-bar").first
    assert bar.evaluate("(one) => getComputedStyle(one).forcedColorAdjust") == "none"
    page.goto(f"/sessions/{blocked.pk}/")
    expect(page.locator(".part").first).to_be_visible()
    fault = page.locator(".part.at").first
    assert fault.evaluate("(part) => getComputedStyle(part).outlineStyle") != "none"
    context.close()


@pytest.mark.exhaustive
def test_nothing_moves_for_who_does_not_want_it(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    context = opened(chromium, live_server, signed_in, reduced_motion="reduce")
    page = context.new_page()
    for name, path in places.items():
        page.goto(path)
        assert page.evaluate(MOVING) == [], name
    context.close()


@pytest.mark.exhaustive
def test_very_wide_pages_are_not_stretched(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    context = opened(chromium, live_server, signed_in, viewport={"width": 3840, "height": 2160})
    page = context.new_page()
    for name, path in places.items():
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 3840, name
        if name != "api":
            assert page.locator("main").evaluate("(node) => node.getBoundingClientRect().width") <= 2400, name
        assert page.evaluate(TOO_LONG) == [], name
    context.close()


def _axe(page: Page) -> list[str]:
    options = {"runOnly": {"type": "tag", "values": TAGS}}
    found = Axe(output_directory="test-results/axe").run(page, options=options, report_on_violation_only=True)
    return [f"{item['id']} {[node['html'][:160] for node in item['nodes'][:3]]}" for item in found["violations"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1440, 320])
def test_menus_and_what_is_folded_pass_axe_when_open(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str], width: int
) -> None:
    context = opened(chromium, live_server, signed_in, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(places["list"])
    page.locator(".menu-cell a").first.click()
    expect(page.locator(".row-menu")).to_be_visible()
    assert _axe(page) == []
    for name in ("list", "peek", "timeline", "findings", "handback", "bulk", "source", "sources", "help", "payload"):
        page.goto(places[name])
        for menu in page.locator("details.menu").all():
            menu.evaluate("(one) => (one.open = true)")
            assert (name, _axe(page)) == (name, [])
            menu.evaluate("(one) => (one.open = false)")
        page.evaluate("document.querySelectorAll('main details:not(.menu)').forEach((one) => (one.open = true))")
        page.wait_for_load_state("networkidle")
        assert (name, _axe(page)) == (name, [])
    context.close()
