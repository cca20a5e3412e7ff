"""The page for Prometheus: behind its token, and its figures are those of the database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from sessions_app.health import metrics
from sessions_app.metrics import timed
from sessions_app.models import ImportJob, Repair, Session, Source
from sessions_app.services.audit import audit_record
from sessions_app.services.workers import worker_beat
from tests.factories.serving import Serving, until

pytestmark = pytest.mark.django_db

TOKEN = "a token for tests"


def parsed(text: str) -> dict[tuple[str, ...], float]:
    """By name and the values of the labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def asked(token: str = TOKEN) -> HttpResponse:
    return metrics(RequestFactory().get("/metrics", headers={"Authorization": f"Bearer {token}"}))


@pytest.fixture(autouse=True)
def _token(settings) -> None:
    settings.SUTURE_METRICS_TOKEN = TOKEN


def test_only_the_token_opens_it():
    assert asked().status_code == 200
    assert asked("another").status_code == asked("").status_code == 401
    assert metrics(RequestFactory().get("/metrics")).status_code == 401


def test_without_a_token_in_the_settings_there_is_no_such_page(admin_client, settings):
    settings.SUTURE_METRICS_TOKEN = ""
    assert Client().get("/metrics").status_code == 404
    assert admin_client.get("/metrics").status_code == 404


def test_it_counts_sessions_repairs_refusals_and_jobs():
    now = timezone.now()
    source = Source.objects.create(
        kind="sqlite", origin="attached", name="a", path="/a", created_at=now, updated_at=now
    )
    for number, health in enumerate(("blocked", "healthy", "healthy")):
        Session.objects.create(
            source=source, stored_id=str(number), health=health, rows_hash="h", scanned_hash="h", scanned_at=now
        )
    Session.objects.filter(stored_id="0").update(rows_hash="changed")
    Repair.objects.create(source=source, state="applied", created_at=now)
    audit_record(action="repair.refused", actor="ann", now=now)
    ImportJob.objects.create(source=source, created_at=now - timedelta(minutes=5))
    ImportJob.objects.create(source=source, state="done", created_at=now - timedelta(days=5))
    worker_beat(worker_id="w", now=now)

    found = parsed(asked().content.decode())

    assert found["suture_sessions", "blocked"] == 1
    assert found["suture_sessions", "healthy"] == 2
    assert found["suture_sessions", "at-risk"] == 0
    assert found[("suture_sessions_unscanned",)] == 1
    assert found[("suture_last_scan_timestamp_seconds",)] == pytest.approx(now.timestamp())
    assert found["suture_repairs", "applied"] == 1
    assert found[("suture_repair_refusals_total",)] == 1
    assert found["suture_jobs", "import"] == 1
    assert 300 <= found["suture_job_oldest_seconds", "import"] < 400
    assert found["suture_jobs", "bulk"] == 0
    assert found[("suture_worker_up",)] == 1


def test_it_tells_how_long_answers_took_by_face_and_status():
    before = parsed(asked().content.decode()).get(("suture_request_duration_seconds_count", "api", "4xx"), 0)
    timed(lambda request: HttpResponse(status=404))(RequestFactory().get("/api/v1/sessions"))

    assert parsed(asked().content.decode())["suture_request_duration_seconds_count", "api", "4xx"] == before + 1


@pytest.mark.exhaustive
def test_whichever_web_process_is_asked_tells_of_all(tmp_path):
    with Serving(tmp_path, SUTURE_METRICS_TOKEN=TOKEN) as served:
        served.answering()
        head = {"Authorization": f"Bearer {TOKEN}"}

        def looked() -> float:
            code, text = served.get("/metrics", **head)
            assert code == 200
            return parsed(text)["suture_request_duration_seconds_count", "web", "2xx"]

        begun = looked()
        for _ in range(20):
            assert served.get("/healthz")[0] == 200
        until(lambda: looked() >= begun + 20, seconds=5)
        seen = [looked() for _ in range(10)]
        assert seen == sorted(seen)
        assert seen[0] >= begun + 20
