"""A name that nobody knows, and the known ones that were probably meant: the one "did you mean" of every face."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

FEW = 9
"""So many names are listed where none of them is near."""


def nearest(name: str, known: Iterable[str], most: int = 3) -> str:
    """The known names that look like this one, the likeliest first, joined by "or"; "" where none does."""
    return " or ".join(difflib.get_close_matches(name, list(known), n=most))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` with the nearest, to be put behind the name; "" where nothing is near."""
    close = nearest(name, known, most=1)
    return f" (did you mean {close}?)" if close else ""


def unknown(kind: str, name: str, known: Collection[str], where: str = "") -> str:
    """A sentence for a name that is not known: what was probably meant, else what there is. ``where`` says where all
    are listed, for those that are too many to be listed here."""
    close = nearest(name, known)
    if close:
        return f"Unknown {kind} {name!r}; did you mean {close}?"
    if known and (len(known) <= FEW or not where):
        return f"Unknown {kind} {name!r}; known are {', '.join(known)}."
    return f"Unknown {kind} {name!r}{f'; {where}' if where else ''}."
