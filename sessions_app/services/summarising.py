"""Asking a model for a summary, piece by piece: what the background task and the command share
(docs/contract/design.md#7)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings

from sessions_app.domain.model import Session, SessionRows
from sessions_app.domain.processor import (
    Draft,
    Engine,
    Failure,
    Mint,
    Processor,
    RetryPolicy,
    Speaker,
    Surroundings,
    Usage,
    V1Shape,
    Write,
)
from sessions_app.domain.processor.items import TextItem
from sessions_app.domain.processor.requests import request_body
from sessions_app.domain.processor.summary import history_text, piece, summary_body
from sessions_app.domain.wire.target import Target
from sessions_app.providers import Cancel, Endpoint, Limits, Line, connect

CHARACTERS_A_TOKEN = 3
"""On the low side, so that a piece fits: prose has about four, code and other languages less."""
SMALLEST = 4_000
"""Characters of a piece below which a refusal for length is given up on."""
SILENCE = 90.0


class SummaryFailed(Exception):
    """No summary: the provider's failure, or an answer without text. ``aborted``: it was cancelled."""

    def __init__(self, words: str, *, aborted: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.aborted = aborted


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to summarise, and in pieces of how many characters."""

    text: str
    prior: str
    chunk: int


@dataclass(frozen=True, slots=True)
class Progress:
    """After a piece: how far, the summary so far, what the last response took, and the size of the next piece."""

    done: int
    summary: str
    usage: Usage
    cost: float | None
    chunk: int
    requests: int


def summary_work(session: Session, endpoint: Endpoint) -> Work:
    """The history of a session in pieces that the model of ``endpoint`` holds beside a summary and its answer."""
    history = history_text(session)
    room = endpoint.context - 2 * settings.SUTURE_COMPACT_OUTPUT - 2_000
    return Work(history.text, history.prior or "", max(SMALLEST, room * CHARACTERS_A_TOKEN))


def summarise_piece(
    *,
    line: Line,
    target: Target,
    text: str,
    at: Progress,
    cancel: Cancel,
    sleep: Callable[[int], object] | None = None,
) -> Progress:
    """Work the next piece of ``text`` into the summary. A piece that is too long for the model is halved. Raises
    ``SummaryFailed``."""
    chunk = at.chunk
    while True:
        part = piece(text, at.done, chunk)
        processor, failure = _ask(line, target, part, at.summary, cancel, sleep)
        if failure is not None and failure.kind == "overflow" and len(part) > SMALLEST:
            chunk = max(SMALLEST, len(part) // 2)
            continue
        summary = _text(processor)
        if failure is not None:
            raise SummaryFailed(failure.message, aborted=failure.kind == "aborted")
        if not summary:
            raise SummaryFailed("The model answered without any text, so there is no summary.")
        if processor.draft.finish not in ("stop", "unknown"):
            raise SummaryFailed(f"The summary is not whole: the model stopped because of {processor.draft.finish}.")
        used = processor.draft.usage
        cost = line.endpoint.cost(used)
        total = None if cost is None else (at.cost or 0) + cost
        return Progress(at.done + len(part), summary, used, total, chunk, at.requests + 1)


def _ask(
    line: Line,
    target: Target,
    text: str,
    prior: str,
    cancel: Cancel,
    sleep: Callable[[int], object] | None,
) -> tuple[Processor, Failure | None]:
    """One response, with the processor's own attempts; nothing of it is stored."""
    around = Surroundings(
        clock=lambda: time.time_ns() // 1_000_000,
        sleep=sleep or cancel.sleep,
        tails=random_tail,
        aborted=cancel,
    )
    policy = RetryPolicy(tries=settings.SUTURE_RETRY_TRIES, total=settings.SUTURE_RETRY_SECONDS * 1000)
    engine = Engine(_Nowhere(), connect(line, cancel=cancel), around, policy)
    draft = Draft("msg", "ses", "", Speaker(target.provider, target.model), around.clock())
    processor = Processor(draft, V1Shape(), Mint(random_tail))
    body = summary_body(text, prior, target)
    request = request_body(body, target, output=settings.SUTURE_COMPACT_OUTPUT, stream=True)
    return processor, engine.step(processor, request)


def limits() -> Limits:
    """How long a summary may take."""
    return Limits(silence=SILENCE)


def random_tail() -> str:
    """The random end of an id."""
    return secrets.token_hex(7)


class _Nowhere:
    """A store for a response that is only read."""

    def rows(self) -> SessionRows:
        return SessionRows({})

    def write(self, writes: Sequence[Write]) -> None:
        """The draft holds it all."""


def _text(processor: Processor) -> str:
    return "\n\n".join(
        item.text.strip() for item in processor.draft.items if isinstance(item, TextItem) and item.text.strip()
    )
