"""Work over many sessions of a store by several processes, in the order of the sessions.

Ids go in, and what a function made of each session comes out. What starts and listens to the processes is loaded only
where there are any. No Django here, and none in the processes as long as the function's module has none.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sessions_app import env
from sessions_app.stores.base import Store

from .chunks import Chunk, Maker

if TYPE_CHECKING:
    from .spares import Spare

__all__ = ["Maker", "cores", "over", "waiting"]

CHUNK: Final = 4_000_000
"""Stored characters that a process takes at once, so that others do not wait at the end for one that took long."""
SMALL: Final = 4 * CHUNK
"""What is smaller is done in this process: others take longer to start."""

_UNKNOWN: Final = 100_000
"""Characters of a session of which nothing is known."""
_CGROUPS: Final = Path("/proc/self/cgroup")
_CGROUP: Final = Path("/sys/fs/cgroup")


def over[S, T](
    store: Store,
    ids: Sequence[Any],
    maker: Maker[S, T],
    settings: S,
    *,
    lost: Callable[[Any, str], T],
    jobs: int = 0,
    say: Callable[[str], object] = lambda words: None,
    spares: list[Spare] | None = None,
) -> Iterator[T]:
    """What ``maker(store, settings)`` gives for each of ``ids``, in their order. Closing the iterator ends all
    processes.

    ``jobs``: how many processes; 0 = as many as there are cores, and this one alone where there is little to do. A
    process that is killed (the system does where memory ends) is told through ``say``, and the session it had in hand
    is done once more by another; where that is killed too, ``lost`` gives its value from its id and the reason. What
    the function raises is raised here, in the session's turn, and what it adds to ``store.problems`` is added here.
    Raises Django's ``ImproperlyConfigured`` where ``SUTURE_JOBS`` is no number.
    """
    chunks = _chunks(ids, store.sizes()) if jobs != 1 and len(ids) > 1 and _several_can_open(store) else []
    most = min(jobs or _wanted(chunks), len(chunks))
    if most < 2:
        do = maker(store, settings)
        for session_id in ids:
            yield do(session_id)
        return
    from .crew import Crew

    crew = Crew(store, chunks, maker, settings, lost, say, [] if spares is None else spares)
    try:
        crew.start(most)
        yield from crew.results()
    finally:
        crew.end()


@contextmanager
def waiting(path: str | None, jobs: int, prepare: Callable[[], object]) -> Iterator[list[Spare]]:
    """Processes for ``over`` with the store at ``path``, to be called before anything is opened: where this one may
    fork, they need not start. ``prepare`` loads what they all need. Those that are left end with the block."""
    found: list[Spare] = []
    try:
        large = path is not None and Path(path).is_file() and Path(path).stat().st_size >= SMALL
        count = (jobs or env.jobs() or cores()) if large and _may_fork() else 1
        if count > 1:
            from .crew import child
            from .spares import fork

            prepare()
            fork(count, child, found)
        yield found
    finally:
        for spare in found:
            spare.end()


def _may_fork() -> bool:
    return sys.platform == "linux" and "django" not in sys.modules and threading.active_count() == 1


def cores() -> int:
    """Processors that this process may use: of those it is bound to, as many as its service's or container's quota pays
    for."""
    found = os.process_cpu_count() or 1
    try:
        own = next(line[3:] for line in _CGROUPS.read_text().splitlines() if line.startswith("0::"))
        quota, period = (_CGROUP / own.strip("/") / "cpu.max").read_text().split()
        return max(1, min(found, round(int(quota) / int(period))))
    except (OSError, ValueError, StopIteration):  # no cgroup of version 2, or its quota is "max"
        return found


def _wanted(chunks: Sequence[Chunk[Any]]) -> int:
    said = env.jobs()
    return 1 if sum(chunk.size for chunk in chunks) < SMALL else said or cores()


def _several_can_open(store: Store) -> bool:
    """It is a file or folder that lies there, and only what is asked for is read of it."""
    return store.writable and store.kind in ("sqlite", "storage")


def _chunks(ids: Sequence[Any], sizes: Mapping[Any, int]) -> list[Chunk[Any]]:
    chunks: list[Chunk[Any]] = []
    for session_id in ids:
        if not chunks or chunks[-1].size >= CHUNK:
            chunks.append(Chunk(len(chunks)))
        chunks[-1].ids.append(session_id)
        chunks[-1].size += sizes.get(session_id, _UNKNOWN)
    return chunks
