"""What ``import`` and ``sync`` share: a job run to its end in this process, and its outcome."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from sessions_app.models import ImportJob, Source
from sessions_app.services.importing import import_run

from .printing import Page, counted


def run_to_end(job: ImportJob, page: Page) -> ImportJob:
    """Run an import job to its end, and show on ``page`` how far it is."""
    with page.progress("Importing", job.total) as meter:
        while import_run(job_id=job.pk, clock=timezone.now):
            job.refresh_from_db()
            meter.at(job.done, job.total)
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
    words = f"{source.path}: {counted(source.sessions_total, 'session')}, {job.done:,} read now"
    if job.failed:
        words += f", {job.failed} could not be read"
    return words + (f"; {counted(problems, 'problem')}" if problems else "")
