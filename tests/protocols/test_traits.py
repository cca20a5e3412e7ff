"""No check finds anything where it is spared, and a protocol that is silent has nothing to say: every verdict is made
twice, with what the traits spare and with every check on a written body. The one that is spared things starts from an
outline, the other from all that is stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.bodies import Requests
from sessions_app.domain.judging import judged_requests, verdict_on
from sessions_app.domain.model import Session
from sessions_app.domain.protocols import REGISTRY, judge
from sessions_app.domain.protocols.traits import TRAITS, applicable, needs
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import Target, default_targets, infer_target, make_target
from sessions_app.domain.wire.verdict import Verdict
from tests.factories.histories import MODELS, histories
from tests.properties.histories import v1_sessions, v2_sessions

EVERY = [make_target(*model, thinking) for model in MODELS for thinking in ("off", "on")]  # type: ignore[arg-type]


def whole(requests: Requests, target: Target) -> Verdict | None:
    """The verdict of every check on the body; None where the client or a writer refuses."""
    try:
        request = requests.body(target)
    except LoweringError:
        return None
    judged = judge(request, target)
    details = {} if request.verified else {"writer": "not verified"}
    return replace(judged, details=details)


def compared(session: Session, targets: list[Target]) -> Counter[str]:
    """What happened, counted. Fails where the two verdicts differ."""
    told: Counter[str] = Counter()
    requests, outlined = judged_requests(session), judged_requests(session)
    for target in targets:
        full, spared = whole(requests, target), verdict_on(outlined, target)
        if full is None:
            assert spared.refusal, f"{target}: a writer refuses what is taken"
            told["refused"] += 1
            continue
        details = {name: value for name, value in spared.details.items() if name != "opens_with"}
        where = f"{target}: {requests.traits(target)}"
        assert replace(spared, details=details) == full, f"{where}\n{full}\n{spared}"
        traits = outlined.traits(target)
        assert traits == requests.traits(target), where
        if traits is None:
            told["not told"] += 1
            continue
        every = REGISTRY[target.protocol]._module("rules").checks(target)
        ran = len(applicable(every, traits))
        unwritten = requests.silent(target) or requests.unwritten(target) is not None
        told["silent" if requests.silent(target) else "told" if unwritten else "written"] += 1
        told["outlined"] += not unwritten and REGISTRY[target.protocol].by_outline(target, traits)
        told["checks spared"] += len(every) - ran
        told["checks run"] += ran
        told.update({f"{target.protocol} {one.rule}": 1 for one in (*full.violations, *full.warnings)})
        if requests.all_sent(target):
            sent = {origin.message for origins in outlined.outlined(target).origins for origin in origins}
            held = {origin.message for origin in requests.body(target).provenance.values()}
            assert sent == held, f"{where}: {sent ^ held}"
            told["all sent"] += 1
    return told


def of_session(session: Session, more: int) -> list[Target]:
    """Its own target, the five of its model, and some others."""
    own = infer_target(session)
    if own is None:
        return EVERY[more::10]
    return [own, *default_targets(session).values(), replace(own, thinking="on"), *EVERY[more::25]]


def test_what_is_spared_finds_nothing(pytestconfig: pytest.Config) -> None:
    everything = pytestconfig.getoption("everything")
    total: Counter[str] = Counter()
    failed = []
    listed = histories() if everything else histories(one_in=40)
    for number, history in enumerate(listed):
        session = history.session()
        try:
            total += compared(session, of_session(session, number % 25))
        except AssertionError as error:
            failed.append(f"{history}: {error}")
    rules = {name for name in total if " " in name and name.split()[0] in REGISTRY}
    print(
        f"{len(listed)} histories: {total['silent']} silent verdicts, {total['told']} told without a body,"
        f" {total['written']} with one ({total['outlined']} of an outline), {total['refused']} refused;"
        f" checks: {total['checks run']} run, {total['checks spared']} spared; {len(rules)} wire rules broken;"
        f" all sent {total['all sent']}"
    )
    assert not failed, f"{len(failed)} failed:\n" + "\n".join(failed[:20])
    assert total["checks spared"] > total["checks run"]
    assert not everything or (len(rules) > 60 and total["outlined"] > 100)


@given(st.one_of(v1_sessions(), v2_sessions()), st.integers(0, len(EVERY) - 1))
def test_what_is_spared_finds_nothing_in_random_histories(made: tuple[Session, Target], more: int) -> None:
    session, target = made
    compared(session, [target, *default_targets(session).values(), EVERY[more]])


def test_a_trait_that_nothing_tells_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing tells moonshine"):
        needs("calls", "moonshine")


def test_every_trait_is_needed_by_something() -> None:
    wanted = {
        trait
        for protocol in REGISTRY.values()
        for check in protocol._module("rules").CHECKS
        for trait in TRAITS
        if applicable((check,), frozenset({trait}))
    }
    bodies = {trait for protocol in REGISTRY.values() for trait in protocol._module("rules").BODY}
    assert wanted | bodies | {"calls", "rewritten"} == TRAITS
