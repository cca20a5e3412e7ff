"""What is decoded again after a change, and planned and previewed with what is known, is what is decoded and looked at
anew."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given

from sessions_app.domain import dialects, planning, previewing
from sessions_app.domain.judging import verdict
from sessions_app.domain.model import V2, Row, Session
from sessions_app.domain.repair import RowChange
from sessions_app.domain.rules import Context, find_all
from sessions_app.domain.wire.target import Target, infer_target
from sessions_app.domain.wish import Wish
from tests.each import for_each
from tests.examples import one_in
from tests.factories.goldens import Golden, goldens

from .test_repair import ANY, LEVELS


def anew(session: Session, changes: tuple[RowChange, ...]) -> Session:
    if not changes:
        return session
    generations = {message.generation for message in session.history(V2)}
    rows = dialects.apply(session.rows, changes)
    generation = generations.pop() if len(generations) == 1 else None
    return dialects.reading(dialects.decode(rows, generation), session.dialect)


def check(session: Session, target: Target | None, wish: Wish) -> None:
    proposal = planning.propose(session, target, wish)
    after, goal = anew(session, proposal.plan.changes), target or infer_target(session)
    assert not proposal.plan.changes or dialects.applied(session, proposal.plan.changes) == after
    assert proposal.looks[-1].context.session == after
    seen = previewing.preview(proposal.looks, target)
    assert seen.findings_after == tuple(find_all(Context(after, goal)))
    assert (seen.verdict_before, seen.verdict_after) == tuple(
        verdict(one, goal) if goal else None for one in (session, after)
    )
    assert seen == previewing.preview(previewing.looks_at(session, proposal.plan, target), target)


def mutants(session: Session) -> Iterator[tuple[RowChange, ...]]:
    """One row gone, not JSON, empty, of another message; two at once."""
    found: list[RowChange] = []
    for table, rows in session.rows.tables().items():
        if table not in ("message", "part", "session_message"):
            continue
        for row in rows[:: max(1, len(rows) // 4)]:
            found += [changed(table, row, {**row, "data": text}) for text in ("{", "{}", "[]")]
            found.append(RowChange(table, {"id": row["id"]}, row, None))
            if table == "part":
                found.append(changed(table, row, {**row, "message_id": session.rows.messages[0]["id"]}))
    yield from ((change,) for change in found)
    yield from ((one, other) for one, other in zip(found, found[5:], strict=False) if one.key != other.key)


def changed(table: str, row: Row, after: Row) -> RowChange:
    return RowChange(table, {"id": row["id"]}, row, after)


@one_in(4)
@given(ANY, LEVELS)
def test_a_plan_made_on_what_is_known_is_what_looking_anew_says(made: tuple[Session, Target], safety: str) -> None:
    check(*made, Wish.of(safety=safety))


@for_each("golden", goldens(), name=repr, one_in=100)
def test_so_it_is_of_golden_histories_and_of_what_a_row_can_become(golden: Golden) -> None:
    session = dialects.decode(golden.rows(), golden.generation)
    for wish in (Wish(safety="lossy"), Wish(rules=("stuck-tool",), safety="lossy")):
        check(session, None, wish)
    for changes in mutants(session):
        once = dialects.applied(session, changes)
        assert once == anew(session, changes)
        check(once, None, Wish(safety="lossy"))
