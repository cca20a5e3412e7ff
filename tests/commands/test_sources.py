"""import, sync and the worker: the commands that keep a database of their own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from sessions_app import samples
from sessions_app.domain.wish import Wish
from sessions_app.models import Session, Source
from sessions_app.services.actor import Actor
from sessions_app.services.database import database_is_there
from sessions_app.services.repair.apply import repair_apply
from tests.factories.models import NOW

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sample_db(tmp_path) -> Path:
    return samples.unpack(tmp_path / "native")


@pytest.mark.django_db
def test_import_attaches_and_reads_to_the_end(suture, sample_db):
    run = suture("import", sample_db, "--json")

    (source,) = run.json["sources"]
    assert run.code == 0
    assert source["sessions"] == source["imported"] == Session.objects.count()
    assert source["failed"] == 0


@pytest.mark.django_db
def test_import_of_what_is_no_store_ends_with_code_2(suture, tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Ann,")

    assert suture("import", tmp_path / "letter.txt").code == 2
    assert Source.objects.count() == 0


@pytest.mark.django_db
def test_sync_reads_what_changed(suture, sample_db):
    suture("import", sample_db)
    with sqlite3.connect(sample_db) as connection:
        connection.execute(
            "UPDATE session SET title = 'renamed' , time_updated = time_updated + 1 WHERE id = (SELECT max(id) FROM"
            " session)"
        )
    connection.close()

    run = suture("sync", "--json")

    assert run.json["sources"][0]["read"] == 1
    assert Session.objects.filter(title="renamed").exists()


@pytest.mark.django_db
def test_sync_of_a_path_that_is_not_attached_is_bad_usage(suture, sample_db):
    assert suture("sync", sample_db).code == 2


@pytest.mark.django_db
def test_a_repair_of_the_mirror_is_undone_by_command_and_the_mirror_follows(suture, poisoned):
    suture("import", poisoned)
    session = Session.objects.get()
    repair = repair_apply(session=session, wish=Wish(), actor=Actor(name="ann"), now=NOW)

    run = suture("undo", repair.public_id)

    session.refresh_from_db()
    repair.refresh_from_db()
    assert run.code == 0
    assert (session.health, repair.state) == ("blocked", "undone")


@pytest.mark.django_db
def test_a_database_in_use_is_there():
    assert database_is_there()


def test_output_of_import_is_json_alone(suture, sample_db, db):
    assert json.loads(suture("import", sample_db, "--json").out)["sources"]


@pytest.mark.django_db
def test_a_filter_mistyped_is_bad_usage_and_says_what_was_probably_meant(suture, data_dir):
    for query, told in (("healt=blocked", "did you mean health?"), ("health=blokced", "did you mean blocked?")):
        run = suture("bulk-repair", "--dry-run", "--filter", query)
        assert (run.code, run.out) == (2, "")
        assert told in run.err
