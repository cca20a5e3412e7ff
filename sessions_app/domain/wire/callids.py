"""What becomes of a call id on its way to a provider (docs/contract/wire.md#6.1.9.2c, #6.1.9.2d)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sessions_app.domain.wire.target import Target

_UNPLAIN = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_ALNUM = re.compile(r"[^a-zA-Z0-9]")
_NINE: Final = ("mistral", "devstral", "codestral", "pixtral", "mixtral")


def plain(call_id: str) -> str:
    """The id in letters, digits, ``_`` and ``-``, as the V1 client sends it to Claude."""
    return _UNPLAIN.sub("_", call_id)


def nine(call_id: str) -> str:
    """The id in nine letters and digits, as the V1 client sends it to Mistral's models."""
    return _NOT_ALNUM.sub("", call_id)[:9].ljust(9, "0")


def wants_nine(target: Target | None) -> bool:
    """The model wants call ids of nine letters and digits (S9)."""
    if target is None:
        return False
    model = target.model.lower()
    return target.provider == "mistral" or any(name in model for name in _NINE)


def scrub(target: Target) -> Callable[[str], str] | None:
    """What the V1 client does to the call ids of a request for ``target``; None where it sends them as they are."""
    if wants_nine(target):
        return nine
    return plain if "claude" in target.model else None  # as it is written: not for "Claude-..."


def wire_call_id(target: Target | None, call_id: str, v2: bool) -> str:
    """The id as the session's client sends it: V1 rewrites ids for some models, V2 none."""
    rewrite = None if target is None or v2 else scrub(target)
    return rewrite(call_id) if rewrite else call_id


def wire_forms(call_id: str) -> frozenset[str]:
    """The id and every form in which a provider may have seen it."""
    return frozenset((call_id, plain(call_id), nine(call_id)))
