"""What the upgrade to 2.x would drop or alter of a store's sessions (docs/before-you-upgrade.md). Nothing is written,
and nothing here needs Django."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sessions_app.domain import dialects
from sessions_app.domain.model import V1, V2
from sessions_app.domain.planning import plan
from sessions_app.domain.rules import Facts
from sessions_app.domain.upgrade import Loss, losses
from sessions_app.services.storefacts import facts_apart, facts_here, session_facts, store_facts
from sessions_app.stores.base import Store, StoreError

if TYPE_CHECKING:  # the command starts without Django
    from sessions_app.models import Source

STATES = {
    "unreadable": "cannot be read",
    "left-behind": "left behind by an upgrade (suture export --as export-2x hands one back)",
    "loses": "would lose something",
    "kept": "would be taken over whole",
    "upgraded": "of 2.x already",
}
"""The words for each state, the worst first."""
NOT_MEASURED = (
    "What 2.x does was read in its source and not run, since no registry has it: keep a copy of the file before you"
    " upgrade. Suture offers no writing into a store of 2.x."
)


@dataclass(frozen=True, slots=True)
class Checked:
    """One session. ``state``: "kept" (nothing is lost), "loses", "left-behind" (its store was upgraded already, and its
    client no longer reads it), "upgraded", "unreadable" (``why`` says it). ``mended``: kinds of loss that the safe
    repairs take away, made before the upgrade."""

    id: str
    title: str
    state: str
    losses: tuple[Loss, ...] = ()
    mended: tuple[str, ...] = ()
    why: str = ""

    @property
    def words(self) -> str:
        """Its state, as people are told."""
        return STATES[self.state]

    def document(self) -> dict[str, Any]:
        """As REST and ``--json`` give it."""
        return {
            "id": self.id,
            "title": self.title,
            "state": self.state,
            "why": self.why,
            "losses": [
                {
                    "kind": loss.kind,
                    "effect": loss.effect,
                    "summary": loss.summary,
                    "ids": list(loss.ids),
                    "advice": loss.advice,
                    "mended": loss.kind in self.mended,
                }
                for loss in self.losses
            ],
        }


def checker(store: Store, facts: Facts) -> Callable[[Any], Checked]:
    """The function that checks a session of this store; what a process of the pool does. ``facts`` are of the store, as
    ``facts_apart`` gives them."""
    here = facts_here(facts, store)

    def checked(session_id: Any) -> Checked:
        try:
            return _checked(store, session_id, here)
        except StoreError as problem:
            return Checked(str(session_id), "", "unreadable", why=problem.words)
        except Exception as problem:  # one odd session must not cost the others
            return failed(session_id, f"{type(problem).__name__}: {problem}")

    return checked


def source_upgrade(*, source: Source, session_ids: Iterable[str], now: datetime) -> list[Checked]:
    """These sessions of a source, checked. Raises ``StoreError`` where it cannot be read."""
    with source.open_store() as store:
        facts = store_facts(store=store, native=source.native, now=now)
        return list(map(checker(store, facts_apart(facts)), session_ids))


def failed(session_id: Any, how: str) -> Checked:
    """A session on which this program failed."""
    return Checked(str(session_id), "", "unreadable", why=f"Suture failed on this session ({how}).")


def _checked(store: Store, session_id: Any, facts: Facts) -> Checked:
    session = dialects.decode(store.read(session_id))
    if session.history(V2):
        return Checked(session.id, session.title, "upgraded")
    if facts.reads == V2 and session.history(V1):
        return Checked(session.id, session.title, "left-behind")
    found = losses(session)
    if not found:
        return Checked(session.id, session.title, "kept")
    changes = plan(session, facts=session_facts(facts, session.rows)).changes
    left = (
        {loss.kind for loss in losses(dialects.applied(session, changes))} if changes else {one.kind for one in found}
    )
    mended = tuple(loss.kind for loss in found if loss.kind not in left)
    return Checked(session.id, session.title, "loses", found, mended)
