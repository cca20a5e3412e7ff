"""Conditions in force, each with the page without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chip:
    words: str
    url: str
