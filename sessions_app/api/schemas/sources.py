"""Sources and the jobs that read them."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.api.paging import PageOut

from .common import NO_NUL, In, example


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
    input: str = Field(description="what its models read, as said by hand; empty: as the client's configuration has it")
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
    percent: int
    passing: Literal["rows", "scan", ""] = Field(
        description="rows of all sessions are brought in first, then they are scanned; empty where it is over"
    )
    parts: int = Field(description="read so far")
    error: str
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class JobPage(PageOut):
    items: list[JobOut]


class SourceDetailOut(Schema):
    """A source and its newest import or sync, null = none was made."""

    source: SourceOut
    job: JobOut | None


class SourceJobOut(Schema):
    source: SourceOut
    job: JobOut


class SourceIn(In):
    """What is said of a source by hand."""

    model_config = example(input="text,image,pdf")

    input: Annotated[str, Field(max_length=64, pattern=NO_NUL, description="text, image, pdf, audio, video; or empty")]


class AttachIn(In):
    """Attach a file or folder of the machine that Suture runs on."""

    model_config = example(path="/home/ann/.local/share/opencode/opencode.db", name="Ann's sessions")

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    name: Annotated[str, Field(max_length=255, pattern=NO_NUL)] = ""
