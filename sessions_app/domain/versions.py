"""Versions of clients, as their sessions name them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,3})")


def numbers(version: object) -> tuple[int, ...]:
    """The numbers of a version for comparing: "1.18.33" is (1, 18, 33); () where it is none (a local build's name)."""
    match = _VERSION.match(version) if isinstance(version, str) else None
    return tuple(map(int, match[1].split("."))) if match else ()
