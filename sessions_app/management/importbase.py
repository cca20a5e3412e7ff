"""What ``import`` and ``sync`` share: a job run to its end in this process, and its outcome."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from sessions_app.models import ImportJob, Source
from sessions_app.services.importing import import_run


def run_to_end(job: ImportJob) -> ImportJob:
    """Run an import job to its end."""
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    job.refresh_from_db()
    return job


def source_document(source: Source, job: ImportJob) -> dict[str, Any]:
    return {
        "id": source.pk,
        "path": source.path,
        "kind": source.kind,
        "dialects": source.dialects,
        "sessions": source.sessions_total,
        "imported": source.sessions_imported,
        "parts": source.parts_imported,
        "read": job.done,
        "failed": job.failed,
        "problems": [{"where": problem.path, "reason": problem.reason} for problem in source.problems.all()],
        "error": job.error,
    }


def source_words(source: Source, job: ImportJob) -> str:
    if job.error:
        return f"{source.path}: {job.error}"
    problems = source.problems.count()
    words = (
        f"{source.path}: {source.sessions_total:,} session{'' if source.sessions_total == 1 else 's'}, {job.done:,}"
        " read now"
    )
    if job.failed:
        words += f", {job.failed} could not be read"
    return words + (f"; {problems:,} problem{'' if problems == 1 else 's'}" if problems else "")
