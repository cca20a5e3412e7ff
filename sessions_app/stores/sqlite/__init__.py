"""opencode's SQLite database: reading, guarded writing, facts, damage."""

from .damage import Check, Recovered, quick_check, recover
from .inspection import DatabaseFacts, Orphans, counts, facts, orphans, stored_size
from .store import SqliteStore

__all__ = [
    "Check",
    "DatabaseFacts",
    "Orphans",
    "Recovered",
    "SqliteStore",
    "counts",
    "facts",
    "orphans",
    "quick_check",
    "recover",
    "stored_size",
]
