"""What a face answers where something is refused or in the way: one table of status and exit code for all faces.

No Django here: commands on bare files start without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

REFUSED, UNREADABLE = 1, 2
"""Exit codes (docs/commands.md)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``status`` over HTTP, ``code`` of a command."""

    status: int
    code: int = UNREADABLE


STORE: Mapping[str, Answer] = MappingProxyType(
    {
        "busy": Answer(503),
        "in-use": Answer(423),
        "too-long": Answer(503),
        "full": Answer(507),
        "no-session": Answer(404),
        "replaced": Answer(409, REFUSED),
        "schema": Answer(409),
        "read-only": Answer(409),
    }
)
"""Kinds of ``StoreError``, of a store that a source names. Others: it cannot be read now."""
REPAIR: Mapping[str, Answer] = MappingProxyType(
    {
        "wish": Answer(422),
        "changed": Answer(409, REFUSED),
        "held": Answer(423, REFUSED),
        "nothing": Answer(409, 0),
        "store": Answer(503),
        "state": Answer(409, REFUSED),
        "form": Answer(409),
        "masked": Answer(403),
    }
)
"""Kinds of ``RepairRefused``, ``HandBackRefused`` and ``BulkRefused``."""

BUSY_WORDS = "Suture's own database is busy: another process writes to it. Nothing was changed; try again in a moment."
AWAY_WORDS = "Suture's own database cannot be reached. Nothing was changed; its operator can look whether it runs."
FULL_WORDS = (
    "Suture's own database cannot be written: its disk is full or failing, or files may not grow that large (ulimit"
    " -f). What was under way is settled at the next start."
)
_TROUBLE = {
    "disk I/O error": FULL_WORDS,
    "is full": FULL_WORDS,
    "readonly database": FULL_WORDS,
    "is locked": BUSY_WORDS,
    "connection": AWAY_WORDS,
    "database system is": AWAY_WORDS,
    "resolve": AWAY_WORDS,
    "unable to open database file": AWAY_WORDS,
}
"""What SQLite and PostgreSQL say when they do not answer, in part."""


def out_of_time_words(seconds: float) -> str:
    """A request was stopped since its time was over (domain/patience.py); 503."""
    return (
        f"This takes longer than the {seconds:g} seconds that a request is given, and was stopped; nothing is left half"
        " done. Ask for less at once, or use the command line, which has no such limit."
    )


def store_answer(kind: str) -> Answer:
    """For a store that a source names."""
    return STORE.get(kind, Answer(503))


def repair_answer(kind: str, cause: str = "") -> Answer:
    """``cause``: the kind of the ``StoreError`` behind a refusal of kind "store"."""
    return store_answer(cause) if kind == "store" and cause else REPAIR.get(kind, Answer(409, REFUSED))


def own_database_trouble(error: BaseException) -> str:
    """Words where it says that Suture's own database is locked or away, and not a store (whose errors are
    ``StoreError``); "" where it is something else."""
    if type(error).__name__ not in ("OperationalError", "InterfaceError", "MigrationSchemaMissing"):
        return ""
    return next((words for sign, words in _TROUBLE.items() if sign in str(error)), "")
