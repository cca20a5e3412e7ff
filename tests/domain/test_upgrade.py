"""What 2.x drops or alters of a session that it takes over: each kind beside the nearest session that loses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.domain import dialects
from sessions_app.domain.upgrade import Loss, losses
from tests.factories.sessions import V1, V2, finish, reasoning, text, tool

PROJECTS = {"projects": [{"id": "p", "worktree": "/d"}]}
PNG = "data:image/png;base64,AAAA"


def told(made: V1, **more: Any) -> dict[str, Loss]:
    return {loss.kind: loss for loss in losses(made.decoded(**PROJECTS, **more))}


def file(url: str) -> dict[str, Any]:
    return {"type": "file", "mime": "image/png", "url": url}


def compacted(**summary: Any) -> V1:
    trigger = {"type": "compaction", "auto": True}
    return V1().user("go").assistant("done").user(trigger).assistant("all of it", summary=True, **summary).user("on")


KEPT = {
    "a plain turn": V1().user("go").assistant(tool("call_1"), "done"),
    "a call that failed": V1().user("go").assistant(tool("call_1", "error")),
    "a file that is there": V1().user("look", file(PNG)).assistant("done"),
    "a compaction with its summary": compacted(),
    "thinking that nobody signed": V1().user("go").assistant(reasoning("hm"), "done"),
}


@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_lost_of_a_session_that_2x_reads_whole(name: str) -> None:
    assert told(KEPT[name]) == {}


@pytest.mark.parametrize(
    ("kind", "made", "ids"),
    [
        ("unreadable", V1().user("go").assistant({"type": "tool", "tool": "bash"}, "done"), ("prt_0002_01",)),
        (
            "subtask",
            V1().user({"type": "subtask", "prompt": "p", "description": "d", "agent": "a"}).assistant("x"),
            None,
        ),
        ("compaction", compacted(error={"name": "UnknownError", "data": {"message": "no"}}), ("msg_0003", "msg_0004")),
        ("open-call", V1().user("go").assistant(tool("call_1", "running")), ("prt_0002_01",)),
        ("address", V1().user("look", file("file:///d/a.png")).assistant("done"), ("prt_0001_02",)),
        (
            "address",
            V1().user("go").assistant(tool("call_1", attachments=[file("https://example.org/a.png")])),
            ("prt_0002_01",),
        ),
        ("provider-state", V1().user("go").assistant(reasoning("hm", "c2ln"), "done"), ("prt_0002_01",)),
    ],
)
def test_what_is_lost_is_named(kind: str, made: V1, ids: tuple[str, ...] | None) -> None:
    found = told(made)
    assert set(found) == {kind}
    assert found[kind].ids == (ids or ("msg_0001", "msg_0002"))
    assert "{" not in found[kind].summary


def test_a_revert_and_a_project_that_is_not_stored_are_told_of_the_session() -> None:
    made = V1(revert='{"messageID":"msg_0002"}').user("go").assistant("done")
    assert set(told(made)) == {"revert"}
    homeless = V1(project_id="gone").user("go").assistant("done")
    assert {loss.kind: loss.effect for loss in losses(homeless.decoded(**PROJECTS))} == {"project": "altered"}


def test_a_part_without_its_message_is_dropped() -> None:
    rows = V1().user("go").assistant(text("a"), finish("stop")).decoded(**PROJECTS).rows
    rows.parts[-1] |= {"message_id": "msg_gone"}
    (loss,) = losses(dialects.decode(rows))
    assert (loss.kind, loss.effect, loss.ids) == ("orphan", "dropped", (rows.parts[-1]["id"],))
    assert loss.summary == "1 part without a message"


def test_of_what_is_dropped_nothing_else_is_told() -> None:
    made = V1().user({"type": "subtask", "prompt": "p", "description": "d", "agent": "a"})
    assert set(told(made.assistant(tool("call_1", "running")))) == {"subtask"}


def test_a_session_of_2x_loses_nothing() -> None:
    assert losses(V2().user("go").assistant({"type": "text", "text": "done"}).decoded()) == ()
