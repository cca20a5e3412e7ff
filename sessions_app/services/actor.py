"""Who does something that the history keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, through which face, and why."""

    name: str
    face: str = "web"
    reason: str = ""
