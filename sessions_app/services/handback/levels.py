"""How far a session that is handed back can be repaired, and how it stands then: said before a file is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sessions_app.domain.places import Places, in_words
from sessions_app.domain.wish import Wish
from sessions_app.services.repair.bench import Bench, session_bench
from sessions_app.services.repair.plans import kept_made
from sessions_app.stores import disk_sizes

from .forms import HANDBACK, Form
from .outlook import Applied, Outlook, applied_to_upload, outlook, outlook_before

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Session

type LevelName = Literal["stored", "safe", "lossy", "chosen"]


@dataclass(frozen=True, slots=True)
class Level:
    """``changed``: stored rows that the repairs of it change. ``drops``: what they drop, in words. ``stored`` and
    ``before``: how the session stands as stored, and as its owner has it."""

    name: LevelName
    wish: Wish
    after: Outlook
    stored: Outlook
    before: Outlook
    changed: int
    patchable: bool
    """There is something for a patch to do."""
    drops: tuple[str, ...] = ()

    def within(self, form: Form) -> Outlook:
        """How the session stands in a file of this form."""
        if form == "undo":
            return self.before
        return self.after if HANDBACK[form].repaired else self.stored


def handback_levels(*, session: Session, chosen: Wish | None, now: datetime) -> tuple[Level, ...]:
    """As stored, with the safe repairs, also with those that drop something, with those that are ``chosen``; one that
    changes no more than the one before it is left out. Raises ``RepairRefused`` where the session cannot be read."""
    with session_bench(session=session, now=now) as bench:
        return tuple(_levels(bench, chosen, applied_to_upload(session)))


def _levels(bench: Bench, chosen: Wish | None, applied: Applied) -> Iterator[Level]:
    stored = outlook(bench, repaired=False, applied=applied.rules)
    yield Level("stored", Wish(), stored, stored, outlook_before(bench, applied), 0, bool(applied.changes))
    known: list[object] = [()]
    asked: list[tuple[LevelName, Wish]] = [("safe", Wish()), ("lossy", Wish(safety="lossy"))]
    asked += [("chosen", chosen)] if chosen else []
    for name, wish in asked:
        mine = bench.wishing(wish)
        if mine.plan.changes in known:
            continue
        known.append(mine.plan.changes)
        yield Level(
            name,
            wish,
            after=outlook(mine, repaired=True, applied=applied.rules),
            stored=stored,
            before=outlook_before(mine, applied),
            changed=len(mine.plan.changes),
            patchable=True,
            drops=kept_made(mine, "drops", partial(_drops, mine)),
        )


def _drops(bench: Bench) -> tuple[str, ...]:
    taken = bench.proposal.taken
    made = (
        choice
        for finding in bench.proposal.found
        for choice in finding.choices
        if taken.get(finding.key) == choice.name and choice.safety != "safe"
    )
    labels, places = dict.fromkeys(choice.label for choice in made), Places(bench.decoded)
    return tuple("".join(word.text for word in in_words(one, places.named_in(one))) for one in labels)


def form_size(session: Session, form: Form) -> int:
    """About how many bytes a file of this form has; 0 = not known before it is made."""
    if form == "database":
        return sum(disk_sizes(Path(session.source.file)) or (0, 0))
    return session.size_bytes if form in ("export", "rows", "bundle") else 0
