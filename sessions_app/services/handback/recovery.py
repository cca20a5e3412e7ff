"""A damaged database recovered into a new file, never in place (docs/contract/rules.md#2.25,
docs/damaged-stores.md)."""

from __future__ import annotations

import shutil
import uuid
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sessions_app import stores
from sessions_app.domain import values
from sessions_app.services.datadir import uploads_dir
from sessions_app.stores.base import StoreError
from sessions_app.stores.intake import disarm
from sessions_app.stores.sqlite.damage import Recovered, recover

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import ImportJob, Source


def recovered_words(result: Recovered) -> list[str]:
    """What a recovery saved and lost, a sentence each."""
    words = [f"{result.rows:,} rows of sessions were saved ({result.method})."]
    lost = sum(result.lost.values())
    if lost:
        words.append(f"{lost:,} rows of {len(result.lost):,} sessions are lost.")
    else:
        words.append("No row that the old file still counts is missing.")
    if result.unplaced:
        words.append(f"{result.unplaced:,} rows were found that belong to no known table; they are in lost_and_found.")
    return [*words, *result.notes, "The old file was only read: keep it, with its -wal, until all is well."]


def file_recover(*, path: Path, destination: Path) -> Recovered:
    """Recover a file; what holds nothing at all (no bytes, NUL bytes, no database) is told in the words of opening it.

    Raises ``StoreError``, ``FileExistsError``.
    """
    try:
        stores.open_store(path, "sqlite").close()
    except StoreError as problem:
        if problem.kind not in ("corrupt", "schema", "busy"):
            raise
    try:
        return recover(path, destination)
    except StoreError as problem:
        if problem.kind != "corrupt":
            raise
        words = "Nothing could be recovered: the part of the file that says what is in it is damaged."
        next_step = (
            "A sqlite3 program that can .recover, on this machine or another, may save more; else look for a backup."
        )
        raise StoreError("corrupt", path, words, next_step) from problem


def source_recover(
    *, source: Source, actor: str, now: datetime, face: str = "web"
) -> tuple[Source, ImportJob, Recovered]:
    """Recover the source's database into the data directory, as an upload would lie there, and read that as a source of
    its own.

    Raises ``StoreError``; nothing is kept then.
    """
    from sessions_app.models import Source

    old = Path(source.file)
    if source.kind != Source.Kind.SQLITE:
        raise StoreError(
            "not-a-store",
            old,
            "Only a database can be recovered.",
            "Unreadable files of a tree are named in its problems.",
        )
    return path_recover(path=old, name=source.name, actor=actor, now=now, face=face)


def path_recover(
    *, path: Path, name: str, actor: str, now: datetime, face: str = "web"
) -> tuple[Source, ImportJob, Recovered]:
    """The same for a file that is too damaged to be attached at all. Raises ``StoreError``; nothing is kept then."""
    from sessions_app.models import Source
    from sessions_app.services.audit import audit_record
    from sessions_app.services.importing import source_attach

    folder = uploads_dir() / uuid.uuid4().hex
    folder.mkdir(mode=0o700, parents=True)
    dest, title = folder / "opencode.db", f"{name} (recovered)"
    try:
        result = file_recover(path=path, destination=dest)
        disarm(dest)
        note = values.shown(f"Recovered from {name}. {' '.join(recovered_words(result))}")
        found, job = source_attach(
            path=dest,
            stored_path=dest,
            name=title,
            origin=Source.Origin.UPLOADED,
            note=note,
            actor=actor,
            now=now,
            face=face,
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    found.path = title
    found.save(update_fields=("path",))
    audit_record(
        action="source.recovered",
        actor=actor,
        face=face,
        now=now,
        subject=("source", found.pk),
        name=name,
        lost=sum(result.lost.values()),
    )
    return found, job, result
