"""Verdicts: the strict provider's answer to every recorded turn, and refusals in the client's own words."""

from __future__ import annotations

from sessions_app.domain.dialects import decode
from sessions_app.domain.judging import verdict, verdicts
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.target import make_target
from tests.each import for_each
from tests.factories.recordings import RECORDINGS, corpus_rows, recorded_target
from tests.factories.v1rows import CHAT, assistant, session, text, tool, user
from tests.lowering.v1.test_parity import REFUSED, TURNS


@for_each("name", TURNS, one_in=4)
def test_the_verdict_is_the_strict_providers_answer(name):
    recorded = RECORDINGS[name]
    provider, _, model = recorded["model"].partition("/")
    protocol = recorded_target(recorded).protocol
    target = make_target(provider, model, "on" if recorded["think"] else "off", protocol)
    judged = verdict(decode(corpus_rows(name, recorded["session"])), target)
    assert judged.accepted == recorded["accepted"], judged.violations
    if not judged.accepted:
        assert judged.violations[0].error == recorded["error"]
        assert judged.violations[0].message


@for_each("name", REFUSED)
def test_a_request_the_client_cannot_build_is_a_refusal(name):
    recorded = RECORDINGS[name]
    judged = verdict(decode(corpus_rows(name, recorded["session"])), recorded_target(recorded))
    assert not judged.accepted and judged.violations == ()
    assert judged.refusal in recorded["client_output"]
    assert judged.details["part"].startswith("prt_")


def test_every_protocol_gets_a_verdict_and_repairs_change_it():
    rows = session(user(text("q")), assistant({"type": "step-start"}, tool("c", "error"), tool("c")))
    assert set(verdicts(rows, CHAT)) == set(PROTOCOLS)
    assert [v.rule for v in verdict(rows, CHAT).violations] == ["O18"]
    assert verdict(rows, CHAT, repairs=True).accepted


def test_a_verdict_says_when_the_client_compacts_before_the_turn():
    rows = session(user(text("q")), user({"type": "compaction", "auto": True}))
    assert verdict(rows, CHAT).details == {"opens_with": "compaction"}
