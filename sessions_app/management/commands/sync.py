"""``suture sync``: read what changed in attached sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.utils import timezone

from sessions_app.management import declared
from sessions_app.management.base import SutureCommand
from sessions_app.management.importbase import run_to_end, source_document, source_words
from sessions_app.models import Source
from sessions_app.services.database import database_prepare
from sessions_app.services.importing import source_sync


class Command(declared.Sync, SutureCommand):
    def run(self, *, paths: list[str], json: bool, **options: Any) -> int:
        database_prepare()
        documents = []
        sources = _sources(paths)
        if not sources:
            self.say("No source is attached; attach one with: suture import PATH")
        for source in sources:
            job = source_sync(source=source, actor="command", now=timezone.now(), face="command")
            job = run_to_end(job, self.err)
            source.refresh_from_db()
            documents.append(source_document(source, job))
            if not json:
                self.tell(source_words(source, job))
        if json:
            self.result({"sources": documents})
        return 1 if any(document["error"] for document in documents) else 0


def _sources(paths: list[str]) -> list[Source]:
    attached = Source.objects.filter(origin=Source.Origin.ATTACHED).order_by("id")
    if not paths:
        return list(attached)
    wanted = []
    for path in paths:
        source = attached.filter(path=str(Path(path).resolve())).first()
        if source is None:
            raise ValueError(f"{path} is not attached; attach it with: suture import {path}")
        wanted.append(source)
    return wanted
