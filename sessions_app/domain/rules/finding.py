"""What a rule hands back: a finding, with the ways to repair it (docs/contract/design.md#2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sessions_app.domain.repair import Operation

type Severity = Literal["blocked", "at-risk", "info"]
type Safety = Literal["safe", "lossy", "manual"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to repair a finding. ``operations`` are complete and independent of other choices."""

    name: str
    label: str
    safety: Safety
    operations: tuple[Operation, ...] = ()


def safe(name: str, label: str, *operations: Operation) -> Choice:
    """A choice that loses no user text, no model answer and no executed tool's output."""
    return Choice(name, label, "safe", operations)


def lossy(name: str, label: str, *operations: Operation) -> Choice:
    """A choice that drops something."""
    return Choice(name, label, "lossy", operations)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault that a rule found, at named messages and parts. Rules make it with ``Context.finding``.

    ``choices`` holds the ways to repair it, the recommended one first; ``safety`` is that one's, or "manual" where
    nothing is done unless a choice is named. ``offered`` marks an open choice: it is repaired only where its rule or
    itself is asked for. ``mark`` tells findings of one rule at the same place apart.
    """

    rule: str
    severity: Severity
    safety: Safety
    messages: tuple[str, ...]
    parts: tuple[str, ...]
    summary: str
    details: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    offered: bool = False
    mark: str = ""

    @property
    def key(self) -> str:
        """Stable over re-scans of the same rows: rule code and a digest of where it is."""
        place = json.dumps([self.messages, self.parts, self.mark])
        return f"{self.rule}:{hashlib.blake2b(place.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"

    @property
    def open_choice(self) -> bool:
        """Nothing is done about it unless it is asked for: info, manual, or an offer."""
        return self.offered or self.severity == "info" or self.safety == "manual"
