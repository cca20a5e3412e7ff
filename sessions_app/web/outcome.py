"""What came of an action, in one bar that does not scroll: the words, the way back, the next thing to do."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from sessions_app.models import Repair
from sessions_app.ruletexts import rule_kind
from sessions_app.web.http import REPAIR

from . import present


@dataclass(frozen=True, slots=True)
class Outcome:
    """``undo`` names the repair or batch to take back, "" = it cannot be (any more); ``back`` is where that leads.
    ``next_url`` is the next session that waits for a repair."""

    look: present.Look
    words: str
    what_url: str
    undo: str
    back: str
    hand_back: str
    next_url: str = ""
    next_words: str = ""
    undo_view: str = "sessions_app:repair-undo"
    undo_words: str = "Undo"
    what_words: str = "What changed"


def repair_outcome(request: HttpRequest, *, back: str, next_url: str = "", next_words: str = "") -> Outcome | None:
    """The outcome of the repair that the address names as ``outcome``; None where it names none. ``back`` is the
    page's own address, where the bar is shown again after an undo."""
    public_id = request.GET.get("outcome", "")[:64]
    made = Repair.objects.filter(public_id=public_id).first() if public_id else None
    if made is None:
        return None
    applied = made.state == Repair.State.APPLIED
    health = str(made.verification.get("health", ""))
    return Outcome(
        look=present.look("health", health) if applied and health == "blocked" else present.look("repair", made.state),
        words=_applied(made, health) if applied else _taken_back(made),
        what_url=reverse("sessions_app:repair-detail", args=[made.public_id]),
        undo=made.public_id if applied and request.user.has_perm(REPAIR) else "",
        back=back,
        hand_back=reverse("sessions_app:more", args=[made.session_id]) if made.session_id and applied else "",
        next_url=next_url,
        next_words=next_words,
    )


def _applied(made: Repair, health: str) -> str:
    kinds = "; ".join(rule_kind(rule) for rule in made.rules[:2]) + (" and more" if len(made.rules) > 2 else "")
    done = f"{kinds or 'Repair'}: {present.counted(made.change_count, 'row')} changed."
    word = present.look("health", health).word.lower() if health else ""
    begin = "Still blocked. " if health == "blocked" else "Repaired. "
    after = f" The session is now {word}." if word and health != "blocked" else ""
    return f"{begin}{done}{after} {made.verification.get('problem', '')}".strip()


def _taken_back(made: Repair) -> str:
    if made.state == Repair.State.UNDONE:
        return "Taken back. The session is as it was before the repair."
    return f"{present.look('repair', made.state).word}. {made.error}".strip()
