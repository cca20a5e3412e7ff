"""Which V2 rows are sent again: generation 1 as recorded from the client, generation 3 by the text
(docs/contract/formats.md#b4)."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import Any

import pytest

from sessions_app.domain.dialects import decode
from sessions_app.domain.lowering import lower
from sessions_app.domain.lowering.replay_v2 import select_v2
from sessions_app.domain.model import Session, SessionRows
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import Target
from tests.each import for_each
from tests.paths import GOLDENS

HISTORIES: list[dict[str, Any]] = json.loads((GOLDENS / "history-gen1.json").read_text())
TARGET = Target("openai-responses", "openai", "gpt-x")
MADE_BY_TARGET = {"providerID": "openai", "modelID": "gpt-x", "protocol": "openai-responses", "version": 9}

FIRST: dict[str, dict[str, Any]] = {
    "user": {"text": "u"},
    "system": {"text": "s"},
    "assistant": {
        "agent": "build",
        "model": {"id": "gpt-x", "providerID": "openai"},
        "content": [{"type": "text", "id": "t", "text": "a"}],
    },
    "compaction": {"reason": "auto", "summary": "S", "recent": "R"},
}


def session(rows: list[dict[str, Any]], *, baseline: int | None = None, version: str = "1.18.4") -> Session:
    stored = [
        {
            "id": row["id"],
            "type": row["type"],
            "seq": row["seq"],
            "data": json.dumps({"time": {"created": 0}, **row["data"]}),
        }
        for row in rows
    ]
    epoch = None if baseline is None else {"session_id": "ses", "snapshot": "{}", "baseline_seq": baseline}
    return decode(SessionRows({"id": "ses", "version": version}, session_message=stored, epoch=epoch))


def first(history: dict[str, Any], baseline: int | None) -> Session:
    name = history["name"].split("@")[0]
    rows = [{"id": f"msg_{name}_{row['seq']}", "data": FIRST[row["type"]], **row} for row in history["rows"]]
    return session(rows, baseline=baseline)


@for_each("history", HISTORIES, name=itemgetter("name"))
def test_generation_1_rows_are_selected_as_the_client_did(history: dict[str, Any]) -> None:
    """Given a baseline; a send looks for its own first (``sending_baseline``)."""
    with_epoch = select_v2(first(history, history["baseline_seq"]), TARGET, generation=1)
    assert [message.seq for message in with_epoch] == history["runner_seqs"]
    assert [message.id for message in with_epoch] == history["load_ids"]
    without = select_v2(first(history, None), TARGET, generation=1)
    assert [message.id for message in without] == history["load_ids_without_epoch"]


ROWS = [
    {"id": f"msg_{seq}", "type": kind, "seq": seq, "data": FIRST[kind]}
    for seq, kind in enumerate(["user", "system", "user", "compaction", "system", "user"], start=1)
]


@pytest.mark.parametrize(
    ("baseline", "selected"),
    [(0, [4, 5, 6]), (2, [4, 5, 6]), (4, [4, 5, 6]), (5, [4, 6]), (9, [4, 6]), (None, [4, 6])],
)
def test_a_send_makes_its_baseline_anew_at_a_newer_compaction_and_where_there_is_none(
    baseline: int | None, selected: list[int]
) -> None:
    assert [message.seq for message in select_v2(session(ROWS, baseline=baseline), TARGET)] == selected


def test_a_bad_row_before_the_compaction_stops_what_shows_the_session_and_no_request() -> None:
    broken = session(ROWS, baseline=0)
    broken.rows.session_message[0]["data"] = "{"
    result = scan(decode(broken.rows), TARGET)
    (finding,) = [one for one in result.findings if one.rule == "corrupt-json"]
    assert result.health == finding.severity == "at-risk"
    assert "the client cannot show the session, but goes on" in finding.summary
    broken.rows.session_message[4]["data"] = "{"
    assert scan(decode(broken.rows), TARGET).health == "blocked"


def third(*kinds: tuple[str, dict[str, Any]]) -> Session:
    rows = [{"id": f"msg_{seq}", "type": kind, "seq": seq, "data": data} for seq, (kind, data) in enumerate(kinds)]
    return session(rows, version="2.0.15")


def compaction(status: str, **more: Any) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = (
        {"error": {"type": "x", "message": "y"}} if status == "failed" else {"summary": "S", "recent": "R"}
    )
    return "compaction", {"status": status, "reason": "auto", **body, **more}


def native(provenance: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    window = [{"role": "user", "content": [{"type": "text", "text": "native window"}]}]
    return compaction("completed", providerContext={"version": 1, "provenance": provenance, "messages": window})


USER = ("user", {"text": "u"})
SYSTEM = ("system", {"text": "s"})


@pytest.mark.parametrize(
    ("kinds", "selected"),
    [
        ([USER, SYSTEM, compaction("completed"), SYSTEM, USER], [2, 3, 4]),
        ([USER, compaction("running"), USER], [0, 1, 2]),
        ([USER, compaction("failed"), USER], [0, 1, 2]),
        ([compaction("completed"), USER, compaction("completed"), USER, compaction("failed")], [2, 3, 4]),
        ([USER, native(MADE_BY_TARGET), USER], [1, 2]),
        ([USER, native({**MADE_BY_TARGET, "providerID": "azure"}), USER], [0, 2]),
        ([USER, native({**MADE_BY_TARGET, "modelID": "gpt-y"}), USER], [0, 2]),
        ([compaction("completed"), USER, native({**MADE_BY_TARGET, "protocol": "gemini"}), USER], [0, 1, 3]),
    ],
)
def test_generation_3_cuts_at_the_latest_compaction_that_the_target_can_replay(
    kinds: list[tuple[str, dict[str, Any]]], selected: list[int]
) -> None:
    assert [message.seq for message in select_v2(third(*kinds), TARGET)] == selected


def test_generation_3_has_no_baseline_filter() -> None:
    rows = [{"id": f"msg_{seq}", "type": "system", "seq": seq, "data": {"text": "s"}} for seq in range(3)]
    assert len(select_v2(session(rows, baseline=2, version="2.0.15"), TARGET)) == 3


def test_generation_2_selects_rows_like_generation_3() -> None:
    kinds = [USER, compaction("running"), USER]
    assert [m.seq for m in select_v2(third(*kinds), TARGET, generation=2)] == [0, 1, 2]


def test_a_native_window_is_sent_in_place_of_its_compaction() -> None:
    lowered = lower(third(USER, native(MADE_BY_TARGET), USER), TARGET)
    assert [message["content"][0]["text"] for message in lowered.messages] == ["native window", "u"]
    assert lowered.origins[0][0].message == "msg_1"


def test_rows_come_by_seq_whatever_their_times_and_ids_say() -> None:
    rows = [
        {"id": "msg_z", "type": "user", "seq": 1, "data": {"text": "first", "time": {"created": 9}}},
        {"id": "msg_a", "type": "user", "seq": 2, "data": {"text": "second", "time": {"created": 1}}},
    ]
    assert [message.id for message in select_v2(session(rows[::-1]), TARGET)] == ["msg_z", "msg_a"]
