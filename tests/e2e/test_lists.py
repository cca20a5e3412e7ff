"""Lists in a real browser: clicks counted, heights measured, by keyboard, while others work."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from sessions_app.models import RepairBatch, Session, Source

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_two_clicks_from_the_first_page_to_a_safe_bulk_repair_that_ends_in_one_bar(page: Page, store: Source) -> None:
    page.goto("/")
    page.get_by_role("link", name="Repair 2 safely…").first.click()
    start = page.get_by_role("button", name="Repair 2 sessions")
    box = start.bounding_box()
    assert box is not None and box["y"] + box["height"] < 600
    start.click()

    expect(page.locator("#outcome-words")).to_contain_text("2 repaired")
    expect(page.locator("#outcome-words")).to_be_focused()
    assert not Session.objects.filter(health="blocked").exists()
    page.get_by_role("button", name="Undo all 2 repairs").click()
    expect(page.locator("#outcome-words")).to_contain_text("Taken back: 2 sessions as before.")
    assert RepairBatch.objects.get().state == "undone"


def test_an_option_of_a_bulk_repair_shows_at_once_what_comes_of_it_and_keeps_the_focus(
    page: Page, store: Source
) -> None:
    page.goto("/bulk/")
    page.get_by_text("Only some rules").click()
    box = page.locator("[name=only]").last
    box.check()
    expect(page.locator("#start-heading")).to_contain_text("are left alone")
    expect(page.get_by_role("button", name="Repair 0 sessions")).to_be_disabled()
    expect(box).to_be_focused()
    assert re.search(r"only=\w", page.url)


def test_the_line_under_the_bar_is_under_the_bar_also_on_a_narrow_screen(page: Page, store: Source) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto("/sessions/")
    held = "getComputedStyle(document.querySelector('.bar')).position"
    assert page.evaluate(held) != "static", "or the line would stand across the middle of the page"
