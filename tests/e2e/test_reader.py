"""Reading a payload: search, outline and pointers, by mouse and by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from sessions_app.models import Session

from .conftest import opened

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_search_shows_its_place_and_a_number_copies_its_pointer(page: Page, blocked: Session) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/sessions/{blocked.pk}/payload/")
    page.locator("#reader-find").fill("tool_call_id")
    page.keyboard.press("Enter")
    expect(page.locator("#place")).to_be_in_viewport()
    expect(page.locator("#place mark")).to_have_text("tool_call_id")
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page.locator(".reader-hits")).to_contain_text("Place 2 of")

    number = page.locator("#place button")
    pointer = number.get_attribute("value")
    number.click()
    assert page.evaluate("navigator.clipboard.readText()") == pointer
    assert pointer and re.fullmatch(r"/messages/\d+/tool_call_id", pointer)
    assert "match=2" in page.url


def test_the_outline_opens_a_message_and_arrows_walk_its_numbers(page: Page, blocked: Session) -> None:
    page.goto(f"/sessions/{blocked.pk}/payload/")
    page.locator(".reader-outline a").nth(1).click()
    expect(page.locator("#message-1[open] .json-lines")).to_be_in_viewport()
    stops = page.locator("#message-1 .json-lines button:not([tabindex='-1'])")
    expect(stops).to_have_count(1)
    stops.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#message-1 .json-lines button").nth(1)).to_be_focused()
    expect(stops).to_have_count(1)


def test_without_script_messages_open_and_numbers_show_their_pointer(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], blocked: Session
) -> None:
    context = opened(chromium, live_server, signed_in, java_script_enabled=False)
    page = context.new_page()
    for tab in ("payload", "raw"):
        page.goto(f"/sessions/{blocked.pk}/{tab}/")
        page.locator("#message-1 > summary").click()
        if page.locator("#message-1 a", has_text="Open it").count():
            page.locator("#message-1 a", has_text="Open it").click()
        page.locator("#message-1 .json-lines button").nth(1).click()
        expect(page.locator(".reader-place code")).to_have_text(re.compile(r"^/messages/1/"))
        expect(page.locator("#place")).to_be_in_viewport()
    context.close()
