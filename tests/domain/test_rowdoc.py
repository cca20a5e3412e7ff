"""Row documents: nothing stored is lost on the way out and back, and bad ones are named by path."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.model import SessionRows
from sessions_app.domain.rowdoc import RowDocumentError, dump, parse, rows_hash

LEAST = {
    "session": {"id": "ses_1"},
    "messages": [{"id": "msg_1", "data": "{}", "parts": [{"id": "prt_1", "data": "{}"}]}],
}

texts = st.text(max_size=12) | st.binary(max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
cells = st.none() | st.integers() | st.floats(allow_nan=False) | texts | st.binary(max_size=8)


@given(st.dictionaries(st.text(max_size=5), cells, max_size=4), st.lists(cells, max_size=4))
def test_every_column_value_survives_dump_and_parse(columns, values):
    rows = SessionRows(
        session={**columns, "id": "ses_1"},
        messages=[
            {"id": f"msg_{n}", "session_id": "ses_1", "time_created": n, "data": v} for n, v in enumerate(values)
        ],
        parts=[{"id": "prt_1", "message_id": "msg_0", "session_id": "ses_1", "data": columns.get("x")}],
        session_message=[{"id": "msg_9", "seq": 0, "data": values[0] if values else None}],
        epoch={"session_id": "ses_1", "baseline": values[0] if values else ""},
        projects=[{"id": "global"}],
        siblings=[{"id": "ses_0"}],
        inputs=[{"id": "msg_8", "prompt": values[0] if values else None, "admitted_seq": 3}],
        sequence={"aggregate_id": "ses_1", "seq": 4},
    )
    text = dump(rows)
    text.encode()
    assert parse(text) == rows


def test_data_given_as_an_object_becomes_compact_text_once():
    rows = parse('{"messages":[{"id":"m","data":{ "role" : "user", "n":1e400, "s":"\\ud800é" }}]}')
    assert rows.messages[0]["data"] == '{"role":"user","n":1' + "0" * 309 + ',"s":"\\ud800é"}'
    assert parse(dump(rows)) == rows


def test_data_given_as_text_is_kept_byte_for_byte():
    raw = '{"role" :"user", "a":1.0, "a":2e5 }'
    assert parse({"messages": [{"id": "m", "data": raw}]}).messages[0]["data"] == raw


def test_a_single_project_row_is_accepted_and_absent_tables_are_empty():
    rows = parse({"session": {"id": "ses_1"}, "project": {"id": "p"}})
    assert rows.projects == [{"id": "p"}]
    assert rows.messages == rows.parts == rows.session_message == []


def test_other_json_columns_may_be_objects():
    assert parse({"session": {"id": "s", "revert": {"messageID": "m"}}}).session["revert"] == '{"messageID":"m"}'


def test_nested_parts_learn_their_message_and_session_from_where_they_stand():
    rows = parse({"messages": [{"id": "m", "session_id": "s", "parts": [{"id": "p", "data": "{}"}]}]})
    assert rows.parts == [{"id": "p", "data": "{}", "message_id": "m", "session_id": "s"}]
    assert rows.id == "s"


def test_rows_come_in_the_order_of_the_store():
    rows = parse(
        {
            "messages": [
                {"id": "b", "time_created": 2},
                {"id": "c", "time_created": 1},
                {"id": "a", "time_created": 2},
            ]
        }
    )
    assert [row["id"] for row in rows.messages] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[1]", ""),
        ("{", ""),
        ('{"a":NaN}', ""),
        ("[" * 200_000, ""),
        ('{"messages":{}}', "messages"),
        ('{"messages":[1]}', "messages[0]"),
        ('{"messages":[{"id":"m"},{"data":{}}]}', "messages[1].id"),
        ('{"messages":[{"id":"m"},{"id":"m"}]}', "messages[1].id"),
        ('{"messages":[{"id":"m","parts":[{"id":4}]}]}', "messages[0].parts[0].id"),
        ('{"session":{"id":"s","title":{"$base64":"!"}}}', "session.title"),
        ('{"session":[]}', "session"),
    ],
)
def test_a_malformed_document_is_refused_with_its_path(text, path):
    with pytest.raises(RowDocumentError) as caught:
        parse(text)
    assert caught.value.path == path


def test_the_hash_sees_every_stored_byte_but_not_the_order_of_columns():
    plain = rows_hash(parse(LEAST))
    turned = json.loads(json.dumps(LEAST))
    turned["messages"][0] = dict(reversed(turned["messages"][0].items()))
    assert rows_hash(parse(turned)) == plain
    turned["messages"][0]["parts"][0]["data"] = "{} "
    assert rows_hash(parse(turned)) != plain
    assert rows_hash(parse({**LEAST, "projects": [{"id": "other"}]})) == plain


def test_numbers_and_the_text_of_a_number_hash_differently():
    assert rows_hash(parse({"session": {"id": "s", "x": 1}})) != rows_hash(parse({"session": {"id": "s", "x": "1"}}))
