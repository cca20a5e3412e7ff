"""Deleting for good."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from django.db import transaction

from sessions_app.models import (
    Finding,
    Line,
    Message,
    Part,
    Repair,
    RowChange,
    SearchBlock,
    Session,
    SessionCount,
    Source,
    Verdict,
)
from sessions_app.stores.journal import Journal

from .datadir import journal_dir, samples_dir, uploads_dir
from .indexing import index_settle


def source_purge(*, source: Source) -> None:
    """Everything imported from ``source``; of an upload also its stored copy, restore points and repaired rows.

    The history of an upload's repairs keeps who, when and why, without a word of the transcript. Restore points of
    attached files stay: they belong to files that are still there.
    """
    if source.stored_path:
        _purge_files(source)
    with transaction.atomic():  # no session is ever seen without its parts
        sessions = Session.objects.filter(source=source)
        for model in (
            Part,
            Message,
            Line,
            Finding,
            Verdict,
            SearchBlock,
        ):  # children first, so that no cascade loads their rows
            model.objects.filter(session__in=sessions).delete()
        if source.stored_path:
            repairs = Repair.objects.filter(source=source)
            RowChange.objects.filter(repair__in=repairs).delete()
            repairs.update(session_title="", operations=[], verification={})
        sessions.delete()
        SessionCount.objects.filter(source=source).delete()
    index_settle()


def _purge_files(source: Source) -> None:
    stored = Path(source.stored_path)
    journal = Journal(journal_dir())
    for public_id in Repair.objects.filter(source=source).values_list("public_id", flat=True):
        with suppress(FileNotFoundError):
            (journal.directory / f"{public_id}.json").unlink()
    for home in (uploads_dir(), samples_dir()):  # only ever what lies there, whatever the row says
        resolved = home.resolve()
        if resolved in stored.resolve().parents:
            shutil.rmtree(resolved / stored.resolve().relative_to(resolved).parts[0], ignore_errors=True)
