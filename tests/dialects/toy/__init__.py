"""A third dialect, for the tests alone: a file of JSON lines, as an agent could keep one.

``{"type": "session", "id", "title", "time"}`` begins a session; ``user``, ``assistant`` and ``tool`` lines follow. A
tool line holds the call and its output. All that makes it known is ``registered``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sessions_app import stores
from sessions_app.domain import dialects

from .dialect import ToyDialect
from .store import ToyStore, recognises

KIND = "toy-file"
STORE = stores.StoreType(KIND, recognises, ToyStore)


@contextmanager
def registered() -> Iterator[None]:
    """The dialect and its store are known inside."""
    dialects.register(ToyDialect())
    stores.register(STORE)
    try:
        yield
    finally:
        stores.unregister(KIND)
        dialects.unregister(ToyDialect.name)
