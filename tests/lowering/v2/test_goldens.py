"""Every golden: what the client's own lowering and protocol modules made of the same messages, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from sessions_app.domain import jsjson
from sessions_app.domain.ndjson import lower_line
from sessions_app.domain.wire.lowered import Body, LoweringError
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from tests.each import for_each
from tests.factories.goldens import Golden, goldens

GOLDENS = goldens()
LOWERED = [golden for golden in GOLDENS if "llm" in golden.expected]

every_golden = for_each("golden", GOLDENS, name=repr, one_in=4)
every_lowered_golden = for_each("golden", LOWERED, name=repr, one_in=4)


def write(golden: Golden, protocol: ProtocolName) -> Body:
    writer: Callable[..., Body] = import_module(f"sessions_app.domain.protocols.{protocol.replace('-', '_')}.v2").write
    options: dict[str, Any] = {"placeholder": False} if protocol == "openai-chat" else {}
    cache = golden.input.get("cache", "none")
    return writer(golden.lower(), replace(golden.target, protocol=protocol), cache=cache, **options)


def cut_at(golden: Golden) -> int:
    """Index of the last compaction that is replayed: in a session everything before it is gone
    (docs/contract/formats.md#b4)."""
    cuts = [
        index
        for index, message in enumerate(golden.input["messages"])
        if message["type"] == "compaction" and message.get("status", "completed") == "completed"
    ]
    return cuts[-1] if cuts else 0


def test_the_goldens_are_all_there() -> None:
    assert [sum(golden.generation == generation for golden in GOLDENS) for generation in (1, 2, 3)] == [
        225,
        422,
        227,
    ]


@every_golden
@pytest.mark.parametrize("repairs", [True, False], ids=["fixed", "as-stored"])
def test_canonical_messages_are_the_clients(golden: Golden, repairs: bool) -> None:
    expected = golden.expected if repairs else golden.unfixed
    if "error" in expected:
        with pytest.raises(LoweringError) as caught:
            golden.lower(repairs)
        assert caught.value.kind == expected["error"]["stage"]
        assert caught.value.words.split("\n")[0] == expected["error"]["message"].split("\n")[0]
        assert caught.value.origin is not None and caught.value.origin.message
    else:
        assert jsjson.dumps(golden.lower(repairs).messages) == jsjson.dumps(expected["llm"])


@every_lowered_golden
def test_the_two_fixes_change_exactly_what_the_goldens_say(golden: Golden) -> None:
    fixed, stored = golden.lower(True).messages, golden.lower(False).messages
    assert (jsjson.dumps(fixed) != jsjson.dumps(stored)) is golden.record["fix_changes_output"]


@for_each("golden", [g for g in LOWERED if "alternatives" in g.record], name=repr)
def test_other_policies_that_the_goldens_name_are_not_ours(golden: Golden) -> None:
    ours = jsjson.dumps(golden.lower().messages)
    for policy, alternative in golden.record["alternatives"].items():
        assert policy != "tie=first,lost=any"
        assert ours != jsjson.dumps(alternative["llm"])


@every_lowered_golden
def test_bodies_are_the_clients(golden: Golden) -> None:
    assert set(golden.wire) == set(PROTOCOLS)
    for protocol in PROTOCOLS:
        try:
            made = write(golden, protocol).body
        except LoweringError as error:
            made = {"error": {"tag": error.kind, "message": error.words}}
        assert jsjson.dumps(made) == jsjson.dumps(golden.wire[protocol]), protocol


@every_golden
def test_a_line_of_ndjson_gives_the_same(golden: Golden) -> None:
    line = lower_line(golden.document())
    if "error" in golden.expected:
        assert line["error"]["kind"] == golden.expected["error"]["stage"]
        return
    cut = cut_at(golden)
    if cut:
        first = golden.input["messages"][cut]["id"]
        whole = golden.expected["llm"]
        at = next(index for index, message in enumerate(whole) if message.get("id") == first)
        assert jsjson.encode(line["canonical"]) == jsjson.dumps(whole[at:])
        return
    assert jsjson.encode(line["canonical"]) == jsjson.dumps(golden.expected["llm"])
    for protocol, expected in golden.wire.items():
        body = line["bodies"][protocol]
        if "error" in expected:
            assert body["error"]["kind"] == expected["error"]["tag"]
        else:
            assert jsjson.encode(body) == jsjson.dumps(expected)


@every_golden
def test_a_line_as_stored_gives_what_the_client_sends_today(golden: Golden) -> None:
    line = lower_line({**golden.document(), "as_stored": True})
    if "error" in golden.unfixed:
        assert line["error"]["kind"] == golden.unfixed["error"]["stage"]
    elif not cut_at(golden):
        assert jsjson.encode(line["canonical"]) == jsjson.dumps(golden.unfixed["llm"])


@every_lowered_golden
def test_every_block_of_a_body_leads_back_to_its_row_and_item(golden: Golden) -> None:
    stored = {message["id"]: message for message in golden.input["messages"]}
    for protocol in PROTOCOLS:
        try:
            body = write(golden, protocol)
        except LoweringError as error:
            assert error.origin is not None and error.origin.message in stored
            continue
        for path, origin in body.provenance.items():
            value: Any = body.body
            for step in path:
                value = value[step]
            if origin.part:
                content = stored[origin.message]["content"]
                item = content[int(origin.part.removeprefix(origin.message + "#"))]
                assert says(value, item), (path, origin)
        assert {path[1] for path in body.provenance} == set(range(len(body.body[list_of(protocol)])))


def list_of(protocol: ProtocolName) -> str:
    return {"openai-responses": "input", "gemini": "contents"}.get(protocol, "messages")


def says(value: Any, item: dict[str, Any]) -> bool:
    """Whether a block of a body holds something of the stored item it is said to come from."""
    text = jsjson.dumps(value)
    if item["type"] in ("text", "reasoning"):
        quoted = jsjson.dumps(item["text"])[1:-1]
        return quoted in text or '"reasoning"' in text
    return (
        any(jsjson.dumps(word)[1:-1] in text for word in (item["id"], item["name"]) if word != "")
        or '"inlineData"' in text
        or "image" in text
        or item["id"] == ""
    )
