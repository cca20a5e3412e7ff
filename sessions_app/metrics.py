"""Figures for Prometheus: what is counted in the database when it is asked for, and the durations of requests, which
each web process notes as it answers.

Under ``serve`` the web processes share a folder, so whichever is asked tells of all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from sessions_app.selectors.metrics import Numbers, numbers
from sessions_app.services.workers import worker_is_alive

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The library's own variable: the folder in which web processes keep their figures."""

__all__ = ("CONTENT_TYPE", "figures", "timed")

DURATIONS = Histogram(
    "suture_request_duration_seconds",
    "Seconds from a request to its answer",
    ("face", "status"),
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=None,
)
_FACES = ("api", "admin")


def figures() -> bytes:
    """All of them, as Prometheus reads them."""
    registry = CollectorRegistry()
    registry.register(_Database())
    if SHARED in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(DURATIONS)
    return generate_latest(registry)


def timed(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that notes how long answers take. Static files are answered before."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        begun = time.perf_counter()
        response = get_response(request)
        first = request.path_info.split("/", 2)[1]
        face = first if first in _FACES else "web"
        DURATIONS.labels(face, f"{response.status_code // 100}xx").observe(time.perf_counter() - begun)
        return response

    return answer


class _Database(Collector):
    def collect(self) -> Iterator[Metric]:
        now = timezone.now()
        yield from _families(numbers(now=now))
        yield GaugeMetricFamily("suture_worker_up", "A background worker says it lives", worker_is_alive(now=now))


def _families(found: Numbers) -> Iterator[Metric]:
    sessions = GaugeMetricFamily("suture_sessions", "Sessions by health", labels=("health",))
    for health, count in found.sessions.items():
        sessions.add_metric((health,), count)
    repairs = GaugeMetricFamily("suture_repairs", "Repairs by state", labels=("state",))
    for state, count in found.repairs.items():
        repairs.add_metric((state,), count)
    active = GaugeMetricFamily("suture_jobs", "Background jobs queued or running", labels=("kind",))
    oldest = GaugeMetricFamily("suture_job_oldest_seconds", "Age of the oldest of them", labels=("kind",))
    for job in found.jobs:
        active.add_metric((job.kind,), job.active)
        oldest.add_metric((job.kind,), job.oldest)
    scanned = found.last_scan.timestamp() if found.last_scan else 0
    yield from (sessions, repairs, active, oldest)
    yield CounterMetricFamily("suture_repair_refusals", "Repairs refused when they were applied", found.refusals)
    yield GaugeMetricFamily("suture_sessions_unscanned", "Sessions that wait for a scan", found.unscanned)
    yield GaugeMetricFamily("suture_last_scan_timestamp_seconds", "When a session was last scanned", scanned)
