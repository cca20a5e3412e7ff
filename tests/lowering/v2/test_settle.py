"""Open calls of the generations of which no recording exists, as read in source (docs/contract/formats.md#c1);
generation 1 is held against the recordings."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain.lowering.replay_v2 import replay_v2
from sessions_app.domain.model import Session
from sessions_app.domain.ndjson import lower_line
from sessions_app.domain.rowdoc import document
from tests.factories.sessions import CLAUDE, V2


def ended(session: Session, at: int = 0) -> dict[str, Any]:
    message = next(one for one in replay_v2(session, CLAUDE).before if one.kind == "assistant")
    item: dict[str, Any] = message.data["content"][at]
    assert message.parts[at].data == item
    return item


def test_generation_3_names_the_tool_and_keeps_what_a_running_call_held() -> None:
    history = V2(CLAUDE, 3)
    running = history.tool("t", "running", metadata={"sessionID": "ses_child"})
    running["name"] = "subagent"
    item = ended(history.user("go").assistant(running, history.tool("u", "streaming", input='{"a')).decoded())
    assert item["executed"] is False
    assert item["state"] == {
        "status": "error",
        "error": {"type": "aborted", "message": "Tool execution interrupted: subagent (sessionID: ses_child)"},
        "input": running["state"]["input"],
        "metadata": {"sessionID": "ses_child"},
    }


def test_arguments_that_never_arrived_become_an_empty_object() -> None:
    history = V2(CLAUDE, 3)
    item = ended(history.user("go").assistant(history.tool("u", "streaming", input='{"a')).decoded())
    assert item["state"]["input"] == {} and "metadata" not in item["state"]


def test_generation_2_keeps_content_and_structure_as_generation_1_does() -> None:
    history = V2(CLAUDE, 2)
    state = ended(history.user("go").assistant(history.tool("t", "running")).decoded())["state"]
    assert state["error"] == {"type": "unknown", "message": "Tool execution interrupted"}
    assert {"content", "structured"} <= state.keys()


@pytest.mark.parametrize(("more", "results"), [({}, 1), ({"generation": 1}, 0), ({"version": ""}, 0)])
def test_a_line_without_a_client_is_lowered_as_it_is(more: dict[str, Any], results: int) -> None:
    history = V2(CLAUDE, 1)
    rows = document(history.user("go").assistant(history.tool("t", "running")).decoded().rows)
    if "version" in more:
        rows["session"]["version"] = more.pop("version")
    target = {"provider": CLAUDE.provider, "model": CLAUDE.model}
    line = lower_line({**rows, "target": target, "as_stored": True, **more})
    assert [message["role"] for message in line["canonical"]].count("tool") == results
