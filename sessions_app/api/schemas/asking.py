"""What a provider is asked: probes and summaries."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from ninja import Schema
from pydantic import Field

from sessions_app.api.paging import PageOut

from .common import In, Thinking, Words, example
from .locate import LocationOut
from .sessions import TargetOut


class AskIn(In):
    """Whom to ask, and whether to."""

    model_config = example(target="openai-chat:moonshot/kimi-k2", send=False)

    target: Words = Field("", description="PROTOCOL:PROVIDER/MODEL; left out: the session's own")
    thinking: Thinking = "auto"
    send: bool = Field(False, description="send it; otherwise only say host and size")


class ProbeIn(AskIn):
    """A probe."""

    model_config = example(send=False, as_stored=True)

    as_stored: bool = Field(True, description="false: with the safe repairs applied to what is sent")
    digest: Words = Field("", description="of the payload that was shown; another one is not sent")


class QuestionOut(Schema):
    """What would be sent where. ``size`` is bytes of a probe, characters of conversation for a summary."""

    sent: Literal[False]
    host: str
    size: int
    target: TargetOut
    digest: str


class ProbeOut(Schema):
    """A provider's answer."""

    sent: Literal[True]
    id: int
    host: str
    size: int
    digest: str
    target: TargetOut
    as_stored: bool
    answer: Literal["accepted", "refused", "failed"]
    status: int | None
    error: str = Field(description="the provider's words, exactly")
    locations: list[LocationOut] = Field(description="what the words point at, the likeliest first")
    usage: dict[str, int]
    cost: float | None = Field(description="dollars, null = not known")
    milliseconds: int
    actor: str
    created_at: dt.datetime


class ProbePage(PageOut):
    items: list[ProbeOut]


class CompactionOut(Schema):
    """A summary: made in the background, then applied or left."""

    id: int
    session: int
    state: Literal["queued", "running", "ready", "applied", "cancelled", "failed"]
    host: str
    target: TargetOut
    total: int = Field(description="characters of conversation")
    done: int
    percent: int
    requests: int
    summary: str
    cost: float | None
    error: str
    repair: str = Field(description='the repair that wrote it, "" = not written')
    actor: str
    created_at: dt.datetime
    finished_at: dt.datetime | None
