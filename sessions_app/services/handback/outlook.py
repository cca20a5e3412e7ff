"""What is in a file that is handed back: for which repairs it was made, what is still wrong in it, and whether its
session is still blocked (docs/contract/design.md#handback)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sessions_app.domain import dialects
from sessions_app.domain.model import Session
from sessions_app.domain.places import told, turn_of
from sessions_app.domain.planning import compose
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.scan import scan
from sessions_app.ruletexts import rule_texts
from sessions_app.services.repair.bench import Bench
from sessions_app.services.repair.plans import kept_made

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Session as Mirrored

WORST = ("unreadable", "blocked", "at-risk", "healthy")
LEFT = 20
"""Findings that are named."""


_NEEDS = {"lossy": "needs a choice", "manual": "needs a choice, or is done by hand"}


@dataclass(frozen=True, slots=True)
class Outlook:
    """``rules``: those whose findings were repaired in it. ``left``: what is still wrong, the gravest first.
    ``repaired``: it was to be repaired, else it is as stored. ``first``: the gravest in a line with its place;
    ``needs``: what that waits for, "" = nothing but a safe repair."""

    health: str
    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    sessions: int = 1
    repaired: bool = True
    first: str = ""
    needs: str = ""

    @property
    def blocked(self) -> bool:
        return self.health in ("blocked", "unreadable")

    @property
    def state(self) -> str:
        """ "Still blocked: needs a choice", "Blocked, as stored", "Healthy"."""
        if self.health == "healthy":
            return "Healthy"
        word = self.health.replace("-", " ")
        if not self.repaired:
            return f"{word.capitalize()}, as stored"
        return f"Still {word}" + (f": {self.needs}" if self.needs else "")

    @property
    def words(self) -> str:
        made = f"Made with the repairs of {', '.join(self.rules)}" if self.rules else "No repair is in it"
        whose = "its session is" if self.sessions == 1 else f"the worst of its {self.sessions} sessions is"
        left = f" Left: {'; '.join(self.left)}." if self.left else ""
        return f"{made}; {whose} {self.state[:1].lower()}{self.state[1:]}.{left}"


def outlook(bench: Bench, *, repaired: bool, applied: Sequence[str] = ()) -> Outlook:
    """Of a session on the bench: after its plan where ``repaired``, else as stored. ``applied``: rules that were
    repaired in it before."""
    after = repaired and bool(bench.plan.changes)
    name = "outlook after" if after else "outlook as stored"
    judged = kept_made(bench, name, lambda: _judged(bench, bench.after if after else bench.decoded))
    return _made(judged, {*applied, *(bench.plan.rules if after else ())}, repaired=repaired)


def outlook_before(bench: Bench, applied: Applied) -> Outlook:
    """Of the session as its owner has it: what an undo script leads back to."""
    rules = {*applied.rules, *bench.plan.rules}
    if not applied.changes:
        return _made(outlook(bench, repaired=False), rules, repaired=False)
    return _made(_judged(bench, applied.before(bench)), rules, repaired=False)


def _made(judged: Outlook, rules: Collection[str], *, repaired: bool) -> Outlook:
    return replace(judged, rules=tuple(sorted(rules)), repaired=repaired)


def _judged(bench: Bench, session: Session) -> Outlook:
    result = scan(session, target=bench.target, thinking=bench.wish.thinking, facts=bench.facts)
    ranks = ("blocked", "at-risk")
    found = sorted((one for one in result.findings if one.severity in ranks), key=lambda one: ranks.index(one.severity))
    left = tuple(dict.fromkeys(one.summary for one in found)) or (
        tuple(result.reasons) if result.health != "healthy" else ()
    )
    lines = {one.rule: rule_texts()[one.rule].line for one in found[:1]}
    first = next((f"{said.line}, {turn_of(said.place)}".rstrip(", ") for said in told(session, found[:1], lines)), "")
    needs = _NEEDS.get(found[0].safety, "") if found else ""
    return Outlook(result.health, left=left[:LEFT], first=first, needs=needs)


def together(each: Sequence[tuple[str, Outlook]]) -> Outlook:
    """Of a whole store, session by session: the worst health, and what is left in each."""
    health = min((one.health for _, one in each), key=WORST.index, default="healthy")
    rules = sorted({rule for _, one in each for rule in one.rules})
    worst = sorted((item for item in each if item[1].left), key=lambda item: WORST.index(item[1].health))
    left = [f"{name}: {one.left[0]}" for name, one in worst]
    more = [f"and {len(left) - LEFT} more sessions"] if len(left) > LEFT else []
    repaired = all(one.repaired for _, one in each)
    return Outlook(health, tuple(rules), (*left[:LEFT], *more), len(each), repaired)


@dataclass(frozen=True, slots=True)
class Applied:
    """Repairs that were written to our copy of an upload, and so are not in the file that its owner has."""

    changes: tuple[RowChange, ...] = ()
    rules: tuple[str, ...] = ()

    def before(self, bench: Bench) -> Session:
        """The session as it was uploaded."""
        rows = dialects.apply(bench.rows, inverted(self.changes)) if self.changes else bench.rows
        return dialects.decode(rows)


def applied_to_upload(session: Mirrored) -> Applied:
    """The repairs that stand, as one; none of an attached file, which its owner has as it is."""
    from sessions_app.models import Repair

    if session.source.live:
        return Applied()
    standing = Repair.objects.filter(
        session=session, state=Repair.State.APPLIED, undoes=None, path=session.source.file
    ).order_by("applied_at", "pk")
    found = [(repair, [kept.change for kept in repair.changes.order_by("position")]) for repair in standing]
    changes = compose(change for _, changes in found for change in changes)
    rules = {rule for repair, _ in found for rule in repair.rules}
    return Applied(changes, tuple(sorted(rules)))
