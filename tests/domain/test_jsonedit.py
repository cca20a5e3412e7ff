"""Edits inside JSON text: what they name changes, and not one other byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import jsjson
from sessions_app.domain.jsonedit import EditError, edit, raw_at
from sessions_app.domain.repair import REMOVE, Edit

keys = st.text(max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
spaces = st.sampled_from(["", " ", "\n", "\t ", "\r\n"])


@st.composite
def written(draw, value):
    """``value`` as JSON text with white space and escapes wherever JSON allows them."""

    def write(item):
        gap = draw(spaces)
        if isinstance(item, dict):
            inside = ",".join(f"{draw(spaces)}{write_text(k)}{draw(spaces)}:{write(v)}" for k, v in item.items())
            return f"{gap}{{{inside}{draw(spaces)}}}{gap}"
        if isinstance(item, list):
            return f"{gap}[{','.join(write(v) for v in item) or draw(spaces)}]{gap}"
        return gap + (write_text(item) if isinstance(item, str) else json.dumps(item)) + gap

    def write_text(text):
        return json.dumps(text, ensure_ascii=draw(st.booleans()))

    return write(value)


@st.composite
def documents(draw):
    value = draw(st.dictionaries(keys, values, min_size=1, max_size=5))
    path = []
    at = value
    while True:
        if isinstance(at, dict) and at:
            path.append(draw(st.sampled_from(sorted(at))))
        elif isinstance(at, list) and at:
            path.append(draw(st.integers(0, len(at) - 1)))
        else:
            break
        at = at[path[-1]]
        if draw(st.booleans()):
            break
    return value, draw(written(value)), tuple(path)


def put(value, path, new):
    at = value
    for step in path[:-1]:
        at = at[step]
    if new is REMOVE:
        del at[path[-1]]
    else:
        at[path[-1]] = new


@given(documents(), values)
def test_a_replaced_value_is_the_only_thing_that_changes(document, new):
    value, raw, path = document
    old = raw_at(raw, path)
    result = edit(raw, [Edit(path, new)])
    put(value, path, new)
    assert json.loads(result) == value
    assert edit(result, [Edit(path, old, raw=True)]) == raw


@given(documents())
def test_a_removed_member_is_gone_and_the_rest_reads_as_before(document):
    value, raw, path = document
    result = edit(raw, [Edit(path, REMOVE)])
    put(value, path, REMOVE)
    assert json.loads(result) == value


@given(documents(), values)
def test_a_new_member_goes_to_the_end_and_every_old_byte_stays(document, new):
    value, raw, _ = document
    result = edit(raw, [Edit(("brand new",), new)])
    value["brand new"] = new
    assert json.loads(result) == value
    added = f'"brand new":{jsjson.dumps(new)}'
    assert result.replace("," + added, "") == raw


@given(documents())
def test_the_text_at_a_path_is_the_value_as_written(document):
    value, raw, path = document
    for step in path:
        value = value[step]
    assert json.loads(raw_at(raw, path)) == value


def test_duplicate_keys_huge_numbers_and_lone_surrogates_survive_an_edit_beside_them():
    raw = '{ "a" :1e400, "a": 12345678901234567890.0 ,"s":"\\ud83d" , "state":{"status" : "running","x":[ ]}}'
    assert edit(raw, [Edit(("state", "status"), "error")]) == raw.replace('"running"', '"error"')


def test_of_duplicate_keys_the_last_one_counts_and_removing_takes_all():
    raw = '{"a":1, "b":2, "a":3}'
    assert edit(raw, [Edit(("a",), 4)]) == '{"a":1, "b":2, "a":4}'
    assert raw_at(raw, ("a",)) == "3"
    assert edit(raw, [Edit(("a",), REMOVE)]) == '{"b":2}'


def test_objects_on_the_way_are_created():
    assert (
        edit("{}", [Edit(("state", "metadata", "interrupted"), True)]) == '{"state":{"metadata":{"interrupted":true}}}'
    )


def test_an_array_takes_its_own_length_to_append_and_nothing_beyond():
    assert edit("[1, 2 ]", [Edit((2,), "x")]) == '[1, 2,"x" ]'
    with pytest.raises(EditError):
        edit("[1]", [Edit((3,), 0)])


def test_removing_what_is_not_there_changes_nothing():
    assert edit('{"a": 1}', [Edit(("b",), REMOVE), Edit(("x", "y"), REMOVE)]) == '{"a": 1}'


def test_a_new_string_with_a_lone_surrogate_is_written_as_an_escape():
    assert edit("{}", [Edit(("s",), "\ud800")]) == '{"s":"\\ud800"}'


@pytest.mark.parametrize(
    ("raw", "path", "value", "verbatim"),
    [
        ("", ("a",), 1, False),
        ("nul", (), 1, False),
        ('{"a" 1}', ("a",), 1, False),
        ('{"a":[1}', ("b",), 1, False),
        ('{"a":1', ("b",), 1, False),
        ('{"a":1}', ("a", "b"), 1, False),
        ('{"a":1}', (0,), 1, False),
        ("{}", ("a",), "{", True),
        ("{}", (), REMOVE, False),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(raw, path, value, verbatim):
    with pytest.raises(EditError):
        edit(raw, [Edit(path, value, raw=verbatim)])


def test_a_deeply_nested_neighbour_and_a_large_string_are_passed_over():
    raw = '{"deep":' + "[" * 100_000 + "]" * 100_000 + ',"big":"' + "x\\n" * 500_000 + '","a":1}'
    assert edit(raw, [Edit(("a",), 2)]) == raw[:-2] + "2}"
