"""Versions of clients, as their sessions name them."""

from __future__ import annotations

import re

LEAVES_UNSIGNED_OUT = (1, 18, 33)
"""The first client measured to leave an answer of unsigned reasoning alone out of a request to Bedrock; an older one
sent a message without content, which was refused (docs/contract/wire.md#6.9)."""
_VERSION = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,3})")


def sends_unsigned_alone(version: object) -> bool:
    """Whether a session of this version is an older client's in this."""
    return () < numbers(version) < LEAVES_UNSIGNED_OUT


def numbers(version: object) -> tuple[int, ...]:
    """The numbers of a version for comparing: "1.18.33" is (1, 18, 33); () where it is none (a local build's name)."""
    match = _VERSION.match(version) if isinstance(version, str) else None
    return tuple(map(int, match[1].split("."))) if match else ()
