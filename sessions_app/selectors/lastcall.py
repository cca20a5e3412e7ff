"""What the last call of a session was answered with, as the last scan found it."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.domain.rules.lastcall import CODE
from sessions_app.models import Finding

from .outline import ignored_findings

_RANK = {"blocked": 0, "at-risk": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class LastCall:
    """A last call without an answer. ``summary`` says all of it in a sentence, ``words`` are the provider's own;
    ``about`` and ``kind`` are the class (docs/contract/design.md#locate). ``counts``: the history may be why."""

    finding: str
    summary: str
    words: str
    about: str
    kind: str
    model: str
    counts: bool


def last_call(session_id: int) -> LastCall | None:
    """The gravest that nobody chose to ignore; None where the last call was answered."""
    found = list(Finding.objects.filter(session=session_id, rule=CODE).order_by("position", "id"))
    ignored = ignored_findings(session_id) if found else {}
    minded = [finding for finding in found if finding.key not in ignored]
    worst = min(minded, key=lambda finding: _RANK[finding.severity], default=None)
    if worst is None:
        return None
    words, about, kind, model = (str(worst.details.get(name, "")) for name in ("words", "class", "kind", "model"))
    return LastCall(worst.key, worst.summary, words, about, kind, model, worst.severity != "info")
