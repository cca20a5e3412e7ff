"""JSON as JavaScript's, against answers recorded from a real JavaScript engine (tests/data/jsjson-vectors.json)."""

import json
import math
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain import jsjson
from tests.each import for_each

VECTORS: list[tuple[str, str | None]] = json.loads(
    (Path(__file__).parents[1] / "data" / "jsjson-vectors.json").read_text()
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(codec=None)) | st.from_regex("[0-9]{1,11}", fullmatch=True), inner)
    ),
    max_leaves=20,
)


@for_each("vector", VECTORS, name=itemgetter(0))
def test_text_is_read_and_written_as_the_engine_did(vector: tuple[str, str | None]) -> None:
    text, expected = vector
    if expected is None:
        with pytest.raises(ValueError):
            jsjson.loads(text)
    else:
        assert jsjson.encode(jsjson.loads(text)) == expected
        assert jsjson.dumps(json.loads(text)) == expected


@given(JSON_VALUES)
def test_what_is_written_reads_back_to_the_same_text(value: Any) -> None:
    text = jsjson.dumps(value)
    assert jsjson.dumps(jsjson.loads(text)) == text


@given(JSON_VALUES)
def test_the_argument_of_dumps_is_left_alone(value: Any) -> None:
    before = repr(value)
    jsjson.to_js(value)
    assert repr(value) == before


def test_lone_surrogates_never_stop_a_dump_and_halves_that_meet_are_joined() -> None:
    assert jsjson.dumps({"k\ud83d": "\ud83d" + "\ude00" + "\ude00"}) == '{"k\\ud83d":"😀\\ude00"}'


def test_an_overflowing_number_is_infinite_when_read_and_null_when_written() -> None:
    assert jsjson.loads("1e400") == math.inf
    assert jsjson.dumps([math.inf, -math.inf, math.nan]) == "[null,null,null]"


def test_nesting_beyond_any_stack_is_a_plain_error() -> None:
    with pytest.raises(ValueError):
        jsjson.loads("[" * 1_000_000)


def test_a_value_that_json_does_not_have_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        jsjson.dumps({"a": object()})
