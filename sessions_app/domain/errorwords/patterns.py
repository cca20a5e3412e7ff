"""Patterns compiled when they are first looked for: there are hundreds, and most commands look for none."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """For patterns of the tables alone, since all are kept."""
    return re.compile(pattern)
