"""Pages on paper, in forced colours, without motion, on very small and very large screens, and with everything open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer
from pytest_playwright_axe import Axe

from sessions_app.models import Session, Source

from .conftest import opened
from .test_pages import TAGS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

A4 = {"width": 718, "height": 1047}
"""What A4 with margins of 10 mm leaves, in CSS pixels."""

ON_PAPER = """() => {
  const shown = (node) => node.checkVisibility({ checkVisibilityCSS: true }) && node.getClientRects().length > 0;
  const name = (node) => `${node.tagName.toLowerCase()}.${node.className.baseVal ?? node.className}`;
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour, on) => {
    for (const fill of [on, colour]) { pen.fillStyle = fill; pen.fillRect(0, 0, 1, 1); }
    const part = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((n) => n / 255)
      .map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const faults = new Set();
  const tools = ".bar, .page-foot, .tabs, .peek, .menu, .row-menu, .search-line, .timeline-tools, .stepper, .pager, "
    + ".outcome, .bulk-bar, .fix-foot, .skip, .button, button:not(.json-lines button), "
    + "input:not(.diff-gap input, .ways input), select, textarea";
  for (const node of document.querySelectorAll(tools)) if (shown(node)) faults.add(`shown: ${name(node)}`);
  if (light(getComputedStyle(document.body).backgroundColor, "#fff") < 1) faults.add("the paper is not white");
  for (const node of document.querySelectorAll("main, main *")) {
    if (!shown(node) || node.closest(".visually-hidden, svg")) continue;
    const style = getComputedStyle(node);
    const words = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (words && 1.05 / (light(style.color, "#fff") + 0.05) < 4.5) faults.add(`pale: ${name(node)}`);
    if (light(style.backgroundColor, "#fff") < 0.5 && !node.matches(".key")) faults.add(`dark behind: ${name(node)}`);
    if (["sticky", "fixed"].includes(style.position)) faults.add(`${style.position}: ${name(node)}`);
    const closed = node.closest("details:not([open])");
    if (style.contentVisibility !== "visible" && !closed) faults.add(`late: ${name(node)}`);
    const cut = node.scrollHeight > node.clientHeight + 2 || node.scrollWidth > node.clientWidth + 2;
    if (style.overflow !== "visible" && style.display !== "inline" && cut) faults.add(`cut: ${name(node)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.add(`wide: ${document.documentElement.scrollWidth}`);
  return [...faults];
}"""

CONTENT = """() => [...document.querySelectorAll("main :is(h1, tbody tr, .part, .way, .finding, .json-lines .line)")]
  .filter((node) => !node.closest(".peek, .menu") && node.checkVisibility())
  .filter((node) => node.getClientRects().length > 0).length"""

ONLY_BY_COLOUR = """() => {
  const shown = (node) => node.checkVisibility({ checkVisibilityCSS: true }) && node.getClientRects().length > 0;
  const chosen = '[aria-current]:not([aria-current="false"]), [data-current], tr:has(input[name="session"]:checked)';
  return [...document.querySelectorAll(chosen)]
    .filter((node) => shown(node) && !node.closest("svg") && getComputedStyle(node).outlineStyle === "none")
    .map((node) => node.outerHTML.slice(0, 120));
}"""

UNSEEN_FILLS = """() => [...document.querySelectorAll(".meter, .health-bar, progress, .days")]
  .filter((node) => node.getClientRects().length && !node.closest(".visually-hidden"))
  .filter((node) => getComputedStyle(node).outlineStyle === "none")
  .map((node) => node.outerHTML.slice(0, 120))"""

MOVING = """() => {
  const second = (one) => parseFloat(one) * (one.includes("ms") ? 0.001 : 1);
  const seconds = (list) => Math.max(...list.split(",").map(second));
  const faults = new Set();
  for (const node of document.querySelectorAll("*")) {
    for (const pseudo of [null, "::before", "::after"]) {
      const style = getComputedStyle(node, pseudo);
      const long = Math.max(seconds(style.transitionDuration), seconds(style.animationDuration));
      if (long > 0.01 || style.scrollBehavior === "smooth") faults.add(`${node.tagName}.${node.className} ${long}`);
    }
  }
  return [...faults];
}"""

LONG_LINES = """(limit) => {
  const faults = new Set();
  for (const node of document.querySelectorAll("main :is(p, li, dd, h1, h2, .part-text, .hint, .notice-text)")) {
    for (const text of [...node.childNodes].filter((one) => one.nodeType === 3 && one.data.trim().length > 100)) {
      const range = document.createRange();
      range.selectNodeContents(text);
      const width = Math.max(0, ...[...range.getClientRects()].map((box) => box.width));
      if (width > limit) faults.add(`${Math.round(width)}: ${text.data.trim().slice(0, 60)}`);
    }
  }
  return [...faults];
}"""


@contextmanager
def screen(browser: Browser, server: LiveServer, cookies: dict[str, str], **options: Any) -> Iterator[Page]:
    context = opened(browser, server, cookies, **options)
    try:
        yield context.new_page()
    finally:
        context.close()


def told(page: Page, places: dict[str, str], script: str, *given: object) -> dict[str, list[str]]:
    """What a script finds at fault, by page."""
    found = {}
    for name, path in places.items():
        page.goto(path)
        found[name] = page.evaluate(script, *given)
    return {name: faults for name, faults in found.items() if faults}


def lost_on_paper(page: Page, places: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Pages of which paper has fewer rows, parts, ways or lines than the screen: how many on each."""
    counts = {}
    for name, path in places.items():
        page.goto(path)
        page.emulate_media(media="screen")
        there = page.evaluate(CONTENT)
        page.emulate_media(media="print")
        counts[name] = (there, page.evaluate(CONTENT))
    return {name: (there, here) for name, (there, here) in counts.items() if here < there}


def few(store: Source, blocked: Session) -> dict[str, str]:
    return {"peek": f"/sessions/?health=blocked&peek={blocked.pk}", "timeline": f"/sessions/{blocked.pk}/"}


def test_the_list_and_a_session_are_whole_on_paper_in_forced_colours_and_on_a_very_large_screen(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], store: Source, blocked: Session
) -> None:
    places = few(store, blocked)
    with screen(chromium, live_server, signed_in, viewport=A4, color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert told(page, places, ON_PAPER) == {}
        assert lost_on_paper(page, places) == {}
        assert page.locator(".part-text").first.inner_text().strip()
        page.emulate_media(media="screen", forced_colors="active", reduced_motion="reduce")
        assert told(page, places, ONLY_BY_COLOUR) == {}
        assert told(page, places, MOVING) == {}
        page.emulate_media(reduced_motion="no-preference")
        assert page.evaluate(MOVING), "who does not ask for less sees the page scroll"
    with screen(chromium, live_server, signed_in, viewport={"width": 3840, "height": 2160}) as page:
        for path in places.values():
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 3840
            assert 1900 <= page.locator("main").evaluate("(node) => node.clientWidth") <= 2400
            assert page.evaluate(LONG_LINES, 1100) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_whole_on_paper(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str], theme: str
) -> None:
    with screen(chromium, live_server, signed_in, viewport=A4, color_scheme=theme) as page:
        page.emulate_media(media="print")
        assert told(page, places, ON_PAPER) == {}
        assert lost_on_paper(page, places) == {}


@pytest.mark.exhaustive
def test_nothing_is_told_by_a_background_alone_in_forced_colours(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    with screen(chromium, live_server, signed_in, forced_colors="active") as page:
        assert told(page, places, ONLY_BY_COLOUR) == {}
        assert told(page, places, UNSEEN_FILLS) == {}


def test_focus_and_a_ticked_row_are_seen_in_forced_colours(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], store: Source
) -> None:
    with screen(chromium, live_server, signed_in, forced_colors="active") as page:
        page.goto("/sessions/?health=blocked")
        outline = "(node) => [getComputedStyle(node).outlineStyle, getComputedStyle(node).outlineWidth]"
        row = page.locator("[data-row]").first
        assert row.evaluate(outline)[0] == "none"
        row.get_by_role("checkbox").check()
        assert row.evaluate(outline) == ["solid", "2px"]
        pill = page.locator(".pill[aria-current]")
        assert pill.evaluate(outline) == ["solid", "2px"]
        page.keyboard.press("Tab")
        pill.focus()
        assert pill.evaluate(outline)[0] == "double", "what is chosen and focused is told from what is chosen"
        link = page.locator("[data-row-link]").first
        link.focus()
        assert link.evaluate(outline) == ["solid", "3px"]


@pytest.mark.exhaustive
def test_nothing_moves_for_who_asks_for_it(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    with screen(chromium, live_server, signed_in, reduced_motion="reduce") as page:
        assert told(page, places, MOVING) == {}


@pytest.mark.exhaustive
def test_no_page_is_stretched_by_a_very_large_screen(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str]
) -> None:
    with screen(chromium, live_server, signed_in, viewport={"width": 3840, "height": 2160}) as page:
        assert told(page, places, LONG_LINES, 1100) == {}
        wide = "() => [document.documentElement, document.querySelector('main')].map((node) => node.scrollWidth)"
        for path in places.values():
            page.goto(path)
            whole, main = page.evaluate(wide)
            assert (whole <= 3840, main <= 2400) == (True, True), path


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1440])
def test_pages_pass_axe_with_everything_open(
    chromium: Browser,
    live_server: LiveServer,
    signed_in: dict[str, str],
    places: dict[str, str],
    theme: str,
    width: int,
) -> None:
    axe = Axe(output_directory="test-results/axe")
    faults = []
    size = {"width": width, "height": 900}
    with screen(chromium, live_server, signed_in, color_scheme=theme, viewport=size) as page:

        def look(name: str) -> None:
            found = axe.run(page, options={"runOnly": {"type": "tag", "values": TAGS}}, report_on_violation_only=True)
            faults.extend((name, one["id"], one["nodes"][0]["html"][:160]) for one in found["violations"])
            if (page_width := page.evaluate("document.documentElement.scrollWidth")) > width:
                faults.append((name, "wide", str(page_width)))

        for name in ("peek", "own view", "sent"):
            page.goto(places[name])
            menus = page.locator("details.menu:visible")
            for number in range(menus.count()):
                menu = menus.nth(number)
                opener = menu.locator("summary").first
                opener.click()
                expect(menu.locator(".menu-panel")).to_be_visible()
                menu.evaluate("(node) => node.querySelectorAll('details').forEach((one) => (one.open = true))")
                look(f"{name}: {opener.inner_text()}")
                menu.evaluate("(node) => (node.open = false)")
        page.goto(places["list"])
        opener = page.locator("[data-menu]").first
        # Scrolling closes menus.
        opener.evaluate("(one) => one.scrollIntoView({ block: 'center', behavior: 'instant' })")
        opener.click()
        expect(page.locator(".row-menu .menu-panel")).to_be_visible()
        look("row menu")
        for name in (
            "details",
            "bulk",
            "store",
            "slim",
            "sources",
            "source",
            "findings",
            "overview",
            "timeline",
            "help",
        ):
            page.goto(places[name])
            page.evaluate("document.querySelectorAll('main details:not(.menu)').forEach((one) => (one.open = true))")
            page.wait_for_load_state("networkidle")
            look(name)
    assert faults == []
