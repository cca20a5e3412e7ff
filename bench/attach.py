"""Attaches a store and has it imported by whatever workers there are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def measure(path: str) -> dict[str, Any]:
    os.environ["SUTURE_TASKS"] = "database"
    from bench.suture import begin

    begin()
    from django.utils import timezone

    from sessions_app.services import importing
    from sessions_app.tasks import job_enqueue

    source, job = importing.source_attach(path=Path(path), actor="bench", now=timezone.now())
    job_enqueue(job)
    return {"source": source.pk, "sessions": source.sessions_total}
