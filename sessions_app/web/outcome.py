"""What came of an action, in one bar that does not scroll: the words, the way back, the next thing to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from sessions_app.domain.places import turn_of
from sessions_app.models import Repair
from sessions_app.ruletexts import rule_kind
from sessions_app.selectors.outline import Fault
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.web.http import REPAIR

from . import present


@dataclass(frozen=True, slots=True)
class Outcome:
    """``what_url`` leads to what was done, or to what there is now; ``undo`` names the repair or batch to take back,
    "" = it cannot be (any more); ``again`` are the fields that apply it once more to ``session``. ``back``: where both
    lead. ``mind`` is a finding that was ignored, which can be taken back. ``next_url`` is what waits for a repair
    next."""

    look: present.Look
    words: str
    what_url: str = ""
    what_words: str = "What changed"
    undo: str = ""
    session: int | None = None
    again: tuple[tuple[str, str], ...] = ()
    mind: str = ""
    back: str = ""
    hand_back: str = ""
    next_url: str = ""
    next_words: str = ""
    undo_view: str = "sessions_app:repair-undo"
    undo_words: str = "Undo"


def repair_outcome(request: HttpRequest, *, back: str, next_url: str = "", next_words: str = "") -> Outcome | None:
    """The outcome of the repair that the address names as ``outcome``; None where it names none. ``back`` is the
    page's own address, where the bar is shown again after an undo."""
    made = repair_told(request)
    if made is None:
        return None
    applied = made.state == Repair.State.APPLIED
    may = request.user.has_perm(REPAIR)
    health = str(made.verification.get("health", ""))
    return Outcome(
        look=present.look("health", health) if applied and health == "blocked" else present.look("repair", made.state),
        words=_applied(made, health) if applied else _taken_back(made),
        what_url=reverse("sessions_app:repair-detail", args=[made.public_id]),
        undo=made.public_id if applied and may else "",
        session=made.session_id,
        again=_again(made, back) if made.state == Repair.State.UNDONE and made.session_id and may else (),
        back=back,
        hand_back=reverse("sessions_app:handback", args=[made.session_id]) if made.session_id and applied else "",
        next_url=next_url,
        next_words=next_words,
    )


def repair_told(request: HttpRequest) -> Repair | None:
    """The repair whose outcome the address asks for."""
    public_id = request.GET.get("outcome", "")[:64]
    return Repair.objects.filter(public_id=public_id).first() if public_id else None


IGNORED = "ignored:"
"""Before the key of a finding, in place of a repair's id: it was ignored."""


def ignored_outcome(request: HttpRequest, session_id: int, faults: Sequence[Fault], back: str) -> Outcome | None:
    """Of a finding that was just ignored, where the address names one; the next fault that is not is what comes
    next."""
    told = request.GET.get("outcome", "")
    key = told.removeprefix(IGNORED)
    found = next((fault for fault in faults if fault.key == key and fault.ignored), None)
    if not told.startswith(IGNORED) or found is None:
        return None
    left = any(not fault.ignored and not fault.note for fault in faults)
    return Outcome(
        present.Look("close", "Ignored", "unknown"),
        f"Ignored: {found.line}, {turn_of(found.place)}. Health and verdicts stay as they are.",
        session=session_id,
        mind=key if request.user.has_perm(REPAIR) else "",
        back=back,
        next_url=back if left else "",
        next_words="Next fault" if left else "",
    )


def refused_outcome(refusal: RepairRefused) -> Outcome:
    """Of a repair that was not made; the page around it shows the plan as it is now."""
    words = "the session changed meanwhile." if refusal.kind == "changed" else refusal.words
    return Outcome(present.look("repair", "failed"), f"Not applied: {words}", "#repair", "Show the new plan")


def _again(made: Repair, back: str) -> tuple[tuple[str, str], ...]:
    """The same choices for the same rows."""
    choices = [(f"choice.{key}", str(name)) for key, name in made.choices.items()]
    found = [("finding", key) for key in made.choices]
    return (*found, *choices, ("hash", made.hash_before), ("next", back)) if found else ()


def _applied(made: Repair, health: str) -> str:
    done = f"{made.words or _rows_of(made)}."
    word = present.look("health", health).word.lower() if health else ""
    begin = "Still blocked. " if health == "blocked" else ""
    after = f" The session is now {word}." if word and health != "blocked" else ""
    return f"{begin}Repaired: {done}{after} {made.verification.get('problem', '')}".strip()


def _rows_of(made: Repair) -> str:
    kinds = "; ".join(rule_kind(rule) for rule in made.rules[:2]) + (" and more" if len(made.rules) > 2 else "")
    return f"{kinds + ', ' if kinds else ''}{present.counted(made.change_count, 'row')} changed"


def _taken_back(made: Repair) -> str:
    if made.state == Repair.State.UNDONE:
        return "Taken back. The session is as it was before the repair."
    return f"{present.look('repair', made.state).word}. {made.error}".strip()
