"""What a support engineer does, by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from sessions_app.models import Finding, Part, Repair, Session, Source
from tests.web.test_timeline import long_session

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_from_the_list_to_a_repaired_session_and_back_by_keyboard(page: Page, store: Source) -> None:
    page.goto("/")
    page.keyboard.press("j")
    expect(page.locator("tr[data-current] [data-row-link]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".stepper .where-now").first).to_contain_text("Fault 1 of")
    expect(page.locator(".part.at")).to_be_in_viewport()

    page.keyboard.press("a")
    expect(page.get_by_text("Repaired by alice")).to_be_visible()
    expect(page.locator("h1")).to_be_visible()
    assert Repair.objects.get().state == "applied"

    page.keyboard.press("u")
    expect(page.get_by_text("Taken back")).to_be_visible()
    expect(page.locator(".session-head .badge").first).to_have_text("Blocked")


def test_next_and_previous_fault_move_focus_to_the_part(page: Page, store: Source, blocked: Session) -> None:
    last = Part.objects.filter(session=blocked).order_by("-position")[0]
    Finding.objects.create(
        session=blocked,
        key="x:1",
        rule="stuck-tool",
        severity="at-risk",
        safety="safe",
        parts=[last.stored_id],
        summary="A later fault",
        position=99,
    )
    page.goto(f"/sessions/{blocked.pk}/?fault=2")
    page.keyboard.press("n")
    page.wait_for_url("**fault=3**")
    expect(page.locator(".stepper .where-now").first).to_contain_text("A later fault")
    expect(page.locator(".part.at [data-focus]")).to_be_focused()
    page.keyboard.press("p")
    page.wait_for_url("**fault=2**")
    expect(page.locator(".part.at")).to_be_in_viewport()


def test_bodies_open_in_place(page: Page, store: Source, blocked: Session) -> None:
    page.goto(f"/sessions/{blocked.pk}/")
    summary = page.locator("details.body > summary", has_text="Input").first
    summary.click()
    expect(page.locator("details.body[open] pre.code").first).to_be_visible()


def test_the_filter_swaps_the_list_and_the_address_follows(page: Page, store: Source) -> None:
    page.goto("/")
    page.get_by_role("search", name="Filter sessions").get_by_label("Rejected by").select_option("openai-chat")
    page.wait_for_url("**rejected=openai-chat**")
    expect(page.locator(".sentence")).to_contain_text("rejected by OpenAI Chat")
    page.go_back()
    expect(page.locator(".sentence")).not_to_contain_text("rejected by")


def test_selecting_rows_shows_the_bar_and_posts_the_selection(page: Page, store: Source) -> None:
    page.goto("/")
    bar = page.locator(".bulk-bar")
    expect(bar).to_be_hidden()
    boxes = page.get_by_role("checkbox", name="Select session")
    boxes.nth(0).check()
    boxes.nth(2).click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Preview repairs", exact=True).click()
    page.wait_for_url("**/bulk/?selection=**")
    expect(page.locator("main")).to_contain_text("3 chosen sessions")


def test_shortcuts_can_be_turned_off_and_never_act_in_a_field(page: Page, store: Source) -> None:
    page.goto("/")
    page.locator("#q").click()
    page.keyboard.type("jjx")
    expect(page.locator("#q")).to_have_value("jjx")
    page.goto("/help/")
    page.get_by_role("banner").locator(".menu > summary").click()
    page.locator("#shortcuts").select_option("off")
    page.wait_for_load_state("networkidle")
    page.goto("/")
    page.keyboard.press("j")
    expect(page.locator("tr[data-current]")).to_have_count(0)


def test_a_copy_button_says_that_it_copied(page: Page, store: Source, blocked: Session) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/sessions/{blocked.pk}/")
    page.get_by_role("button", name="Copy the session id").click()
    expect(page.get_by_role("button", name="Copied: Copy the session id")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == blocked.stored_id


def test_the_theme_is_chosen_and_stays(page: Page, store: Source) -> None:
    page.goto("/")
    page.get_by_role("banner").locator(".menu > summary").click()
    page.locator("#theme").select_option("dark")
    page.wait_for_load_state("networkidle")
    page.goto("/sources/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 22)"


def test_later_turns_load_while_reading_and_earlier_ones_keep_the_place(page: Page) -> None:
    session = long_session(turns=300)
    page.goto(f"/sessions/{session.pk}/?from=300")
    expect(page.locator("#turn-151")).to_be_attached()
    page.locator("#later").scroll_into_view_if_needed()
    expect(page.locator("#turn-260")).to_be_attached()

    top = "document.getElementById('turn-151').getBoundingClientRect().top"
    page.locator("#turn-151").scroll_into_view_if_needed()
    before = page.evaluate(top)
    page.locator("#earlier a").dispatch_event("click")
    expect(page.locator("#turn-60")).to_be_attached()
    page.wait_for_timeout(300)
    assert abs(page.evaluate(top) - before) < 5
