"""opencode's SQLite database: reading, guarded writing, facts, damage."""

from sessions_app.stores.sqlite.inspection import DatabaseFacts, Orphans, counts, facts, orphans, stored_size

from .damage import Check, Recovered, quick_check, recover
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
