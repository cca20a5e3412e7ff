"""Lines of ``lower - --ndjson`` beside the goldens: what is no line, and sessions of the V1 client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.domain import jsjson
from sessions_app.domain.jsjson import line as one_line
from sessions_app.domain.ndjson import lower_line
from sessions_app.domain.wire.names import PROTOCOLS

MESSAGE = {"id": "msg_1", "type": "user", "seq": 1, "data": '{"text":"hi","time":{"created":0}}'}
TARGET = {"provider": "openai", "model": "gpt-x"}
LINE: dict[str, Any] = {"session": {"id": "ses"}, "session_message": [MESSAGE], "target": TARGET}


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"target": None}, "usage", "target"),
        ({"target": {"provider": "p"}}, "usage", "target.model"),
        ({"target": {**TARGET, "protocol": "morse"}}, "usage", "target.protocol"),
        ({"target": {**TARGET, "thinking": "maybe"}}, "usage", "target.thinking"),
        ({"target": {**TARGET, "metadata_key": 5}}, "usage", "target.metadata_key"),
        ({"generation": 4}, "usage", "generation"),
        ({"generation": True}, "usage", "generation"),
        ({"as_stored": "yes"}, "usage", "as_stored"),
        ({"session_message": [5]}, "document", "session_message"),
        ({"session_message": [{**MESSAGE, "data": "{"}]}, "decode", "Not JSON"),
    ],
)
def test_what_is_no_line_is_an_error_that_says_where(change: dict[str, Any], kind: str, words: str) -> None:
    error = lower_line({**LINE, **change})["error"]
    assert error["kind"] == kind
    assert words in error["message"]


@pytest.mark.parametrize("line", [None, 5, [], "x", {}])
def test_a_line_of_another_kind_is_an_error_too(line: Any) -> None:
    assert lower_line(line)["error"]["kind"] in ("document", "usage")


def test_data_may_be_an_object() -> None:
    objects = {**LINE, "session_message": [{**MESSAGE, "data": json.loads(MESSAGE["data"])}]}
    assert lower_line(objects) == lower_line(LINE)


def test_the_five_bodies_stand_beside_the_canonical_messages() -> None:
    line = lower_line(LINE)
    assert line["canonical"] == [
        {"id": "msg_1", "role": "user", "content": [{"type": "text", "text": "hi"}], "metadata": {}}
    ]
    assert list(line["bodies"]) == list(PROTOCOLS)
    assert line["bodies"]["openai-chat"]["messages"] == [{"role": "user", "content": "hi"}]


def test_an_empty_v2_history_is_an_empty_body() -> None:
    line = lower_line({**LINE, "session_message": []})
    assert line["canonical"] == []
    assert line["bodies"]["anthropic-messages"]["messages"] == []


def test_rows_before_a_compaction_are_not_sent() -> None:
    compaction = {
        "id": "msg_2",
        "type": "compaction",
        "seq": 2,
        "data": {"reason": "auto", "summary": "S", "recent": "R", "time": {"created": 0}},
    }
    line = lower_line({**LINE, "session_message": [MESSAGE, compaction], "generation": 1})
    assert [message["id"] for message in line["canonical"]] == ["msg_2"]


def test_a_v1_history_is_written_as_its_own_client_does() -> None:
    rows = {
        "session": {"id": "ses", "version": "1.18.33"},
        "messages": [
            {
                "id": "msg_1",
                "data": {
                    "role": "user",
                    "time": {"created": 1},
                    "model": {"providerID": "openai", "modelID": "gpt-x"},
                },
                "parts": [{"id": "prt_1", "data": {"type": "text", "text": "hi"}}],
            }
        ],
        "target": {**TARGET, "protocol": "openai-chat"},
    }
    line = lower_line(rows)
    assert line["canonical"][0]["content"][0]["text"] == "hi"
    assert set(line["bodies"]) == set(PROTOCOLS)
    for body in line["bodies"].values():
        assert "hi" in jsjson.encode(body)


def test_a_line_with_lone_surrogates_and_overflowing_numbers_can_be_written() -> None:
    data = '{"text":"\\ud83d","metadata":{"n":1e400},"time":{"created":0}}'
    line = lower_line({**LINE, "session_message": [{**MESSAGE, "data": data}]})
    assert '"text":"\\ud83d"' in jsjson.encode(line)
    assert '"n":null' in jsjson.encode(line)
    jsjson.encode(line).encode()


def _document(*, seq: bool) -> dict[str, object]:
    kinds = [
        ("msg_a", "user", '{"text":"old","time":{"created":1}}'),
        ("msg_b", "compaction", '{"reason":"auto","summary":"s","recent":"","time":{"created":2}}'),
        ("msg_10", "user", '{"text":"new","time":{"created":3}}'),
        ("msg_9", "user", '{"text":"newer","time":{"created":4}}'),
    ]
    rows = [
        {"id": name, "session_id": "ses_1", "type": kind, "data": data} | ({"seq": place} if seq else {})
        for place, (name, kind, data) in enumerate(kinds)
    ]
    return {
        "session": {"id": "ses_1", "version": "1.18.4"},
        "session_message": rows,
        "target": {"provider": "openai", "model": "gpt"},
        "generation": 1,
    }


def test_a_history_with_seq_is_cut_at_its_compaction() -> None:
    answer = lower_line(_document(seq=True))

    assert [message["id"] for message in answer["canonical"]] == ["msg_b", "msg_10", "msg_9"]


def test_rows_without_seq_are_all_sent_in_the_order_they_are_given() -> None:
    answer = lower_line(_document(seq=False))

    assert [message["id"] for message in answer["canonical"]] == ["msg_a", "msg_b", "msg_10", "msg_9"]


def test_no_character_inside_a_line_splits_it() -> None:
    written = one_line({"text": "a\u2028b\u2029c\x85d\ne"})

    assert len(written.splitlines()) == 1
    assert written == '{"text":"a\\u2028b\\u2029c\\u0085d\\ne"}'
