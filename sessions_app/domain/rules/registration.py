"""How a rule is registered: a function, its code once, and the place of its repair in the order of all.

Adding a rule is a decorated function, its line in ``ORDER_OF_REPAIR``, its text in ``texts/<code>.md`` and its tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .context import Context
from .finding import Finding, Safety, Severity
from .stored import WORDS

type Find = Callable[[Context], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of fault. What it says to people is ``texts/<code>.md``.

    ``severity`` is the one when its own target refuses the session, ``safety`` that of the repair in general; ``live``
    marks repairs that are refused while a client has the file open. ``needs``: where none of these words of ``stored``
    holds of a session, the rule finds nothing in it and does not look; without any it always looks.
    """

    code: str
    severity: Severity
    safety: Safety
    find: Find
    live: bool = False
    needs: frozenset[str] = frozenset()


REGISTERED: dict[str, Rule] = {}
"""Every rule whose module was imported; ``REGISTRY`` of the package is the complete one, in order."""


def rule(
    code: str, *, severity: Severity, safety: Safety, live: bool = False, needs: str = ""
) -> Callable[[Find], Find]:
    """Registers a function that yields a rule's findings. ``needs`` lists words with blanks between. ValueError where
    the code is taken, or a word is none of ``stored.WORDS``."""

    wanted = frozenset(needs.split())

    def register(find: Find) -> Find:
        if code in REGISTERED:
            raise ValueError(f"two rules are named {code}")
        if strange := wanted - WORDS:
            raise ValueError(f"{code} needs {', '.join(sorted(strange))}, which nothing tells")
        REGISTERED[code] = Rule(code, severity, safety, find, live, wanted)
        return find

    return register
