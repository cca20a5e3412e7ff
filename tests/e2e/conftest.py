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

from sessions_app.models import Session, Source
from tests.bulk.store import many
from tests.factories.corpus import attached

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
