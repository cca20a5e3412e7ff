"""Every page in a real browser: accessible in both themes, at 320 px, and without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer
from pytest_playwright_axe import Axe

from sessions_app.domain.wish import Wish
from sessions_app.models import Finding, IgnoredFinding, Part, Repair, RepairBatch, SavedView, Session, Source
from sessions_app.services.actor import Actor
from sessions_app.services.repair.apply import repair_apply
from tests.factories.models import NOW

from .conftest import opened

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    # The live server's threads leave their connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
NAMES = [
    "overview",
    "list",
    "filtered",
    "peek",
    "nothing",
    "timeline",
    "calm",
    "findings",
    "payload",
    "preview",
    "raw",
    "handback",
    "details",
    "compare",
    "part",
    "sources",
    "source",
    "store",
    "slim",
    "relink",
    "repairs",
    "repair",
    "session repairs",
    "help",
    "locate",
    "missing",
    "bulk",
    "batch",
    "sent",
    "after repair",
    "found",
    "search",
    "own view",
    "print",
    "ignored",
    "login",
]


@pytest.fixture
def places(store: Source, blocked: Session, signed_in: dict[str, str]) -> dict[str, str]:
    """Where each page is, with something on it."""
    other = Session.objects.filter(source=store, health="blocked").exclude(pk=blocked.pk)[0]
    repair_apply(session=other, wish=Wish(), actor=Actor("alice"), now=NOW)
    batch = RepairBatch.objects.create(state="done", total=1, done=1, created_at=NOW)
    healthy = Session.objects.filter(source=store, health="healthy")[0]
    part = Part.objects.filter(session=blocked, kind="tool")[0]
    finding = Finding.objects.filter(session=blocked, rule__startswith="duplicate")[0]
    view = SavedView.objects.create(
        owner=User.objects.get(username="alice"), name="Mine", query="health=blocked", created_at=NOW
    )
    IgnoredFinding.objects.create(
        session=blocked, key=finding.key, rule=finding.rule, reason="known", actor="alice", created_at=NOW
    )
    base = f"/sessions/{blocked.pk}"
    return {
        "overview": "/",
        "list": "/sessions/",
        "filtered": "/sessions/?health=blocked&q=title&has=duplicate",
        "peek": f"/sessions/?health=blocked&peek={blocked.pk}",
        "nothing": "/sessions/?q=nothing+like+this",
        "timeline": f"{base}/",
        "calm": f"/sessions/{healthy.pk}/",
        "findings": f"{base}/findings/",
        "payload": f"{base}/payload/",
        "preview": f"{base}/repair/?finding={finding.key}",
        "raw": f"{base}/raw/",
        "handback": f"{base}/handback/",
        "details": f"{base}/details/",
        "compare": f"{base}/compare/?part={finding.parts[0]}&other={finding.parts[1]}",
        "part": f"/parts/{part.pk}/",
        "sources": "/sources/",
        "source": f"/sources/{store.pk}/",
        "store": f"/sources/{store.pk}/store/",
        "slim": f"/sources/{store.pk}/slim/",
        "relink": f"{base}/relink/",
        "repairs": "/repairs/",
        "repair": f"/repairs/{Repair.objects.get().public_id}/",
        "session repairs": f"/sessions/{other.pk}/repairs/",
        "help": "/help/",
        "locate": "/locate/",
        "missing": "/sessions/99999/",
        "bulk": "/bulk/?health=blocked",
        "batch": f"/bulk/{batch.public_id}/",
        "sent": f"{base}/?order=sent",
        "after repair": f"{base}/?order=repaired",
        "found": f"{base}/?find=a",
        "search": "/search/?q=a",
        "own view": f"/sessions/?health=healthy&view={view.pk}",
        "print": f"{base}/?print=1",
        "ignored": f"{base}/findings/",
        "login": "/login/",
    }


def every(places: dict[str, str]) -> Iterator[tuple[str, str]]:
    assert list(places) == NAMES
    return iter(places.items())


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_passes_axe(
    chromium: Browser, live_server: LiveServer, signed_in: dict[str, str], places: dict[str, str], theme: str
) -> None:
    axe = Axe(output_directory="test-results/axe")
    context = opened(chromium, live_server, signed_in, color_scheme=theme, viewport={"width": 1440, "height": 900})
    stranger = opened(chromium, live_server, {}, color_scheme=theme)
    faults = []
    for name, path in every(places):
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
    for name, path in every(places):
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
    for name, path in every(places):
        page.goto(path)
        assert page.locator("h1").count() == 1, name
        assert page.locator("main").count() == 1, name
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
        assert len(ids) == len(set(ids)), name
    context.close()


def test_no_page_makes_the_browser_complain(page: Page, places: dict[str, str]) -> None:
    for name, path in every(places):
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
