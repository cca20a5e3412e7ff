"""No safe repair makes a session less readable: rows as the client left them, goldens, and damage at random."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions_app import stores
from sessions_app.domain import dialects, planning
from sessions_app.domain.model import Session
from sessions_app.domain.rules import Context
from sessions_app.domain.wire.target import infer_target
from sessions_app.stores import StoreError
from tests.each import for_each
from tests.factories.goldens import Golden, goldens
from tests.factories.mutating import mutated
from tests.factories.v1rows import assistant, session, text, user
from tests.paths import CORPUS

MUTANTS = [(path, seed) for path in sorted(CORPUS.glob("*.db")) for seed in (0, 7)]


def readable(session: Session) -> list[str]:
    return [message.id for message in session.messages if message.fault is None or not message.fault.fatal]


def faults(session: Session) -> int:
    parts = [part for message in session.messages for part in message.parts if part.fault is not None]
    return len(session.messages) - len(readable(session)) + len(parts)


def not_less_readable(session: Session) -> None:
    plan = planning.plan(session)
    after = dialects.applied(session, plan.changes)
    assert readable(after) or not readable(session), plan.findings
    assert faults(after) <= faults(session), plan.findings
    # What is refused already may then be refused by the client: a hosted call where the wire has no word for a result.
    before = Context(session, infer_target(session))
    refused = before.verdict is None or not before.verdict.accepted
    assert refused or not Context(after, infer_target(after)).client_stops, plan.findings


@for_each("mutant", MUTANTS, name=lambda mutant: f"{mutant[0].stem}-{mutant[1]}", one_in=30)
def test_of_a_damaged_database(mutant: tuple[Path, int], tmp_path: Path) -> None:
    """With seed 0 nothing is damaged."""
    path = tmp_path / "opencode.db"
    mutated(mutant[0], path, mutant[1], steps=2 * mutant[1])
    try:
        with stores.open_store(path) as store:
            for rows in store.read_all():
                not_less_readable(dialects.decode(rows))
    except StoreError as unreadable:
        assert unreadable.words


@for_each("golden", goldens(), name=repr, one_in=20)
def test_of_a_golden_history(golden: Golden) -> None:
    not_less_readable(dialects.decode(golden.rows()))


ENDED = {
    "time": {"created": 1, "completed": 2},
    "parentID": "m0",
    "agent": "build",
    "mode": "build",
    "path": {"cwd": "/", "root": "/"},
    "cost": 0,
    "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
}
BROKEN = {"role": "rolle"}
ONE_READABLE = {
    "a user message without parts": [user()],
    "a text without text": [user({"type": "text"})],
    "an ended answer without parts": [assistant(**ENDED)],
    "an empty answer behind a broken message": [user(text("x"), **BROKEN), assistant(**ENDED)],
    "several, all of them empty": [user(), assistant(**ENDED), assistant(**ENDED)],
}


@pytest.mark.parametrize("name", ONE_READABLE)
def test_the_last_message_that_can_be_read_is_never_taken(name: str) -> None:
    made = session(*ONE_READABLE[name])
    assert readable(made)

    not_less_readable(made)
    plan = planning.plan(made)
    after = dialects.applied(made, plan.changes)

    assert readable(after)
