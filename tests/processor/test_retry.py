"""What is tried again, and how long the wait is."""

from __future__ import annotations

import pytest

from sessions_app.domain.processor import Failure, RetryPolicy
from sessions_app.domain.processor.retry import http_date, retryable

NOW = 1_796_000_000_000  # Mon, 30 Nov 2026 00:53:20 GMT


@pytest.mark.parametrize(
    "failure",
    [
        Failure("api", "x", status=500),
        Failure("api", "x", status=503),
        Failure("api", "x", status=529),
        Failure("api", "x", status=429),
        Failure("api", "x", code="overloaded_error"),
        Failure("api", "x", status=200, code="overloaded_error"),
        Failure("api", "The engine is currently overloaded"),
        Failure("api", "x", code="server_error"),
        Failure("connection", "reset by peer"),
        Failure("cut", "ended early"),
        Failure("decompression", "bad gzip"),
        Failure("timeout", "no headers"),
        Failure("api", "x", status=409, retryable=True),
    ],
)
def test_these_failures_are_tried_again(failure: Failure) -> None:
    assert retryable(failure)
    assert RetryPolicy().wait(failure, 1, NOW, NOW) is not None


@pytest.mark.parametrize(
    "failure",
    [
        Failure("overflow", "prompt is too long", status=400),
        Failure("overflow", "prompt is too long", status=500),
        Failure("auth", "bad key", status=401),
        Failure("api", "x", status=400),
        Failure("api", "x", status=404),
        Failure("api", "x", status=400, code="rate_limit_error"),
        Failure("api", "x", status=500, retryable=False),
        Failure("api", "x", code="invalid_request_error"),
        Failure("aborted", "Aborted"),
        Failure("unknown", "'NoneType' object"),
    ],
)
def test_these_failures_are_not(failure: Failure) -> None:
    assert not retryable(failure)
    assert RetryPolicy().wait(failure, 1, NOW, NOW) is None


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after-ms": "1500"}, 1500),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1500),
        ({"retry-after": "7"}, 7000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": " 90 "}, 90_000),
        ({"retry-after": "Mon, 30 Nov 2026 00:53:30 GMT"}, 10_000),
        ({"retry-after": "Monday, 30-Nov-26 00:53:30 GMT"}, 10_000),
        ({"retry-after": "Mon Nov 30 00:53:30 2026"}, 10_000),
        ({"retry-after": "Mon, 30 Nov 2026 00:53:00 GMT"}, 0),
        ({"retry-after": "soon"}, 2000),
        ({"retry-after": "-5"}, 2000),
        ({"retry-after": "nan"}, 2000),
        ({"retry-after": "Sun, 31 Feb 2026 22:13:30 GMT"}, 2000),
        ({}, 2000),
    ],
)
def test_the_wait_is_what_the_provider_asks_for(headers: dict[str, str], wait: int) -> None:
    assert RetryPolicy().wait(Failure("api", "x", status=429, headers=headers), 1, NOW, NOW) == wait


def test_without_headers_the_wait_doubles_up_to_half_a_minute() -> None:
    failure = Failure("api", "x", status=503)

    waits = [RetryPolicy(tries=99).wait(failure, tried, NOW, NOW) for tried in range(1, 8)]

    assert waits == [2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]


def test_a_wait_that_would_end_behind_the_total_time_is_not_begun() -> None:
    asked = Failure("api", "x", status=429, headers={"retry-after": "3600"})

    assert RetryPolicy(total=600_000).wait(asked, 1, NOW, NOW) is None
    assert RetryPolicy(total=3_600_000).wait(asked, 1, NOW, NOW) == 3_600_000


def test_text_that_is_no_date_is_none() -> None:
    assert http_date("29.11.2026") is None
    assert http_date("") is None
