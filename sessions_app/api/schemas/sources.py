"""Sources and the jobs that read them."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from .common import NO_NUL, In


class SourceOut(Schema):
    """Where sessions came from."""

    id: int
    kind: str
    origin: Literal["attached", "uploaded", "sample"]
    name: str
    path: str
    dialects: list[str]
    state: Literal["listing", "importing", "ready", "failed"]
    error: str
    note: str
    sessions_total: int
    sessions_imported: int
    parts_imported: int
    created_at: dt.datetime
    last_read_at: dt.datetime | None


class JobOut(Schema):
    """An import or a sync in the background."""

    id: int
    source_id: int
    kind: str
    state: Literal["queued", "running", "done", "cancelled", "failed"]
    total: int
    done: int
    failed: int
    error: str


class SourceJobOut(Schema):
    source: SourceOut
    job: JobOut


class AttachIn(In):
    """Attach a file or folder of the machine that Suture runs on."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    name: Annotated[str, Field(max_length=255, pattern=NO_NUL)] = ""
