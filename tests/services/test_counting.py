"""The kept counts of sessions are those that counting gives, whatever was done; lists say the same with and without."""

from __future__ import annotations

import importlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from sessions_app import samples
from sessions_app.models import Session, SessionCount
from sessions_app.selectors.counts import by_health
from sessions_app.selectors.filters import SessionFilter
from sessions_app.selectors.sessions import session_page
from sessions_app.services import importing
from sessions_app.services.counting import counts_recount
from tests.factories.corpus import attached, synced

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return samples.unpack(tmp_path / "native")


def kept() -> set[tuple[object, ...]]:
    return {*SessionCount.objects.exclude(sessions=0).values_list("source", "kind", "value", "health", "sessions")}


def counted() -> set[tuple[object, ...]]:
    counts_recount()
    return kept()


def test_a_listed_session_counts_at_once(store):
    importing.source_attach(path=store, actor="ann", now=timezone.now())

    assert kept() == counted() != set()


def test_after_an_import_the_counts_are_those_of_the_sessions(store):
    attached(store)

    before = kept()

    assert before == counted()
    assert {kind for _, kind, *_ in before} == {
        "any",
        "model",
        "rule",
        "safe",
        "rejected",
        "own",
        "refused",
        "risk",
        "fate",
    }


def test_a_session_that_changed_counts_as_what_it_is_now(store):
    source = attached(store)
    before = kept()
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE part SET time_updated = 1, data = replace(data, 'completed', 'running')")
        database.execute("UPDATE message SET time_updated = 1, data = replace(data, 'fake-1', 'other')")

    synced(source)

    after = kept()
    assert after == counted()
    assert after != before


def test_a_deleted_source_counts_nothing(store):
    source = attached(store)

    importing.source_delete(source=source, actor="ann", now=timezone.now())

    assert kept() == set()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "health=blocked",
        "health=blocked&health=healthy",
        "rule=duplicate-call-id-in-message",
        "rule=duplicate-call-id-in-message&health=blocked",
        "rejected=openai-chat",
        "rejected=openai-chat&rule=duplicate-call-id-in-message",
        "model=fake/fake-1",
        "has=duplicate",
        "min_parts=10",
    ],
)
def test_a_list_says_how_many_match_with_and_without_the_counts(store, query):
    source = attached(store)
    for wanted in (SessionFilter.from_query(dict(source=str(part), **_query(query))) for part in (source.pk, "")):
        page = session_page(wanted).page

        assert page.total == wanted.apply(Session.objects.all()).count() == len(page.rows)
        assert by_health(wanted).items() >= _counted(wanted).items()
        assert sum(by_health(wanted).values()) == sum(_counted(wanted).values())


def _counted(wanted: SessionFilter) -> dict[str, int]:
    return {health: number for health, number in by_health(wanted, among=Session.objects.all()).items() if number}


def _query(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, _, value in (item.partition("=") for item in text.split("&") if item):
        found.setdefault(name, []).append(value)
    return found


def test_an_update_counts_what_was_there_before(store):
    attached(store)
    before = counted()
    SessionCount.objects.all().delete()
    migration = importlib.import_module("sessions_app.migrations.0008_session_counts")

    with connection.cursor() as cursor:
        for sql in migration.COUNTS:
            cursor.execute(sql)

    importlib.import_module("sessions_app.migrations.0014_more_counts").count(apps, None)

    assert {one for one in kept() if one[1] != "fate"} == {one for one in before if one[1] != "fate"}
