"""Lists in a real browser: clicks counted, heights measured, by keyboard, while others work."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from sessions_app.models import Finding, RepairBatch, Session, Source
from tests.factories import models as factories

from .conftest import opened

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


def test_the_menu_of_a_row_is_used_by_keyboard_and_closes_without_losing_the_place(page: Page, store: Source) -> None:
    page.goto("/sessions/?health=blocked")
    page.keyboard.press("j")
    page.keyboard.press("m")
    menu = page.locator(".row-menu")
    expect(menu.locator("summary")).to_be_focused()
    assert page.url.endswith("/sessions/?health=blocked")
    page.keyboard.press("Escape")
    expect(menu.locator(".menu-panel")).to_be_hidden()
    expect(menu.locator("summary")).to_be_focused()
    page.keyboard.press("m")
    menu.get_by_role("button", name="Apply 2 safe repairs").click()
    expect(page.locator("#outcome-words")).to_contain_text("Repaired")
    expect(page.locator("[data-row]")).to_have_count(1)


def test_a_session_beside_the_list_is_walked_through_by_keyboard(page: Page, store: Source) -> None:
    page.goto("/sessions/")
    page.keyboard.press("j")
    page.keyboard.press(" ")
    expect(page.locator(".peek-head")).to_contain_text("1 of 6")
    page.keyboard.press("J")
    expect(page.locator(".peek-head")).to_contain_text("2 of 6")
    page.keyboard.press("K")
    expect(page.locator(".peek-head")).to_contain_text("1 of 6")
    page.keyboard.press("Escape")
    expect(page.locator(".peek")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_contain_text("cannot go on")


def test_what_others_do_is_told_and_shown_on_request_with_the_ticks_kept(page: Page, store: Source) -> None:
    page.goto("/sessions/")
    boxes = page.get_by_role("checkbox", name="Select session")
    boxes.nth(1).check()
    page.evaluate("htmx.trigger('#news', 'look')")
    expect(page.locator("#news")).to_be_empty()
    row = Session.objects.filter(health="healthy")[0]
    Session.objects.filter(pk=row.pk).update(title="Renamed meanwhile")
    top = page.locator("[data-row]").first.bounding_box()

    page.evaluate("htmx.trigger('#news', 'look')")
    expect(page.locator("#news")).to_contain_text("1 session changed")
    assert page.locator("[data-row]").first.bounding_box() == top
    expect(page.get_by_text("Renamed meanwhile")).to_have_count(0)
    page.locator("#news").get_by_role("link", name="Show").click()
    expect(page.get_by_role("link", name="Renamed meanwhile", exact=True)).to_be_visible()
    expect(boxes.nth(1)).to_be_checked()
    expect(page.locator(".bulk-bar")).to_contain_text("1 selected")
    assert page.url.endswith("/sessions/")


def test_rows_are_roomy_for_who_wants_them_so(page: Page, store: Source) -> None:
    page.goto("/sessions/")
    page.get_by_role("banner").locator(".menu > summary").click()
    page.locator("#rows").select_option("roomy")
    page.wait_for_load_state("networkidle")
    box = page.locator("[data-row]").first.bounding_box()
    assert box is not None and 40 <= box["height"] <= 41


def test_times_are_the_readers_own_with_utc_beside(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], store: Source
) -> None:
    context = opened(chromium, live_server, signed_in, timezone_id="Asia/Tokyo")
    page = context.new_page()
    blocked = Session.objects.filter(health="blocked")[0]
    page.goto(f"/sessions/{blocked.pk}/")
    time = page.locator("time[title$='UTC']", has_text=re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d$")).first
    told = datetime.fromisoformat(str(time.get_attribute("datetime")))
    assert time.text_content() == told.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%Y-%m-%d %H:%M")
    assert time.get_attribute("title") == told.strftime("%Y-%m-%d %H:%M UTC")
    context.close()


def test_the_page_of_fifty_rows_is_short_and_light(page: Page, store: Source) -> None:
    for number in range(60):
        title = f"Session {number} with a title of a usual length, cut nowhere"
        row = factories.session(store, f"ses_{number:03}", title=title, health="blocked", health_rank=0, fate="safe")
        Finding.objects.create(
            session=row,
            key=f"k{number}",
            rule="duplicate-call-id-in-message",
            severity="blocked",
            safety="safe",
            line="Two bash calls share one id",
            place="bash call 2, turn 7",
            position=0,
        )
    answer = page.goto("/sessions/?health=blocked")
    assert answer is not None and len(answer.body()) <= 100_000
    assert page.evaluate("document.documentElement.scrollHeight") < 2100


def test_a_repair_asked_for_after_the_token_went_old_is_sent_again_and_done(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], store: Source
) -> None:
    context = opened(chromium, live_server, signed_in)
    page = context.new_page()
    blocked = Session.objects.filter(health="blocked")[0]
    page.goto(f"/sessions/?peek={blocked.pk}")
    context.clear_cookies(name="suture_csrf")
    page.get_by_role("button", name="Apply 2 safe repairs").click()
    page.get_by_role("button", name="Send again").click()
    expect(page.locator("#outcome-words")).to_contain_text("Repaired")
    context.close()
