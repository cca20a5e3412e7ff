"""Addresses with a query and the place of the page that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.utils.http import urlencode


def address(pairs: Mapping[str, Any], place: str | None = None) -> str:
    """``?a=b&c=d#at-place`` of the pairs that have a value; a place is the element of a part or message."""
    kept = {name: value for name, value in pairs.items() if value not in (None, "")}
    fragment = "" if place is None else f"#at-{quote(place, safe='')}"
    return (f"?{urlencode(kept)}" if kept else "") + fragment
