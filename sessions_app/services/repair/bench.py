"""The bench: a session with everything that repairing it needs, each read or computed once, when first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain import model as domain
from sessions_app.domain.judging import verdict_on
from sessions_app.domain.model import SessionRows
from sessions_app.domain.near import unknown
from sessions_app.domain.planning import Preview, Proposal
from sessions_app.domain.repair import Plan
from sessions_app.domain.rules import Facts
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from sessions_app.domain.wire.target import Target, default_target
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.domain.wish import NOTHING, Wish
from sessions_app.services.storefacts import session_facts, store_facts
from sessions_app.stores.base import Store
from sessions_app.stores.holders import Holder

from .clients import clients_of, held_words, named
from .refusal import refusing

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


@dataclass(eq=False)
class Bench:
    """A session's rows with what is wished for them. ``whole`` None: the store cannot be read, its rows are known from
    before. ``session``: what the mirror has of it."""

    rows: SessionRows
    wish: Wish = field(default_factory=Wish)
    whole: OpenStore | None = None
    session: Session | None = None

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
    def proposal(self) -> Proposal:
        return self._proposed(self.held)

    def _proposed(self, held: bool) -> Proposal:
        return planning.propose(self.decoded, self.target, self.wish, self.facts, held)

    @cached_property
    def misnamed(self) -> str:
        """What was wished for by a name that this session does not have, in words; "" = all is there."""
        wish, found = self.wish, self.proposal.found
        held, keys = tuple(message.id for message in self.decoded.messages), tuple(finding.key for finding in found)
        problems = [unknown("message", name, held) for name in wish.messages if name not in held]
        gone = "it is not found in this session"
        problems += [unknown("finding", key, keys, gone) for key in wish.findings if key not in keys]
        for key, name in wish.choices.items():
            offered = [choice.name for one in found if key in (one.key, one.rule) for choice in one.choices]
            if name != NOTHING and offered and name not in offered:
                problems.append(unknown(f"choice of {key}", name, tuple(dict.fromkeys((*offered, NOTHING)))))
        return " ".join(problems)

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

    @cached_property
    def rows_after(self) -> SessionRows:
        return dialects.apply(self.rows, self.plan.changes)

    @cached_property
    def after(self) -> domain.Session:
        """The session after the plan."""
        return dialects.applied(self.decoded, self.plan.changes) if self.plan.changes else self.decoded

    @property
    def hashes(self) -> tuple[str, str]:
        """Of the rows, before and after the plan."""
        return self.plan.rows_hash, rowdoc.rows_hash(self.rows_after)

    @cached_property
    def preview(self) -> Preview:
        """Stored rows, what the model will see, and verdicts, before and after; all computed."""
        return planning.preview(self.decoded, self.plan, self.target, self.facts)

    @cached_property
    def verdicts_after(self) -> Mapping[ProtocolName, Verdict]:
        """What each protocol would answer after the plan, the own one first; none where the session names no model."""
        seen = self.preview
        if seen.verdict_after is None:
            return {}
        own = seen.verdict_after.target.protocol
        others = (protocol for protocol in PROTOCOLS if protocol != own)
        return {own: seen.verdict_after} | {
            protocol: verdict_on(seen.requests, default_target(seen.after, protocol)) for protocol in others
        }

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
    """A session of the mirror as it is stored now, its store open; the mirror is brought up to it. For looking.

    Raises ``RepairRefused`` where it cannot be read.
    """
    from sessions_app.selectors.rows import session_rows
    from sessions_app.services.reading import session_read
    from sessions_app.services.scanning import session_scan

    with open_source(session=session, now=now) as whole:
        source = session.source
        if source.live or session.pending or session.imported_at is None:
            rows = session_read(session=session, store=whole.store, facts=whole.facts, now=now).rows
        else:
            session_scan(session=session, now=now, facts=whole.facts)
            rows = session_rows(session)
        yield Bench(rows, wish or Wish(), whole, session)


@contextmanager
def stored_bench(*, session: Session, wish: Wish, now: datetime) -> Iterator[tuple[Bench, OpenStore]]:
    """The rows as the session's store holds them now, for writing, and that store; the mirror is left as it is. Raises
    ``RepairRefused``."""
    from sessions_app.services.reading import stored_id

    with open_source(session=session, now=now) as whole:
        yield Bench(whole.store.read(stored_id(session)), wish, whole, session), whole


@contextmanager
def open_source(*, session: Session, now: datetime) -> Iterator[OpenStore]:
    """The store of a session of the mirror. What it says against being read or written is a ``RepairRefused``."""
    source = session.source
    with refusing(), source.open_store() as store:
        yield OpenStore(store, now, source.native, source.damage, agents=source.live)
