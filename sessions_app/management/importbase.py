"""What commands about sources share: one that was named, a job run to its end in this process, and its outcome."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.utils import timezone

from sessions_app.models import ImportJob, Source
from sessions_app.services.importing import import_run
from sessions_app.services.jobs import LEASE
from sessions_app.stores.base import StoreError

from .printing import Page, counted

_PAUSE = 0.2


def run_to_end(job: ImportJob, page: Page) -> ImportJob:
    """Run an import job to its end, and show on ``page`` how far it is. Another process that has it in hand is waited
    for, until its lease would have run out. Raises ``StoreError``."""
    lease = LEASE.total_seconds() + _PAUSE
    until = time.monotonic() + lease
    with page.progress("Importing", job.total) as meter:
        try:
            while job.active:
                mine = import_run(job_id=job.pk, clock=timezone.now)
                job.refresh_from_db()
                meter.at(job.done, job.total, "Reading rows" if job.passing == "rows" else "Scanning")
                if mine or not job.active:
                    until = time.monotonic() + lease
                    continue
                time.sleep(_PAUSE)
                if time.monotonic() > until:
                    words = "Another process is importing it."
                    raise StoreError("busy", job.source.path, words, "Try again in a moment.")
        except KeyboardInterrupt as stopped:
            stopped.add_note("what was read stays, and the same command goes on")
            raise
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


def source_named(text: str) -> Source:
    """The source with this number, else of this path. Raises ``ValueError``."""
    if text.isascii() and text.isdigit() and len(text) < 15:
        found = Source.objects.filter(pk=int(text)).first()
    else:
        found = Source.objects.filter(path=str(Path(text).resolve())).first()
    if found is None:
        raise ValueError(f"There is no source {text}; attach it first with: suture import {text}")
    return found
