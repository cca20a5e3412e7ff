"""Uploads and samples: a copy in the data directory, which is what is read and repaired."""

from __future__ import annotations

import shutil
import uuid
from datetime import datetime

from django.conf import settings

from sessions_app import samples
from sessions_app.models import ImportJob, Source
from sessions_app.stores.intake import Limits, Readable, take_in

from .datadir import samples_dir, uploads_dir
from .importing import source_attach


def source_upload(
    *, file: Readable, name: str, actor: str, now: datetime, face: str = "web", wal: Readable | None = None
) -> tuple[Source, ImportJob]:
    """Keep an uploaded file (a database with or without its ``-wal``, an export, a row document, an archive of a
    storage folder) and attach the copy. Raises ``StoreError`` where it is none of these or too large; nothing is kept
    then."""
    folder = uploads_dir() / uuid.uuid4().hex
    intake = take_in(file, folder, name=name, wal=wal, limits=Limits(database=settings.SUTURE_UPLOAD_LIMIT))
    try:
        source, job = source_attach(
            path=intake.path,
            stored_path=intake.path,
            name=name,
            origin=Source.Origin.UPLOADED,
            note=" ".join(intake.notes),
            actor=actor,
            now=now,
            face=face,
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    source.path = name
    source.save(update_fields=("path",))
    return source, job


def samples_attach(*, actor: str, now: datetime, face: str = "command") -> tuple[Source, ImportJob]:
    """Attach the bundled samples; they are there once."""
    known = Source.objects.filter(origin=Source.Origin.SAMPLE).first()
    if known is not None:
        active = known.jobs.filter(state__in=ImportJob.ACTIVE).first() or known.jobs.order_by("-id").first()
        if active is not None:
            return known, active
    path = samples.unpack(samples_dir() / uuid.uuid4().hex)
    return source_attach(
        path=path,
        stored_path=path,
        name="Bundled samples",
        origin=Source.Origin.SAMPLE,
        actor=actor,
        now=now,
        face=face,
    )
