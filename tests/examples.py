"""How many examples a costly property is shown: a share of what the profile gives (``tests/conftest.py``)."""

from __future__ import annotations

from hypothesis import settings


def one_in(share: int) -> settings:
    """Of ``share`` examples that the profile gives to a property, one."""
    return settings(max_examples=max(settings().max_examples // share, 5))
