"""backups, repairs and prune: what there is to put back, and how long."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session as WebSession
from django.utils import timezone

from sessions_app.services.keeping import restore_points
from sessions_app.services.pruning import keeping_prune


@pytest.mark.django_db
def test_a_repair_and_its_backup_are_listed_with_what_they_are_of(suture, poisoned: Path) -> None:
    assert suture("repairs").code == suture("backups").code == 0
    repaired = suture("repair", poisoned, "--json").json

    (point,) = suture("repairs", "--json").json["repairs"]
    (backup,) = suture("backups", poisoned, "--json").json["backups"]

    assert [point["id"]] == repaired["repairs"]
    assert (point["state"], point["path"], point["backup"]) == ("committed", str(poisoned), backup["path"])
    assert (backup["kind"], backup["of"]) == ("daily", str(poisoned))
    assert backup["bytes"] == Path(backup["path"]).stat().st_size
    assert suture("repairs", "other.db", "--json").json == {"repairs": []}
    suture("undo", point["id"])
    assert [one["state"] for one in suture("repairs", "--json").json["repairs"]] == ["committed", "undone"]
    assert point["id"] in suture("repairs").out and backup["path"] in suture("backups").out


@pytest.mark.django_db
def test_a_restore_keeps_the_state_before_which_is_listed(suture, poisoned: Path) -> None:
    suture("repair", poisoned)
    (backup,) = suture("backups", "--json").json["backups"]
    assert suture("restore", backup["path"], poisoned).code == 0

    kinds = {one["kind"]: one["of"] for one in suture("backups", poisoned, "--json").json["backups"]}

    assert kinds == {"daily": str(poisoned), "before-restore": str(poisoned)}


@pytest.mark.django_db
def test_prune_deletes_what_the_settings_do_not_keep(suture, poisoned: Path, settings) -> None:
    for _ in range(3):
        (made,) = suture("repair", poisoned, "--json").json["repairs"]
        assert suture("undo", made).code == 0
    (last,) = suture("repair", poisoned, "--json").json["repairs"]
    WebSession.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(days=1))
    half = settings.SUTURE_DATA_DIR / "backups" / "x" / ".2026.db.00.partial"
    half.parent.mkdir()
    half.write_bytes(b"half")
    os.utime(half, (0, 0))

    settings.SUTURE_KEEP_RESTORE_POINTS = 2
    would = suture("prune", "--dry-run", "--json").json
    pruned = suture("prune", "--json").json

    assert {**would, "dry_run": False} == pruned
    assert (len(pruned["restore_points"]), pruned["web_sessions"]) == (3, 1)
    assert pruned["files"] == [str(half)] and not half.exists()
    left = restore_points(datetime.now(UTC))
    assert left[0].id == last
    assert {point.state for point in left[2:]} == {"committed"}  # undos younger than the setting
    assert suture("backups", "--json").json["backups"]
    assert suture("undo", last).code == 0

    settings.SUTURE_KEEP_RESTORE_POINTS = 1
    keeping_prune(now=datetime.now(UTC) + timedelta(days=365))
    assert len(restore_points(datetime.now(UTC))) == 1


@pytest.mark.django_db
def test_the_store_page_and_the_api_show_backups_and_restore_points(
    suture, poisoned: Path, visitor, django_user_model
) -> None:
    from sessions_app.models import Source

    suture("import", poisoned)
    (made,) = suture("repair", poisoned, "--json").json["repairs"]
    source = Source.objects.get()

    page = visitor.get(f"/sources/{source.pk}/store/").content.decode()
    kept = visitor.get(f"/api/v1/sources/{source.pk}/kept").json()

    assert made in page and kept["backups"][0]["path"] in page
    assert [point["id"] for point in kept["restore_points"]] == [made]
