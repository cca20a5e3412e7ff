"""Building much at once: Python's cycle collector waits meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps


def undisturbed[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """``function``, run without the collector of cycles, which would look at everything built so far again and again.

    For functions that build trees of plain values, a session's messages or bodies: they leave no cycles, so nothing
    waits to be freed but what reference counts free at once. Nested calls and calls in other threads do no harm.
    """

    @wraps(function)
    def run(*given: P.args, **named: P.kwargs) -> R:
        if not gc.isenabled():
            return function(*given, **named)
        gc.disable()
        try:
            return function(*given, **named)
        finally:
            gc.enable()

    return run
