"""What holds for every repair of every history, however damaged (docs/contract/design.md#5)."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import dialects, planning
from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import ReasoningPart, Session
from sessions_app.domain.repair import Plan, inverted
from sessions_app.domain.rules import REGISTRY, Context
from sessions_app.domain.rules.unicode import clean
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wish import Wish
from tests.properties.histories import again, healthy_sessions, v1_sessions, v2_sessions

ANY = st.one_of(v1_sessions(), v2_sessions())
LEVELS = st.sampled_from(["safe", "lossy"])


def repaired(session: Session, target: Target, safety: str) -> tuple[Plan, Session]:
    plan = planning.plan(session, target, Wish.of(safety=safety))
    return plan, dialects.applied(session, plan.changes)


@given(ANY, LEVELS)
def test_a_second_plan_is_empty(made: tuple[Session, Target], safety: str) -> None:
    session, target = made
    _, after = repaired(session, target, safety)
    plan, _ = repaired(after, target, safety)
    assert not plan.operations, plan.findings


@given(ANY, LEVELS)
def test_undo_restores_every_byte_of_every_row(made: tuple[Session, Target], safety: str) -> None:
    session, target = made
    plan, after = repaired(session, target, safety)
    assert dialects.apply(after.rows, inverted(plan.changes)) == session.rows
    assert all(change.before != change.after for change in plan.changes)


@given(healthy_sessions(), LEVELS)
def test_a_healthy_session_yields_no_operation_and_no_finding(made: tuple[Session, Target], safety: str) -> None:
    session, target = made
    result = scan(session, target)
    assert result.health == "healthy" and result.findings == ()
    assert not repaired(session, target, safety)[0].operations


@given(ANY)
def test_no_safe_repair_makes_a_session_less_readable(made: tuple[Session, Target]) -> None:
    session, target = made
    _, after = repaired(session, target, "safe")
    assert readable(after) or not readable(session)
    assert faults(after) <= faults(session)
    assert not client_stops(after, target) or client_stops(session, target)


def readable(session: Session) -> list[str]:
    """The messages that the client can still read."""
    return [message.id for message in session.messages if message.fault is None or not message.fault.fatal]


def faults(session: Session) -> int:
    """Rows that nobody can read."""
    return (
        len(session.messages)
        - len(readable(session))
        + sum(part.fault is not None for message in session.messages for part in message.parts)
    )


def client_stops(session: Session, target: Target) -> str:
    return Context(session, target).client_stops


@given(ANY)
def test_after_all_safe_repairs_no_safe_rule_is_left(made: tuple[Session, Target]) -> None:
    session, target = made
    plan, after = repaired(session, target, "safe")
    left = [finding for finding in scan(after, target).findings if finding.safety == "safe" and not finding.open_choice]
    assert not left, (left, plan.skipped)


@given(ANY)
def test_after_all_repairs_what_still_refuses_it_is_left_to_the_user(made: tuple[Session, Target]) -> None:
    session, target = made
    _, after = repaired(session, target, "lossy")
    result = scan(after, target)
    left = [finding for finding in result.findings if finding.severity == "blocked" and finding.safety != "manual"]
    assert not left, left
    assert result.health != "blocked" or any(finding.safety == "manual" for finding in result.findings)


@given(ANY)
def test_safe_repairs_lose_no_completed_output_and_no_text(made: tuple[Session, Target]) -> None:
    session, target = made
    _, after = repaired(session, target, "safe")
    assert {clean(output) for output in outputs(session)} <= {clean(output) for output in outputs(after)}
    assert {clean(said) for said in texts(session, "user")} <= {clean(said) for said in texts(after, "user")}


@given(ANY, LEVELS)
def test_signed_thinking_stays_byte_for_byte_or_goes(made: tuple[Session, Target], safety: str) -> None:
    session, target = made
    before = Counter(signed(session))
    _, after = repaired(session, target, safety)
    assert not Counter(signed(after)) - before


@given(ANY, LEVELS)
def test_nothing_becomes_completed_and_no_output_is_made_up(made: tuple[Session, Target], safety: str) -> None:
    session, target = made
    _, after = repaired(session, target, safety)
    late = ["late"] * safety.startswith("lossy")  # a result that was stored apart may go back to its call
    assert set(outputs(after)) <= {*outputs(session), *late}


@given(ANY, LEVELS)
def test_repaired_rows_fit_the_schema_no_worse_than_before(made: tuple[Session, Target], safety: str) -> None:
    session, target = made
    _, after = repaired(session, target, safety)
    assert len(after.faults) <= len(session.faults)
    assert again(after).faults == after.faults
    if after.history("opencode-v2"):
        assert [row["id"] for row in after.rows.session_message] == [row["id"] for row in session.rows.session_message]


@given(ANY, st.sampled_from(sorted(REGISTRY)))
def test_a_plan_for_one_rule_carries_out_that_rule_alone(made: tuple[Session, Target], code: str) -> None:
    session, target = made
    plan = planning.plan(session, target, Wish(rules=(code,), safety="lossy"))
    assert {key.partition(":")[0] for key in plan.findings} <= {code}
    assert not planning.plan(
        dialects.applied(session, plan.changes), target, Wish(rules=(code,), safety="lossy")
    ).operations


def outputs(session: Session) -> list[str]:
    found = []
    for message in session.messages:
        for tool in message.tools():
            if tool.status == "completed":
                output = tool.state.get("output", tool.state.get("content"))
                if output is not None:
                    found.append(output if isinstance(output, str) else dumps(output))
    return found


def texts(session: Session, kind: str) -> list[str]:
    found = []
    for message in session.messages:
        if message.kind == kind:
            held = [message.data.get("text"), *(part.data.get("text") for part in message.parts)]
            found += [text for text in held if isinstance(text, str) and text.strip()]
    return found


def signed(session: Session) -> list[str]:
    return [
        part.raw
        for message in session.messages
        for part in message.parts
        if isinstance(part, ReasoningPart) and part.signed
    ]
