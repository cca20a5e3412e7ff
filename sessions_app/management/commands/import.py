"""``suture import``: attach sources and read them to the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.utils import timezone

from sessions_app.management import declared
from sessions_app.management.base import SutureCommand, found
from sessions_app.management.importbase import run_to_end, source_document, source_words
from sessions_app.services.attaching import path_attach
from sessions_app.services.database import database_prepare


class Command(declared.Import, SutureCommand):
    def run(self, *, paths: list[str], json: bool, **options: Any) -> int:
        database_prepare()
        documents = []
        for path in [found(path) for path in paths] or [found(None)]:
            attached = path_attach(path=Path(path), actor="command", now=timezone.now(), face="command")
            for words in attached.passed_over:
                self.say(f"Passed over: {words}")
            for source, queued in attached.sources:
                job = run_to_end(queued, self.err)
                source.refresh_from_db()
                documents.append(source_document(source, job))
                if not json:
                    self.tell(source_words(source, job))
        if json:
            self.result({"sources": documents})
        return 1 if any(document["error"] for document in documents) else 0
