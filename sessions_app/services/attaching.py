"""Attaching what is at a path: a store, or each database of a folder that is none itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sessions_app.models import ImportJob, Source
from sessions_app.stores.base import StoreError

from .importing import source_attach


@dataclass(frozen=True, slots=True)
class Attached:
    """Sources with the jobs that read them, and files that are none of opencode's databases, in words."""

    sources: tuple[tuple[Source, ImportJob], ...]
    passed_over: tuple[str, ...] = ()


def path_attach(*, path: Path, actor: str, now: datetime, face: str) -> Attached:
    """Raises ``StoreError`` where nothing is attached. A link in the folder is not followed: it may lead anywhere."""
    try:
        return Attached((source_attach(path=path, actor=actor, now=now, face=face),))
    except StoreError as problem:
        if problem.kind != "empty-folder" or not path.is_dir():
            raise
        files = sorted(file for file in path.glob("*.db") if file.is_file() and not file.is_symlink())
        made, refused = [], []
        for file in files:
            try:
                made.append(source_attach(path=file, actor=actor, now=now, face=face))
            except StoreError as other:
                refused.append(f"{file.name}: {other.words}")
        if not made:
            raise
        return Attached(tuple(made), tuple(refused))
