"""Whole patches that rows keep (docs/contract/rules.md#huge-summary-diffs)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.domain.rules.diffs import HUGE_DIFFS
from tests.factories.sessions import V1, codes, finish, found, repaired, scanned, start, text


def changed(name: str, size: int, **more: Any) -> dict[str, Any]:
    return {"file": name, "patch": "+" * size, "additions": 3, "deletions": 1, "status": "modified", **more}


def session(*diffs: dict[str, Any], **row: Any):
    history = V1(**row).user("format all", summary={"title": "t", "diffs": list(diffs)})
    return history.assistant(start(), text("done"), finish("stop")).decoded()


def diffs_of(after: Any) -> list[dict[str, Any]]:
    return after.messages[0].data["summary"]["diffs"]


def test_texts_of_patches_go_and_files_and_counts_stay() -> None:
    before = session(changed("a.js", HUGE_DIFFS), changed("b.js", 5, before="x", after="y", odd=[1.0]))

    finding = found(before, "huge-summary-diffs")
    after = repaired(before, safety="safe")

    assert (finding.severity, finding.safety) == ("at-risk", "safe")
    assert scanned(before).health == "at-risk" and scanned(after).health == "healthy"
    assert diffs_of(after) == [changed("a.js", 0), changed("b.js", 0, before="", after="", odd=[1.0])]
    assert after.messages[0].data["summary"]["title"] == "t"
    assert [part.data for part in after.messages[0].parts] == [part.data for part in before.messages[0].parts]


def test_the_sessions_own_row_holds_them_too() -> None:
    before = session(summary_diffs=json.dumps([changed("a.js", HUGE_DIFFS + 1)]), summary_files=1)

    after = repaired(before, safety="safe").rows.session

    assert json.loads(after["summary_diffs"]) == [changed("a.js", 0)]
    assert after["summary_files"] == 1


def test_what_a_turn_usually_changes_is_no_fault() -> None:
    assert not codes(session(*(changed(f"{number}.py", 10_000) for number in range(10))))


def test_many_ordinary_ones_are_together_too_much() -> None:
    history = V1()
    for _ in range(50):
        history.user("go on", summary={"diffs": [changed("a.py", HUGE_DIFFS - 1)]})
        history.assistant(start(), text("done"), finish("stop"))

    finding = found(history.decoded(), "huge-summary-diffs")

    assert len(finding.messages) == 50 and finding.details["rows"] == 50


@pytest.mark.parametrize(
    "summary", [True, {"diffs": "x" * HUGE_DIFFS * 2}, {"diffs": [None, "x" * HUGE_DIFFS * 2, {"patch": 5}]}, {}]
)
def test_summaries_of_other_shapes_are_left_alone(summary: Any) -> None:
    assert "huge-summary-diffs" not in codes(V1().user("a", summary=summary).decoded())
    assert "huge-summary-diffs" not in codes(session(summary_diffs="not json" * HUGE_DIFFS))
