"""Debian's Chromium against a live server with sessions of the corpus. Skipped where no Chromium is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from sessions_app.domain.wish import Wish
from sessions_app.models import Finding, IgnoredFinding, Part, Repair, RepairBatch, SavedView, Session, Source
from sessions_app.services.actor import Actor
from sessions_app.services.repair.apply import repair_apply
from tests.bulk.store import many
from tests.factories.corpus import attached
from tests.factories.models import NOW

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip("Chromium is not installed")
    # Playwright's synchronous interface runs a loop in this thread, and Django would then refuse its database calls.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def store(transactional_db: None, tmp_path: Path, data_dir: Path) -> Source:
    """Two sessions that are refused, one that is at risk, three healthy ones, in one attached database."""
    return attached(many(tmp_path / "opencode.db", {"dup_id_slow": 2, "abort_running": 1, "clean": 3}))


@pytest.fixture
def blocked(store: Source) -> Session:
    found: Session = Session.objects.filter(source=store, health="blocked").order_by("pk")[0]
    return found


@pytest.fixture
def signed_in(transactional_db: None) -> dict[str, str]:
    """The cookies of somebody who may do everything."""
    client = Client()
    client.force_login(User.objects.create_superuser("alice", password="alice"))
    return {name: morsel.value for name, morsel in client.cookies.items()}


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
        "row menu": f"{base}/menu/",
        "provider": f"{base}/provider/",
        "upgrade": f"/sources/{store.pk}/upgrade/",
        "account": "/account/",
        "api": "/api/v1/docs",
        "api searched": "/api/v1/docs?q=undo",
    }


def opened(browser: Browser, server: LiveServer, cookies: dict[str, str], **options: object) -> BrowserContext:
    context = browser.new_context(base_url=server.url, **options)  # type: ignore[arg-type]
    context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies.items()])
    context.set_default_timeout(15_000)
    return context


@pytest.fixture
def page(chromium: Browser, live_server: LiveServer, signed_in: dict[str, str]) -> Iterator[Page]:
    """A page that fails its test when the browser reports an error (a script, the policy, a missing file)."""
    context = opened(chromium, live_server, signed_in, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []
