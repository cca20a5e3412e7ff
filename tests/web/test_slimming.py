"""A store tidied from the browser and by the API: what is freed, the job, and the old file deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client

from sessions_app.models import AuditEntry, SlimJob, Source
from sessions_app.services import sourceslimming
from sessions_app.stores.replacing import kept_files
from tests.factories.corpus import attached

from .conftest import BLOCKED

pytestmark = pytest.mark.django_db(transaction=True)


def events(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM event").fetchone()[0])


@pytest.fixture
def store(copied: Callable[[str], Path]) -> Path:
    return copied("dup_id_slow")


@pytest.fixture
def stored(store: Path, data_dir: Path, db: None) -> Source:
    return attached(store)


def test_the_page_previews_and_tidies_and_the_old_file_is_deleted_when_that_is_said(
    alice: Client, stored: Source, store: Path
) -> None:
    page = f"/sources/{stored.pk}/slim/"

    offered = alice.get(f"/sources/{stored.pk}/store/").html
    preview = alice.get(page).html
    unsure = alice.post(page, {"keep_days": "0"})
    before = events(store)
    done = alice.post(page, {"keep_days": "0", "sure": "yes"}, follow=True).html
    [kept] = kept_files(store)
    kept_on = alice.post(f"{page}forget/", follow=True).html
    forgotten = alice.post(f"{page}forget/", {"sure": "yes"}, follow=True).html

    assert page in offered and "Tidy this store" in offered
    assert "would be freed" in preview and "Superseded events" in preview
    assert unsure.status_code == 422 and "Tick the box first" in unsure.html
    assert (before, events(store)) == (29, 11)
    assert "18 of 29 events are gone" in done and str(kept) in done
    assert "tick the box first" in kept_on
    assert "are free now" in forgotten and not kept.exists()
    assert [entry.action for entry in AuditEntry.objects.order_by("id")][-2:] == [
        "source.slimmed",
        "source.old-forgotten",
    ]


def test_a_store_that_is_in_use_is_not_tidied_and_the_page_says_by_whom(
    alice: Client, stored: Source, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sessions_app.services import slimming
    from sessions_app.stores.holders import Holder

    monkeypatch.setattr(slimming, "holders", lambda _: [Holder(77, "opencode serve", True)])

    page = alice.get(f"/sources/{stored.pk}/slim/").html
    alice.post(f"/sources/{stored.pk}/slim/", {"sure": "yes"})
    failed = alice.get(f"/sources/{stored.pk}/slim/").html

    assert "opencode serve (77)" in page and "Close it" in page
    assert SlimJob.objects.get().state == "failed"
    assert "The store is as it was" in failed
    assert events(store) == 29


def test_a_running_one_shows_its_progress_and_can_be_stopped(alice: Client, stored: Source) -> None:
    job = SlimJob.objects.create(source=stored, created_at=stored.created_at, words="Copying", done=2, total=8)

    running = alice.get(f"/sources/{stored.pk}/slim/").html
    part = alice.get(f"/sources/{stored.pk}/slim/", headers={"HX-Request": "true", "HX-Target": "progress"}).html
    again = alice.post(f"/sources/{stored.pk}/slim/", {"sure": "yes"})
    alice.post(f"/sources/{stored.pk}/slim/cancel/")

    assert "Copying" in running and 'value="25"' in part and "<html" not in part
    assert again.status_code == 302 and SlimJob.objects.count() == 1
    job.refresh_from_db()
    assert job.state in ("cancelled", "done")


def test_a_cancel_that_is_heard_on_the_way_leaves_the_store_as_it_was(
    alice: Client, stored: Source, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sourceslimming._Told.at

    def at(told: sourceslimming._Told, step: str) -> None:
        if step == "copied":
            SlimJob.objects.update(cancel_requested=True)
        real(told, step)

    monkeypatch.setattr(sourceslimming._Told, "at", at)

    alice.post(f"/sources/{stored.pk}/slim/", {"sure": "yes"})

    assert SlimJob.objects.get().state == "cancelled"
    assert events(store) == 29 and kept_files(store) == []
    assert [path.name for path in store.parent.iterdir() if path.name.startswith(".")] == []


def test_the_api_previews_slims_and_forgets(alice: Client, stored: Source, store: Path) -> None:
    address = f"/api/v1/sources/{stored.pk}/slim"

    none = alice.get(address)
    preview = alice.post(address, {}, content_type="application/json")
    wrong = alice.post(address, {"keep_days": 900}, content_type="application/json")
    begun = alice.post(address, {"dry_run": False, "keep_days": 0}, content_type="application/json")
    job = alice.get(address).json()
    forgotten = alice.post(f"{address}/forget", {}, content_type="application/json").json()

    assert none.status_code == 404
    assert preview.status_code == 200 and preview.json()["freed"] > 0 and not preview.json()["sampled"]
    assert wrong.status_code == 422
    assert begun.status_code == 202
    assert job["state"] == "done" and job["report"]["removed"] == 18 and events(store) == 11
    assert forgotten["bytes"] > 100_000 and kept_files(store) == []


def test_what_is_no_database_is_refused_in_words(alice: Client, stored: Source) -> None:
    Source.objects.filter(pk=stored.pk).update(kind="export")

    page = alice.get(f"/sources/{stored.pk}/slim/").html
    answer = alice.post(f"/api/v1/sources/{stored.pk}/slim", {}, content_type="application/json")

    assert "Only a database can be slimmed" in page
    assert answer.status_code == 409 and "Only a database" in answer.json()["detail"]


def test_who_may_not_repair_is_not_offered_it(victor: Client, stored: Source) -> None:
    assert "Tidy this store" not in victor.get(f"/sources/{stored.pk}/store/").html
    assert victor.get(f"/sources/{stored.pk}/slim/").status_code == 403


def test_the_blocked_store_of_another_version_is_tidied_too(alice: Client, source: Source) -> None:
    alice.post(f"/sources/{source.pk}/slim/", {"sure": "yes"})

    assert BLOCKED.split("@")[0] in source.name
    assert SlimJob.objects.get().report["removed"] > 0
