"""The bench: a session with everything that repairing it needs, each read or computed once, when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from sessions_app.domain import dialects, planning, previewing, rowdoc
from sessions_app.domain import model as domain
from sessions_app.domain.model import SessionRows
from sessions_app.domain.near import unknown
from sessions_app.domain.planning import Proposal
from sessions_app.domain.previewing import Look, Preview
from sessions_app.domain.repair import Plan
from sessions_app.domain.rules import Facts
from sessions_app.domain.wire.lowered import Body
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.domain.wish import NOTHING, Wish
from sessions_app.services.storefacts import session_facts, store_facts
from sessions_app.stores.base import Store
from sessions_app.stores.holders import Holder

from .clients import clients_of, held_words, named
from .plans import kept_property, plan_key
from .refusal import RepairRefused, refusing

if TYPE_CHECKING:  # commands on bare files start without Django
    from sessions_app.models import Session


@dataclass(eq=False)
class OpenStore:
    """A store that is open, with what is known of it as a whole; all its sessions share it.

    ``native``: it lies where its client finds it. ``check``: what SQLite's check found. ``agents``: what is written
    goes to the agent's own file, which a client may have open too; else to a copy.
    """

    store: Store
    now: datetime
    native: bool = False
    check: Sequence[str] = ()
    agents: bool = True

    @cached_property
    def facts(self) -> Facts:
        return store_facts(store=self.store, native=self.native, now=self.now, check=self.check)

    @cached_property
    def holders(self) -> tuple[Holder, ...]:
        return tuple(self.store.holders()) if self.agents else ()

    @contextmanager
    def once_more(self, now: datetime) -> Iterator[OpenStore]:
        """For another session, some time later: who else has it open is asked again."""
        self.now = now
        self.__dict__.pop("holders", None)
        with refusing():
            yield self


@dataclass(eq=False)
class Bench:
    """A session's rows with what is wished for them. ``whole`` None: the store cannot be read, its rows are known from
    before. ``session``: what the mirror has of it. ``hashed``: the hash of the rows, where it is known. ``key``: what
    its plan is kept under, None = it is not."""

    given: SessionRows | Callable[[], SessionRows]
    wish: Wish = field(default_factory=Wish)
    whole: OpenStore | None = None
    session: Session | None = None
    hashed: str = ""
    key: Hashable = None
    as_scanned: bool = False
    """The rows, and what is known of their models, are those of the mirror."""
    keyed: Callable[[Wish], Hashable] = lambda wish: None
    """What a plan for another wish for the same rows is kept under."""

    def wishing(self, wish: Wish) -> Bench:
        """The same rows with another wish."""
        other = replace(self, given=lambda: self.rows, wish=wish, key=self.keyed(wish))
        read = ("decoded", "facts") if wish.history == self.wish.history else ("facts",)
        other.__dict__ |= {name: self.__dict__[name] for name in read if name in self.__dict__}
        return other

    @cached_property
    def rows(self) -> SessionRows:
        return self.given() if callable(self.given) else self.given

    @cached_property
    def decoded(self) -> domain.Session:
        return dialects.reading(dialects.decode(self.rows), self.wish.history)

    @cached_property
    def facts(self) -> Facts:
        return session_facts(self.whole.facts, self.rows) if self.whole is not None else Facts()

    @property
    def holders(self) -> tuple[Holder, ...]:
        return self.whole.holders if self.whole is not None else ()

    @cached_property
    def target(self) -> Target | None:
        """The target that was wished for, None = the session's own."""
        return self.wish.goal(self.decoded)

    @cached_property
    def held(self) -> bool:
        """A client may still be working on what looks stuck."""
        return not self.wish.force and bool(clients_of(self.holders))

    @cached_property
    def _made(self) -> Proposal:
        """The plan as it is made now, with the session before and after."""
        return self._proposed(self.held)

    @kept_property
    def proposal(self) -> Proposal:
        """The plan, and how it came about."""
        return replace(self._made, looks=())

    def _proposed(self, held: bool) -> Proposal:
        return planning.propose(self.decoded, self.target, self.wish, self.facts, held, self.hashed)

    @cached_property
    def looks(self) -> Sequence[Look]:
        """The session before and after the plan."""
        if self.proposal and "_made" in self.__dict__:
            return self._made.looks
        return previewing.looks_at(self.decoded, self.plan, self.target, self.facts)

    @cached_property
    def misnamed(self) -> str:
        """What was wished for by a name that this session does not have, in words; "" = all is there."""
        wish, found = self.wish, self.proposal.found
        held = tuple(message.id for message in self.decoded.messages) if wish.messages else ()
        keys = tuple(finding.key for finding in found)
        problems = [unknown("message", name, held) for name in wish.messages if name not in held]
        gone = "it is not found in this session"
        problems += [unknown("finding", key, keys, gone) for key in wish.findings if key not in keys]
        for key, name in wish.choices.items():
            offered = [choice.name for one in found if key in (one.key, one.rule) for choice in one.choices]
            if name != NOTHING and offered and name not in offered:
                problems.append(unknown(f"choice of {key}", name, tuple(dict.fromkeys((*offered, NOTHING)))))
        return " ".join(problems)

    def let_go(self) -> None:
        """Of a long session what was decoded takes as much memory as its rows; it is made again where asked for."""
        for name in ("decoded", "looks", "_made"):
            self.__dict__.pop(name, None)

    @property
    def plan(self) -> Plan:
        return self.proposal.plan

    @cached_property
    def refusal(self) -> str:
        """Nothing is planned, only since a client has the file open: why. "" = not so."""
        waits = self.held and not self.plan.changes and bool(self._proposed(False).plan.changes)
        return held_words(clients_of(self.holders)) if waits else ""

    @property
    def warning(self) -> str:
        return f"{named(self.holders)} has this file open." if self.holders else ""

    @property
    def after(self) -> domain.Session:
        """The session after the plan."""
        return self.looks[-1].context.session

    @property
    def rows_after(self) -> SessionRows:
        return self.after.rows

    @cached_property
    def hashes(self) -> tuple[str, str]:
        """Of the rows, before and after the plan."""
        return self.plan.rows_hash, rowdoc.rows_hash(self.rows_after)

    @kept_property
    def preview(self) -> Preview:
        """Verdicts before and after the plan, and what is found after it; all computed."""
        return previewing.preview(self.looks, self.target)

    @kept_property
    def verdicts_after(self) -> Mapping[ProtocolName, Verdict]:
        """What each protocol would answer after the plan, the own one first; none where the session names no model."""
        return previewing.verdicts_after(self.looks, self.target)

    @cached_property
    def bodies(self) -> tuple[Body | None, Body | None]:
        """The next request without a new prompt, before and after the plan."""
        return previewing.bodies(self.looks, self.target)

    @cached_property
    def accepted_before(self) -> Mapping[str, bool]:
        """Which protocols accept it, as the last scan judged these very rows."""
        before = self.preview.verdict_before
        own = {} if before is None else {str(before.target.protocol): bool(self.preview.accepted_before)}
        if self.session is None:
            return own
        return dict(self.session.verdicts.values_list("protocol", "accepted")) | own


@contextmanager
def session_bench(*, session: Session, wish: Wish | None = None, now: datetime) -> Iterator[Bench]:
    """A session of the mirror as it is stored now, its store open; the mirror is brought up to it. For looking: nothing
    is read that is known to be as it was.

    Raises ``RepairRefused`` where it cannot be read.
    """
    from sessions_app.selectors.rows import session_rows
    from sessions_app.services.reading import session_is_read, session_read
    from sessions_app.services.scanning import session_scan

    wish = wish or Wish()
    with open_source(session=session, now=now) as whole:
        source = session.source
        rows: SessionRows | Callable[[], SessionRows] = partial(session_rows, session)
        if not (source.live or session.pending or session.imported_at is None):
            session_scan(session=session, now=now, facts=whole.facts)
        elif session_is_read(session, whole.store):
            rows = partial(_as_it_was, session, whole.store)
        else:
            rows = session_read(session=session, store=whole.store, facts=whole.facts, now=now).rows
        hashed = session.rows_hash
        keyed = partial(_keyed, session=session, store=whole.store, hashed=hashed, now=now)
        yield Bench(rows, wish, whole, session, hashed, keyed(wish), keyed=keyed)


def _keyed(wish: Wish, *, session: Session, store: Store, hashed: str, now: datetime) -> Hashable:
    return plan_key(session=session, store=store, hashed=hashed, wish=wish, now=now)


def _as_it_was(session: Session, store: Store) -> SessionRows:
    """The rows of a session that was read before, from the store. Raises ``RepairRefused``."""
    from sessions_app.services.reading import session_is_read, stored_id

    rows = store.read(stored_id(session))
    if not session_is_read(session, store):
        raise RepairRefused("changed", "The store was written to just now. Look again.")
    return rows


@contextmanager
def stored_bench(
    *, session: Session, wish: Wish, now: datetime, whole: OpenStore | None = None
) -> Iterator[tuple[Bench, OpenStore]]:
    """The rows as the session's store (``whole``, where it is open) holds them now, for writing, and that store; the
    mirror is left as it is. Raises ``RepairRefused``."""
    from sessions_app.services.reading import models_are_known, stored_id

    opened = open_source(session=session, now=now) if whole is None else whole.once_more(now)
    with opened as whole:
        rows = whole.store.read(stored_id(session))
        bench = Bench(rows, wish, whole, session, rowdoc.rows_hash(rows))
        bench.as_scanned = bench.hashed == session.rows_hash and models_are_known(session, rows.models)
        if bench.as_scanned:
            bench.key = plan_key(session=session, store=whole.store, hashed=bench.hashed, wish=wish, now=now)
        yield bench, whole


@contextmanager
def open_source(*, session: Session, now: datetime) -> Iterator[OpenStore]:
    """The store of a session of the mirror. What it says against being read or written is a ``RepairRefused``."""
    source = session.source
    with refusing(), source.open_store() as store:
        yield OpenStore(store, now, source.native, source.damage, agents=source.live)
