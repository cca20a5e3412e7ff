"""No rule finds anything where it does not look: every rule is asked of every history, whatever it says it needs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.dialects import dialect_of
from sessions_app.domain.model import Session
from sessions_app.domain.rules import REGISTRY, Context
from sessions_app.domain.rules.registration import rule
from sessions_app.domain.wire.target import Target
from tests.factories.histories import histories
from tests.properties.histories import v1_sessions, v2_sessions


def asked(session: Session, target: Target | None = None) -> Counter[str]:
    """How often a rule found something ("found"), and how often it would not have looked ("spared"). Fails where both
    are true."""
    told: Counter[str] = Counter()
    context = Context(session, target)
    valid = dialect_of(session).rules
    for code, one in REGISTRY.items():
        if valid is not None and code not in valid:
            continue
        context.rule = code
        findings = list(one.find(context))
        looks = context.may_hold(one.needs)
        assert looks or not findings, f"{code} needs {sorted(one.needs)} of {sorted(context.stored)}: {findings[0]}"
        told[f"{code} found"] += bool(findings)
        told["spared" if not looks else "asked"] += 1
    return told


def test_what_is_spared_finds_nothing(pytestconfig: pytest.Config) -> None:
    everything = pytestconfig.getoption("everything")
    total: Counter[str] = Counter()
    failed = []
    listed = histories() if everything else histories(one_in=40)
    for history in listed:
        try:
            total += asked(history.session())
        except AssertionError as error:
            failed.append(f"{history}: {error}")
    found = {name for name, count in total.items() if name.endswith(" found") and count}
    print(
        f"{len(listed)} histories: {total['asked']} times a rule looked, {total['spared']} times it was spared;"
        f" {len(found)} of {len(REGISTRY)} rules found something"
    )
    assert not failed, "\n".join(failed)
    assert total["spared"] > total["asked"] / 2
    assert not everything or len(found) > 45


@given(st.one_of(v1_sessions(), v2_sessions()))
def test_what_is_spared_finds_nothing_in_random_histories(made: tuple[Session, Target]) -> None:
    asked(*made)


def test_a_word_that_nothing_tells_is_refused() -> None:
    with pytest.raises(ValueError, match="needs moonshine"):
        rule("another", severity="info", safety="manual", needs="tool moonshine")(REGISTRY["stuck-tool"].find)
