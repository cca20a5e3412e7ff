"""The corpus' strict provider judged what the real client sent; the rules must say the same of every recording, word
for word."""

from __future__ import annotations

from typing import Any

from sessions_app.domain.locate import locate
from sessions_app.domain.protocols import judge
from sessions_app.domain.wire.lowered import Body
from sessions_app.domain.wire.verdict import Verdict
from tests.each import for_each
from tests.factories.recordings import RECORDINGS, named_target

SENT = {name: recording for name, recording in RECORDINGS.items() if recording["requests"]}

ANOTHER_REQUEST = {"compact_killed", "v1_sumreq_tools_chat", "v1_sumreq_user_chat"}
"""Recordings whose ``soft`` speaks of the turn, while ``messages`` is the summary request before it
(docs/contract/wire.md#6.7)."""

NEVER_IN_SOFT = {"A7", "A28", "A31", "O9", "O10"}
"""What the strict provider did not look at; real ones do."""


def judged(recording: dict[str, Any]) -> Verdict:
    target = named_target(recording)
    system = [{"role": "system", "content": "system"}] if recording["path"] == "openai-chat" else []
    return judge(Body(recording["path"], {"messages": system + recording["messages"]}), target)


def test_most_of_the_corpus_has_a_recorded_request() -> None:
    assert len(SENT) > 250
    assert sum(not recording["accepted"] for recording in SENT.values()) > 20


@for_each("name", SENT)
def test_a_recorded_request_gets_the_recorded_answer(name: str) -> None:
    recording = SENT[name]
    verdict = judged(recording)
    assert verdict.accepted is recording["accepted"]
    assert (verdict.violations[0].error if verdict.violations else None) == recording["error"]


@for_each("name", sorted(set(SENT) - ANOTHER_REQUEST))
def test_what_the_strict_provider_calls_soft_is_a_warning_at_the_same_place(name: str) -> None:
    recording = SENT[name]
    wanted = sorted(soft.split(":")[0] for soft in recording["soft"])
    found = [one for one in judged(recording).warnings if one.rule not in NEVER_IN_SOFT]
    if not recording["accepted"]:
        assert set(filter(_placed, wanted)) <= {_place(one.position) for one in found}
        return
    assert len(found) == len(wanted)
    assert {_place(one.position) for one in found} >= set(filter(_placed, wanted))


def _placed(soft: str) -> bool:
    return soft.startswith(("message[", "messages."))


def _place(position: str) -> str:
    """``soft`` writes Moonshot's positions as it writes the others'."""
    number = position.removeprefix("message at position ")
    return f"message[{number}]" if number != position else position


@for_each("name", [name for name, recording in SENT.items() if recording["error"]])
def test_the_recorded_error_is_read_as_the_rule_that_raises_it(name: str) -> None:
    reading = locate(SENT[name]["error"])[0]
    assert judged(SENT[name]).violations[0].rule in reading.rules
