"""The processes of the pool: how they are started, given work, listened to and ended, and what becomes of the work of
one that was killed.

Each opens the store itself. It is a fresh interpreter, or was forked before anything was open (``spares``): one forked
later would share SQLite's locks with this one, and whatever this one has loaded. They are a process group each, so
Ctrl-C reaches this process alone, which ends them; when this one is gone they end by themselves.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from queue import SimpleQueue
from signal import Signals
from typing import Any, Final, NamedTuple

from sessions_app import stores
from sessions_app.stores.base import Store, StoreError, StoreKind
from sessions_app.stores.clientconfig import ClientConfiguration
from sessions_app.stores.sqlite.store import SqliteStore

from .chunks import Answer, Chunk, Maker
from .spares import Spare

AHEAD: Final = 3
"""Chunks a process that may be given out before the first of them is through, so that memory stays flat."""
_IN_HAND: Final = 2
"""Chunks that a process has: the next one is there when one is done."""
_BEGIN: Final = (
    "import sys; from multiprocessing.connection import Connection; line = Connection(int(sys.argv[1]));"
    " sys.path[:] = line.recv(); from sessions_app.pool.crew import child; child(line)"
)
"""Nothing of this machine is on the command line: by its words the holders of a file are told
(sessions_app/stores/holders.py)."""


class _Place(NamedTuple):
    """A store, as another process can open it."""

    path: Path
    kind: StoreKind
    identity: tuple[int, int] | None
    input: tuple[str, ...] | None
    configuration: ClientConfiguration | None

    @classmethod
    def of(cls, store: Store) -> _Place:
        identity = store.identity if isinstance(store, SqliteStore) else None
        return cls(store.path, store.kind, identity, store.input, store.configuration)

    def open(self) -> Store:
        """Raises ``StoreError``, also where another file has been put in its place."""
        store = stores.open_in_place(self.path, self.kind)
        if isinstance(store, SqliteStore) and store.identity != self.identity:
            store.close()
            raise StoreError("busy", self.path, "The file was replaced meanwhile.", "Try again.")
        store.input, store.configuration = self.input, self.configuration
        return store


class _Hand[T]:
    """One process, and the chunks that it has."""

    def __init__(self, work: bytes, spare: Spare | None = None) -> None:
        """Raises ``OSError`` where the system gives no process."""
        self.chunks: deque[Chunk[T]] = deque()
        self.ready = False
        self.process: Spare | subprocess.Popen[bytes]
        if spare is None:
            self._start()
        else:
            self.process, self.line = spare, spare.line
        with suppress(OSError):  # it is gone already: seen when it is listened to
            self.line.send_bytes(work)

    def _start(self) -> None:
        self.line, theirs = Pipe()
        command = [sys.executable, "-c", _BEGIN, str(theirs.fileno())]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                process_group=0,
            )
        except BaseException:
            self.line.close()
            raise
        finally:
            theirs.close()
        with suppress(OSError):
            self.line.send(sys.path)

    def give(self, chunk: Chunk[T]) -> None:
        self.chunks.append(chunk)
        with suppress(OSError):
            self.line.send(chunk.rest)

    def take(self, answer: Answer) -> None:
        chunk = self.chunks[0]
        chunk.take(answer)
        if not chunk.rest:
            self.chunks.popleft()

    def end(self) -> str:
        """End it, and say how it ended."""
        self.process.kill()  # it reads only, and nothing of it is needed any more
        self.line.close()
        code = self.process.wait()
        return f"ended by {Signals(-code).name}" if code < 0 else f"ended with code {code}"


class Crew[S, T]:
    def __init__(
        self,
        store: Store,
        chunks: list[Chunk[T]],
        maker: Maker[S, T],
        settings: S,
        lost: Callable[[Any, str], T],
        say: Callable[[str], object],
        spares: list[Spare],
    ) -> None:
        self._spares = spares
        self._store, self._maker, self._settings, self._lost, self._say = store, maker, settings, lost, say
        self._chunks = chunks
        self._todo = deque(chunks)
        self._hands: list[_Hand[T]] = []
        self._work = pickle.dumps((_Place.of(store), maker, settings))
        self._alone: Callable[[Any], T] | None = None

    def start(self, count: int) -> None:
        for _ in range(count):
            try:
                self._hands.append(_Hand(self._work, self._spares.pop() if self._spares else None))
            except OSError as problem:
                self._say(f"A process could not be started ({problem.strerror}); it goes on with fewer.")

    def end(self) -> None:
        for hand in self._hands:
            hand.end()
        self._hands = []

    def results(self) -> Iterator[T]:
        for chunk in self._chunks:
            while chunk.waiting or chunk.rest:
                while chunk.waiting:
                    answer = chunk.waiting.popleft()
                    self._store.problems += answer.problems
                    if answer.kind == "raised":
                        raise answer.value
                    yield answer.value
                if chunk.rest:
                    self._step(chunk)

    def _step(self, first: Chunk[T]) -> None:
        """Give out chunks, and take what comes; ``first`` is the one that is waited for."""
        if not self._hands:
            self._do_it_here(first)
            return
        until = first.number + AHEAD * len(self._hands)
        for _ in range(_IN_HAND):
            for hand in self._hands:
                if self._todo and self._todo[0].number < until and len(hand.chunks) < _IN_HAND:
                    hand.give(self._todo.popleft())
        by_line = {hand.line: hand for hand in self._hands}
        for line in wait(list(by_line)):
            assert isinstance(line, Connection)
            self._listen(by_line[line])

    def _listen(self, hand: _Hand[T]) -> None:
        try:
            answer: Answer = hand.line.recv()
        except (EOFError, OSError):
            self._gone(hand)
            return
        if answer.kind == "broken":
            raise answer.value
        if answer.kind == "ready":
            hand.ready = True
        else:
            hand.take(answer)

    def _gone(self, hand: _Hand[T]) -> None:
        """A process is gone: what it had is done by others, and another takes its place if it had got to work."""
        self._hands.remove(hand)
        words = hand.end()
        self._todo = deque(sorted((*hand.chunks, *self._todo), key=lambda chunk: chunk.number))
        if not hand.ready:
            self._say(f"A process was {words} before it began; it goes on with fewer.")
            return
        if hand.chunks:
            self._once_more(hand.chunks[0], words)
        self.start(1)

    def _once_more(self, chunk: Chunk[T], words: str) -> None:
        session_id = chunk.rest[0]
        if not chunk.killed:
            chunk.killed = 1
            self._say(f"{session_id}: the process that had it in hand was {words}; it is done once more.")
            return
        chunk.take(Answer("made", self._lost(session_id, f"two processes were {words} over it")))
        if not chunk.rest:
            self._todo.remove(chunk)

    def _do_it_here(self, chunk: Chunk[T]) -> None:
        """There is no process but this one. One session, so that it is given on."""
        self._alone = self._alone or self._maker(self._store, self._settings)
        chunk.take(Answer("made", self._alone(chunk.rest[0])))


def child(line: Connection[Any, Any]) -> None:
    """The whole life of a process: open the store, then answer each id with what the function makes of it."""
    try:
        place, maker, settings = pickle.loads(line.recv_bytes())
        with place.open() as store:
            do = maker(store, settings)
            line.send(Answer("ready"))
            for session_id in _given(line):
                line.send(_answer(do, session_id, store))
    except Exception as problem:
        with suppress(OSError):  # the parent is gone
            line.send(Answer("broken", _sendable(problem)))


def _given(line: Connection[Any, Any]) -> Iterator[Any]:
    """Ids as they come, for ever: the end of the parent, or of its interest, is the end of this process at once."""
    queue: SimpleQueue[list[Any]] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                queue.put(line.recv())
            except (EOFError, OSError):
                os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield from queue.get()


def _answer(do: Callable[[Any], Any], session_id: Any, store: Store) -> Answer:
    seen = len(store.problems)
    try:
        kind, value = "made", do(session_id)
    except Exception as problem:
        kind, value = "raised", _sendable(problem)
    return Answer(kind, value, store.problems[seen:])


def _sendable(problem: Exception) -> Exception:
    """The same where it survives the way, else its words."""
    try:
        return pickle.loads(pickle.dumps(problem))  # type: ignore[no-any-return]
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {problem}")
