"""What ``lower - --ndjson`` promises beyond the goldens."""

from __future__ import annotations

from sessions_app.domain.jsjson import line
from sessions_app.domain.ndjson import lower_line


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
    written = line({"text": "a\u2028b\u2029c\x85d\ne"})

    assert len(written.splitlines()) == 1
    assert written == '{"text":"a\\u2028b\\u2029c\\u0085d\\ne"}'
