"""The overview: what cannot go on, why, who refuses, what to press; from the kept counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import HealthDay, Session, Source
from sessions_app.selectors.overview import overview
from sessions_app.services.counting import days_keep
from sessions_app.web.daychart import day_chart
from tests.factories.corpus import attached

pytestmark = pytest.mark.django_db


def texts(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("<main")[1].split("</main>")[0]))


def test_it_says_first_how_many_cannot_go_on_and_offers_what_frees_them(alice: Client, blocked: Session) -> None:
    page = alice.get("/").html

    assert re.search(r"<h1>1 of 1 session cannot go on</h1>", page)
    assert "1 can be repaired without losing anything." in texts(page)
    assert 'href="/bulk/?health=blocked&amp;fate=safe"' in page
    assert "Calls of one message that share an id" in texts(page)
    assert "OpenAI Chat 1 of 1" in texts(page)


def test_who_may_only_look_is_offered_no_repair(victor: Client, blocked: Session) -> None:
    page = victor.get("/").html
    assert "/bulk/" not in page
    assert "1 safely" in texts(page)


def test_no_stored_id_stands_in_its_words(alice: Client, blocked: Session) -> None:
    assert not re.search(r"\b(prt|msg)_", texts(alice.get("/").html))


def test_an_empty_house_says_where_sessions_come_from(alice: Client) -> None:
    assert "No sessions yet" in alice.get("/").html


def test_healthy_sessions_are_said_to_go_on(alice: Client, copied: Callable[[str], Path], data_dir: Path) -> None:
    attached(copied("clean"))
    assert "can go on</h1>" in alice.get("/").html


def test_an_address_of_the_old_list_leads_to_the_list(alice: Client) -> None:
    answer = alice.get("/?health=blocked&q=a+b")
    assert (answer.status_code, answer["location"]) == (302, "/sessions/?health=blocked&q=a+b")


def test_it_costs_the_same_for_any_number_of_sessions(
    alice: Client, blocked: Session, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    alice.get("/")
    with django_assert_max_num_queries(13):
        alice.get("/")


def test_days_are_kept_and_one_that_nobody_noted_stands_as_the_one_before(blocked: Session) -> None:
    now = timezone.now()
    days_keep(now=now - timedelta(days=5))
    HealthDay.objects.update(healthy=7)
    days_keep(now=now)
    days_keep(now=now)

    days = overview(now.date()).days

    assert [day.health["healthy"] if day.health else None for day in days[-7:]] == [None, 7, 7, 7, 7, 7, 0]
    assert days[-1].health is not None
    assert days[-1].health["blocked"] == 1
    assert HealthDay.objects.count() == 2


def test_a_day_of_the_chart_says_its_numbers_and_every_piece_can_be_seen(blocked: Session, source: Source) -> None:
    now = timezone.now()
    HealthDay.objects.create(source=source, day=now.date(), blocked=1, at_risk=0, healthy=100_000)

    chart = day_chart(overview(now.date()).days)

    assert chart is not None
    assert chart.since == chart.last
    assert chart.bars[-1].words.endswith("blocked 1, healthy 100,000")
    assert [piece.tone for piece in chart.bars[-1].pieces] == ["blocked", "calm"]
    assert min(piece.height for piece in chart.bars[-1].pieces) >= 1


def test_no_chart_where_nothing_was_noted() -> None:
    assert day_chart(overview(timezone.now().date()).days) is None
