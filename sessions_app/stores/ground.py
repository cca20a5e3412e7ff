"""The ground floor of the stores: what they are called, how they refuse, and who writes what to them and why.

Stores, the journal and all who use either stand on it; it imports none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from sessions_app.domain.repair import RowChange

type StoreKind = str
"""What a store is: sqlite, storage, export, rows, or the kind of a store that was registered."""

type Hook = Callable[[str], None]
"""Called with the name of each step of a write; tests kill the process there."""

type ErrorKind = Literal[
    "missing",
    "permission",
    "empty-file",
    "nul-filled",
    "encrypted",
    "not-a-store",
    "not-json",
    "truncated-export",
    "empty-folder",
    "corrupt",
    "busy",
    "in-use",
    "too-long",
    "too-big",
    "no-session",
    "read-only",
    "schema",
    "full",
]


class StoreError(Exception):
    """A store that cannot be read or written. ``words`` say what is wrong, ``next_step`` what the user can do about
    it."""

    def __init__(self, kind: ErrorKind, path: Path | str, words: str, next_step: str = "") -> None:
        super().__init__(f"{path}: {words}" + (f" {next_step}" if next_step else ""))
        self.kind = kind
        self.path = path
        self.words = words
        self.next_step = next_step

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.path, self.words, self.next_step)  # else it could not leave its process


def real_place(path: Path) -> Path:
    """Where the links on the way lead; the path as it was given where there are none. SQLite keeps its ``-wal`` beside
    the file itself, and what replaces a link leaves the file as it was."""
    real = os.path.realpath(path)
    return path if real == os.path.abspath(path) else Path(real)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a store that could not be read, while the rest goes on.

    ``where`` names the row, file or place ("part prt_1", "messages[3]"); ``rule`` is the rule code it belongs to, ""
    for a mere note.
    """

    where: str
    reason: str
    rule: Literal["corrupt-json", "undecodable-row", "sqlite-corrupt", "orphan-row", ""] = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """Who writes and why; kept in the journal. ``hashes`` is session id -> (hash before, hash after)."""

    actor: str = ""
    reason: str = ""
    repair_id: str = ""
    undoes: str = ""
    backup: str = ""
    hashes: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Applied:
    """A write that is done. ``seconds`` is how long other writers had to wait; ``entry_id`` the journal entry, ""
    without a journal."""

    entry_id: str
    changes: tuple[RowChange, ...]
    seconds: float


type Standing = Literal["old", "new", "mixed", "unclear"]
"""Whether rows are as before a write or as after it. mixed: some are, some are not; unclear: none is either."""


class Journaled(Protocol):
    """What the journal asks of a store: where it is, and what stands in it now."""

    path: Path
    kind: StoreKind

    def standing(self, changes: Sequence[RowChange], hashes: Mapping[str, tuple[str, str]]) -> Standing: ...
    def put_back(self, changes: Sequence[RowChange]) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def no_hook(step: str) -> None:
    """Production's hook: nothing happens between the steps of a write."""
