"""How long what is computed may take: a limit set around a call, and looked at in the long loops below it.

There is no clock here: who sets a limit says when it is over. Without one nothing ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class OutOfTime(BaseException):
    """The limit is over. Like ``KeyboardInterrupt`` no ``Exception``: what goes on with the next session where one
    fails must not go on here."""


def _never() -> bool:
    return False


_OVER: ContextVar[Callable[[], bool]] = ContextVar("over", default=_never)


def over() -> bool:
    """The limit, where there is one, is over."""
    return _OVER.get()()


def go_on() -> None:
    """Looked at between two pieces of work, nothing half done. Raises ``OutOfTime``."""
    if _OVER.get()():
        raise OutOfTime


def paced[T](items: Iterable[T]) -> Iterator[T]:
    """``items``, looking at the limit before each. Raises ``OutOfTime``."""
    over = _OVER.get()
    for item in items:
        if over():
            raise OutOfTime
        yield item


@contextmanager
def limited(over: Callable[[], bool]) -> Iterator[None]:
    """Inside, ``over`` says when it is enough."""
    token = _OVER.set(over)
    try:
        yield
    finally:
        _OVER.reset(token)


@contextmanager
def unlimited() -> Iterator[None]:
    """Inside, what was begun is finished: around writes, and what has a limit of its own."""
    with limited(_never):
        yield
