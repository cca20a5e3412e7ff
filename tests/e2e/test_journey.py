"""What a support engineer does, by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from sessions_app.models import Finding, Part, Repair, Session, Source
from tests.factories import models as factories
from tests.web.test_timeline import long_session

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_from_the_list_to_a_repaired_session_and_back_by_keyboard(page: Page, store: Source) -> None:
    page.goto("/sessions/")
    page.keyboard.press("j")
    expect(page.locator("tr[data-current] [data-row-link]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#finding h2")).to_contain_text("Two bash calls share one id, turn 1")
    expect(page.locator(".part.at")).to_be_in_viewport()

    page.keyboard.press("a")
    expect(page.locator("#outcome-words")).to_contain_text("Repaired: ")
    expect(page.locator("#outcome-words")).to_be_focused()
    expect(page.locator("h1")).to_be_visible()
    assert Repair.objects.get().state == "applied"

    page.keyboard.press("u")
    expect(page.locator("#outcome-words")).to_contain_text("Taken back")
    expect(page.locator("#outcome-words")).to_be_focused()
    expect(page.locator(".session-head .badge").first).to_have_text("Blocked")

    page.get_by_role("button", name="Apply again").click()
    expect(page.locator("#outcome-words")).to_contain_text("Repaired: ")


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
        line="A later fault",
        position=99,
    )
    page.goto(f"/sessions/{blocked.pk}/?fault=2")
    page.keyboard.press("n")
    page.wait_for_url("**fault=3**")
    expect(page.locator("#finding h2")).to_contain_text("A later fault")
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
    page.goto("/sessions/")
    page.get_by_role("search", name="Filter sessions").get_by_text("Filter", exact=True).first.click()
    page.get_by_role("search", name="Filter sessions").get_by_label("Refused by").select_option("openai-chat")
    page.wait_for_url("**rejected=openai-chat")
    expect(page.locator("#chips")).to_contain_text("refused by OpenAI Chat")
    page.go_back()
    expect(page.locator("#chips")).not_to_contain_text("refused by")


def test_two_clicks_from_the_list_to_a_repaired_session_and_two_to_the_next(page: Page, store: Source) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/sessions/?health=blocked&fate=safe")
    blocked = Session.objects.filter(health="blocked", fate="safe").count()

    page.locator("[data-peek]").first.click()
    apply = page.get_by_role("button", name="Apply")
    expect(apply).to_be_in_viewport()
    expect(page.locator("tr[aria-current]")).to_have_count(1)
    assert "peek=" in page.url
    apply.click()
    outcome = page.locator("#outcome")
    expect(outcome).to_be_in_viewport()
    expect(page.locator("#outcome-words")).to_be_focused()
    assert Session.objects.filter(health="blocked", fate="safe").count() == blocked - 1

    outcome.get_by_role("link", name="Next blocked").click()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#outcome-words")).to_contain_text("Repaired")
    assert Session.objects.filter(health="blocked", fate="safe").count() == blocked - 2

    outcome.get_by_role("button", name="Undo").click()
    expect(page.locator("#outcome-words")).to_contain_text("Taken back")
    assert Session.objects.filter(health="blocked", fate="safe").count() == blocked - 1


@pytest.mark.parametrize(("width", "height", "rows"), [(1440, 900, 20), (1280, 720, 15), (1920, 1080, 25)])
def test_a_screen_shows_many_sessions(page: Page, store: Source, width: int, height: int, rows: int) -> None:
    for number in range(60):
        factories.session(store, f"ses_{number:03}", title=f"Session {number}", health="blocked", health_rank=0)
    page.set_viewport_size({"width": width, "height": height})
    page.goto("/sessions/")
    boxes = page.evaluate("[...document.querySelectorAll('[data-row]')].map(r => r.getBoundingClientRect().toJSON())")
    assert boxes[0]["top"] <= 200
    assert max(box["height"] for box in boxes) <= 33
    assert sum(box["bottom"] <= height for box in boxes) >= rows


def test_selecting_rows_shows_the_bar_and_posts_the_selection(page: Page, store: Source) -> None:
    page.goto("/sessions/")
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
    page.goto("/sessions/")
    page.locator("#q").click()
    page.keyboard.type("jjx")
    expect(page.locator("#q")).to_have_value("jjx")
    page.goto("/help/")
    page.get_by_role("banner").locator(".menu > summary").click()
    page.locator("#shortcuts").select_option("off")
    page.wait_for_load_state("networkidle")
    page.goto("/sessions/")
    page.keyboard.press("j")
    expect(page.locator("tr[data-current]")).to_have_count(0)


def test_a_copy_button_says_that_it_copied(page: Page, store: Source, blocked: Session) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/sessions/{blocked.pk}/")
    page.get_by_role("button", name="Copy the session id").click()
    expect(page.get_by_role("button", name="Copied: Copy the session id")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == blocked.stored_id


def test_the_theme_is_chosen_and_stays(page: Page, store: Source) -> None:
    page.goto("/sessions/")
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
    expect(page.locator("#turn-210")).to_be_attached()

    top = "document.getElementById('turn-151').getBoundingClientRect().top"
    page.locator("#turn-151").evaluate("(node) => node.scrollIntoView({ block: 'center', behavior: 'instant' })")
    before = page.evaluate(top)
    page.locator("#earlier a").dispatch_event("click")
    expect(page.locator("#turn-120")).to_be_attached()
    page.wait_for_timeout(300)
    assert abs(page.evaluate(top) - before) < 5
