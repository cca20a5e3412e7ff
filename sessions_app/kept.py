"""What is kept in memory between two requests because it is dear to make: one bounded class for all of it.

Nothing kept here is ever asked whether it is still true: the key has to say all that the value depends on (the hash of
the rows, the version of the rules, the options), so that another truth has another key. Each owner makes one ``Kept``
beside the function whose results it keeps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any
from weakref import WeakSet

_ALL: WeakSet[Kept[Any, Any]] = WeakSet()


class Kept[K: Hashable, V]:
    """Values by key, those used last, as many as ``bound`` allows; ``cost`` says what one of them takes of it.

    A value that is dearer than all of the bound is not kept. Threads share it; two that miss at once both make the
    value, and the later one stays.
    """

    def __init__(self, bound: int, cost: Callable[[V], int] = lambda _: 1) -> None:
        self.bound, self._cost, self._lock = bound, cost, Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.spent = 0
        _ALL.add(self)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V) -> V:
        """Keep it, and let go of what was not used for longest; gives the value back."""
        cost = self._cost(value)
        with self._lock:
            _, freed = self._values.pop(key, (None, 0))
            self.spent -= freed
            if cost <= self.bound:
                self._values[key] = value, cost
                self.spent += cost
            while self.spent > self.bound:
                _, (_, freed) = self._values.popitem(last=False)
                self.spent -= freed
        return value

    def made(self, key: K, make: Callable[[], V]) -> V:
        """The value of this key, made where it is not kept."""
        found = self.get(key)
        return self.put(key, make()) if found is None else found

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.spent = 0


def forget_all() -> None:
    """Nothing is kept any more: for tests, whose databases give the same keys again."""
    for kept in list(_ALL):
        kept.clear()
