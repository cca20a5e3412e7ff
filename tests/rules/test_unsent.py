"""Huge outputs that no request holds any more (docs/contract/rules.md#huge-output-unsent)."""

from __future__ import annotations

from sessions_app.domain.rules.size import HUGE_OUTPUT, KEEP
from tests.factories.sessions import V1, codes, data_of, finish, found, repaired, scanned, start, text, tool

RULE = "huge-output-unsent"


def compacted(size: int) -> V1:
    """A call, a compaction behind it, and what came after."""
    history = V1().user("go").assistant(start(), tool("c1", output="o" * size), finish("stop"))
    history.user({"type": "compaction", "auto": True})
    history.assistant(start(), text("summary"), finish("stop"), mode="compaction", agent="compaction", summary=True)
    return history.user("on").assistant(start(), text("done"), finish("stop"))


def test_an_output_before_a_compaction_is_cut_where_it_is_asked_for_and_only_there() -> None:
    before = compacted(HUGE_OUTPUT + 1).decoded()

    finding = found(before, RULE)
    asked = repaired(before, rules=[RULE])

    assert (finding.severity, finding.safety, scanned(before).health) == ("info", "lossy", "healthy")
    assert repaired(before, safety="lossy").rows == before.rows
    state, was = data_of(asked, finding.parts[0])["state"], data_of(before, finding.parts[0])["state"]
    assert len(state["output"]) < 2 * KEEP + 200 and str(HUGE_OUTPUT + 1) in state["output"]
    assert {**state, "output": ""} == {**was, "output": ""}
    assert [row["data"] for row in asked.rows.messages] == [row["data"] for row in before.rows.messages]
    assert RULE not in codes(asked)


def test_an_output_that_is_marked_compacted_is_one_and_one_that_is_sent_is_none() -> None:
    time = {"start": 1, "end": 2}
    marked = tool("c1", output="o" * (HUGE_OUTPUT + 1), time={**time, "compacted": 3})
    history = V1().user("go").assistant(start(), marked, tool("c2", output="o" * (HUGE_OUTPUT + 1)), finish("stop"))
    session = history.user("on").decoded()

    finding = found(session, RULE)

    assert [data_of(session, part)["callID"] for part in finding.parts] == ["c1"]
    assert "huge-output" in codes(session)


def test_smaller_ones_are_none() -> None:
    assert RULE not in codes(compacted(HUGE_OUTPUT).decoded())
