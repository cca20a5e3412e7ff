"""Scanning the sessions of a bare file, each on its own: what a process of the pool does (sessions_app/pool/)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from sessions_app.domain import dialects
from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.rowcodec import to_text
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import as_document, scan
from sessions_app.domain.wire.target import Thinking, parse_target
from sessions_app.services.storefacts import facts_here, session_facts
from sessions_app.stores.base import Store, StoreError


class Asked(NamedTuple):
    """What is the same for all sessions. ``facts`` are of the store, as ``facts_apart`` gives them."""

    facts: Facts
    target: str
    """As ``parse_target`` reads it, "" = each session's own."""
    thinking: Thinking
    history: Literal["", "opencode-v1", "opencode-v2"]
    named: bool
    """The sessions were named by somebody, so one that is not there is an error."""
    healthy: bool
    """The documents of healthy sessions are wanted too."""


class Scanned(NamedTuple):
    """One session: its health, and its scan document as JSON text ("" where it is not wanted, or unreadable)."""

    health: str
    document: str = ""
    why: str = ""
    """Why it is unreadable."""
    ours: bool = False
    """It is our failure, which is said beside the result."""


def load() -> None:
    """Load what every scan needs and no import does."""
    for protocol in REGISTRY.values():
        protocol.load()


def scanner(store: Store, asked: Asked) -> Callable[[Any], Scanned]:
    """The function that scans a session of this store. Raises ``StoreError`` ("no-session") where a session that was
    named is not there."""
    facts = facts_here(asked.facts, store)

    def scanned(session_id: Any) -> Scanned:
        try:
            rows = store.read(session_id)
        except StoreError as problem:
            if problem.kind == "no-session" and asked.named:
                raise
            return Scanned("unreadable", why=problem.words)
        try:
            decoded = dialects.reading(dialects.decode(rows), asked.history)
            target = parse_target(asked.target, asked.thinking, decoded) if asked.target else None
            result = scan(decoded, target=target, thinking=asked.thinking, facts=session_facts(facts, rows))
            wanted = asked.healthy or result.health != "healthy"
            return Scanned(result.health, to_text(as_document(decoded, result)) if wanted else "")
        except Exception as problem:  # one odd session must not cost the others
            return failed(f"{type(problem).__name__}: {problem}")

    return scanned


def failed(how: str) -> Scanned:
    """A session on which this program failed."""
    return Scanned("unreadable", why=f"Suture failed on this session ({how}).", ours=True)
