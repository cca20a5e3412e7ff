"""A wish: its names are checked in one place, and a finding that is named is the one that is repaired."""

from __future__ import annotations

import json

import pytest

from sessions_app.domain.dialects import applied
from sessions_app.domain.planning import plan
from sessions_app.domain.wish import DROP, Wish, WishError
from tests.factories.sessions import KIMI, V1, V2, data_of, findings, finish, start, tool


def test_every_name_that_nothing_knows_is_told_at_once_with_what_was_probably_meant() -> None:
    with pytest.raises(WishError) as refused:
        Wish.of(
            rules=["stuck-tol", "open-turn"],
            findings=["duplicate-call-id-in-mesage:0123456789ab"],
            choices={"tool-ran-twise": "keep-both"},
            safety="losy",
            target="openai-chatt:acme/model-1",
        )

    words = str(refused.value)
    assert "Unknown rule 'stuck-tol'; did you mean stuck-tool" in words
    assert "'duplicate-call-id-in-mesage'; did you mean duplicate-call-id-in-message" in words
    assert "'tool-ran-twise'; did you mean tool-ran-twice" in words
    assert "Unknown safety 'losy'; did you mean lossy?" in words
    assert "openai-chatt" in words
    assert "open-turn'" not in words


def test_a_wish_comes_back_out_of_json_as_it_went_in() -> None:
    wish = Wish.of(
        rules=["stuck-tool"],
        findings=["stuck-tool:0123456789ab"],
        choices={"stuck-tool": "none"},
        messages=["msg_1"],
        safety="lossy",
        target="openai-chat:acme/model-1",
        thinking="on",
        force=True,
    )

    assert Wish.from_json(json.loads(json.dumps(wish.to_json()))) == wish


def test_what_an_older_version_kept_of_a_batch_is_read() -> None:
    kept = {"rules": list(DROP.rules), "safety": "lossy", "choices": dict(DROP.choices), "stop_on_failure": True}

    assert Wish.from_json(kept) == DROP


def test_only_the_findings_that_are_named_are_planned() -> None:
    session = (
        V1(KIMI)
        .user("go")
        .assistant(start(), tool("a"), tool("a"), finish())
        .user("on")
        .assistant(start(), tool("b"), tool("b"), finish())
        .decoded()
    )
    _, second = [one for one in findings(session, KIMI) if one.rule == "duplicate-call-id-in-message"]

    made = plan(session, KIMI, Wish(findings=(second.key,)))

    assert made.findings == (second.key,)
    assert {operation.message_id for operation in made.operations} == {"msg_0004"}


def test_a_finding_that_is_only_offered_is_planned_where_it_is_named() -> None:
    session = V1(KIMI).user("go").assistant(start(), "a\ud800b", finish("stop")).decoded()
    [finding] = [one for one in findings(session, KIMI) if one.rule == "invalid-unicode"]

    assert plan(session, KIMI).findings == ()
    assert plan(session, KIMI, Wish(findings=(finding.key,))).findings == (finding.key,)


@pytest.mark.parametrize("named", [0, 1])
def test_a_v2_item_that_moved_up_is_still_the_one_that_was_named(named: int) -> None:
    """The repeated call goes first; then each other is at the place, and so under the key, of the one before."""
    history = V2(KIMI)
    odd = [history.tool(f"c{number}", name=f"odd {number}") for number in range(2)]
    session = history.user("go").assistant(history.tool("c"), history.tool("c"), *odd).decoded()
    repeated, *broken = [
        one for one in findings(session, KIMI) if one.rule in ("duplicate-call-id-in-message", "tool-name-invalid")
    ]

    made = plan(session, KIMI, Wish(findings=(repeated.key, broken[named].key)))

    after = applied(session, made.changes)
    kept = [data_of(after, f"msg_0002#{place}")["name"] for place in (1, 2)]
    assert set(made.findings) == {repeated.key, broken[named].key}
    assert kept[named] != odd[named]["name"]
    assert kept[1 - named] == odd[1 - named]["name"]
