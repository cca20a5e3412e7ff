"""Databases of the corpus, copied, attached and read: what tests of faces start from."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone

from sessions_app.models import Session, Source
from sessions_app.services.importing import import_run, source_attach, source_sync
from tests.paths import CORPUS

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def copied(name: str, folder: Path) -> Path:
    """A database of the corpus in a folder where a test may write to it."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(CORPUS / f"{name}.db", folder / f"{name}.db"))


def attached(path: Path) -> Source:
    """The file as a source with all its sessions read and scanned."""
    source, job = source_attach(path=path, actor="test", now=NOW)
    while import_run(job_id=job.pk, clock=timezone.now):
        pass
    source.refresh_from_db()
    return source


def synced(source: Source) -> None:
    """What changed in its file is read."""
    job = source_sync(source=source, actor="test", now=timezone.now())
    while import_run(job_id=job.pk, clock=timezone.now):
        pass


def session_of(name: str, folder: Path) -> Session:
    """The one session of a corpus database, read and scanned."""
    return Session.objects.get(source=attached(copied(name, folder)), parent_stored_id="")
