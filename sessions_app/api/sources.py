"""Sources: attach, upload, sync, delete."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router
from ninja.errors import ValidationError as Invalid
from ninja.responses import Status
from pydantic import ValidationError

from sessions_app.domain.near import unknown
from sessions_app.models import ImportJob, Source
from sessions_app.services.attachable import AttachRefused, attachable_path
from sessions_app.services.importing import source_attach, source_delete, source_input_set, source_sync
from sessions_app.services.uploading import source_upload
from sessions_app.stores.base import StoreError
from sessions_app.tasks import job_enqueue, rescan_run

from .access import found, sources, within
from .auth import SOURCES, VIEW, actor, require, require_all_sources
from .paging import PageNumber, PerPage, page_of
from .problems import Problem, ProblemOut
from .schemas import AttachIn, Id, JobOut, JobPage, SourceDetailOut, SourceIn, SourceJobOut, SourceOut

router = Router(tags=["sources"])

_UPLOADED = ("file", "wal")
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": AttachIn.json_schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "description": "Upload a database, export or row document; wal is the -wal file beside a database.",
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "wal": {"type": "string", "format": "binary"},
                    },
                    "required": ["file"],
                }
            },
        },
    }
}


@router.get("sources", response=list[SourceOut], summary="List sources")
def sources_list(request: HttpRequest) -> Any:
    """All sources, the newest first."""
    require(request, VIEW)
    return list(sources(request))


@router.post(
    "sources",
    response={201: SourceJobOut, 413: ProblemOut, 422: ProblemOut},
    summary="Attach or upload a source",
    openapi_extra=_BODY,
)
def source_create(request: HttpRequest) -> Any:
    """Attach a path of this machine (JSON), or upload a file (multipart). Its newest sessions are listed at once, the
    others are listed and all are read in the background."""
    require(request, SOURCES)
    require_all_sources(request)
    try:
        source, job = _upload(request) if request.content_type == "multipart/form-data" else _attach(request)
    except StoreError as problem:
        raise Problem(422, f"{problem.words} {problem.next_step}".strip()) from problem
    return begun(source, job)


def begun(source: Source, job: ImportJob) -> Status[dict[str, Any]]:
    """A new source whose sessions are read in the background."""
    job_enqueue(job)
    source.refresh_from_db()
    job.refresh_from_db()
    return Status(201, {"source": source, "job": job})


@router.get("sources/{number}", response={200: SourceDetailOut, 404: ProblemOut}, summary="One source")
def source_get(request: HttpRequest, number: Id) -> Any:
    """A source with how far its newest import or sync has come."""
    require(request, VIEW)
    source = found(sources(request), pk=number)
    return {"source": source, "job": ImportJob.objects.filter(source=source).order_by("-pk").first()}


@router.get("jobs", response=JobPage, summary="List imports and syncs")
def jobs_list(
    request: HttpRequest,
    source: Annotated[int | None, Query(ge=1, le=2**63 - 1, description="of this source")] = None,
    page: PageNumber = 1,
    per_page: PerPage = 50,
) -> Any:
    """What reads sources in the background, the newest first."""
    require(request, VIEW)
    wanted = within(request, ImportJob.objects.order_by("-pk"))
    return page_of(request, wanted if source is None else wanted.filter(source=source), page, per_page, _same)


@router.get("jobs/{number}", response={200: JobOut, 404: ProblemOut}, summary="One import or sync")
def job_get(request: HttpRequest, number: Id) -> Any:
    """How far it has come: ``done`` and ``failed`` of ``total`` sessions."""
    require(request, VIEW)
    return found(within(request, ImportJob.objects.all()), pk=number)


def _same(job: ImportJob) -> ImportJob:
    return job


@router.post("sources/{number}/sync", response={202: JobOut, 404: ProblemOut}, summary="Read what changed")
def source_read_again(request: HttpRequest, number: Id) -> Any:
    """Read what changed in a source since it was last read, in the background."""
    require(request, SOURCES)
    job = source_sync(source=found(sources(request), pk=number), actor=actor(request), now=timezone.now(), face="api")
    job_enqueue(job)
    job.refresh_from_db()
    return Status(202, job)


@router.patch(
    "sources/{number}", response={200: SourceOut, 404: ProblemOut, 422: ProblemOut}, summary="Say what its models read"
)
def source_change(request: HttpRequest, number: Id, body: SourceIn) -> Any:
    """Input modalities of the models of its sessions, which are judged again in the background."""
    require(request, SOURCES)
    source = found(sources(request), pk=number)
    try:
        new = source_input_set(source=source, said=body.input, actor=actor(request), now=timezone.now(), face="api")
    except ValueError as problem:
        raise Problem(422, str(problem), errors=[{"at": "body/input", "what": str(problem)}]) from problem
    if new:
        rescan_run.enqueue()
    return source


@router.delete("sources/{number}", response={204: None, 404: ProblemOut}, summary="Delete a source")
def source_remove(request: HttpRequest, number: Id) -> Any:
    """Delete what was imported from it, and of an upload the stored copy, for good. An attached file itself is left
    alone."""
    require(request, SOURCES)
    source_delete(source=found(sources(request), pk=number), actor=actor(request), now=timezone.now(), face="api")
    return Status(204, None)


def _attach(request: HttpRequest) -> Any:
    try:
        body = AttachIn.model_validate_json(request.body)
    except ValidationError as fault:
        raise Invalid([{**error, "loc": ("body", *error["loc"])} for error in fault.errors()]) from fault
    try:
        path = attachable_path(body.path)
    except AttachRefused as refusal:
        raise Problem(422, str(refusal)) from refusal
    return source_attach(path=path, name=body.name, actor=actor(request), now=timezone.now(), face="api")


def _upload(request: HttpRequest) -> Any:
    file, wal = request.FILES.get("file"), request.FILES.get("wal")
    if getattr(request, "upload_too_large", False):
        raise Problem(413, "The upload is larger than this server takes.")
    for name in (*request.FILES, *request.POST):
        if name not in _UPLOADED:
            raise Problem(422, unknown("field", name, _UPLOADED), errors=[{"at": f"body/{name}", "what": "unknown"}])
    if not isinstance(file, UploadedFile):
        raise Problem(422, "An upload is multipart/form-data with a file named file.")
    name = file.name or "upload"
    return source_upload(file=file, name=name, wal=wal, actor=actor(request), now=timezone.now(), face="api")
