"""What a client's configuration says of models is read as the client reads it, keeps no key, and costs no time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sessions_app.domain.knownmodels import (
    UNKNOWN,
    Configuration,
    KnownModel,
    Models,
    document,
    finder,
    input_said,
    is_same,
    jsonc,
)
from sessions_app.domain.wire.target import make_target

CATALOG = {
    "anthropic": {
        "npm": "@ai-sdk/anthropic",
        "api": "https://api.anthropic.com/v1",
        "models": {"claude-x": {"modalities": {"input": ["text", "image", "pdf"]}}},
    },
    "open": {
        "npm": "@ai-sdk/openai-compatible",
        "models": {
            "r-1": {"interleaved": {"field": "reasoning_content"}},
            "other": {"provider": {"npm": "@ai-sdk/anthropic"}},
        },
    },
}


def of(*providers: dict[str, Any], catalog: Any = CATALOG) -> Configuration:
    return Configuration.of([{"provider": one} for one in providers], catalog)


@pytest.mark.parametrize(
    ("said", "name", "known"),
    [
        ({}, "anthropic/claude-x", ("@ai-sdk/anthropic", "https://api.anthropic.com", ("text", "image", "pdf"), None)),
        ({}, "open/r-1", ("@ai-sdk/openai-compatible", "", None, "reasoning_content")),
        ({}, "open/other", ("@ai-sdk/anthropic", "", None, None)),
        ({"mine": {"models": {"m": {}}}}, "mine/m", ("@ai-sdk/openai-compatible", "", ("text",), None)),
        ({"mine": {"npm": "@ai-sdk/groq"}}, "mine/m", ("@ai-sdk/groq", "", None, None)),
        (
            {"mine": {"npm": "@ai-sdk/groq", "models": {"m": {"provider": {"npm": "@ai-sdk/xai"}}}}},
            "mine/m",
            ("@ai-sdk/xai", "", ("text",), None),
        ),
        (
            {"anthropic": {"models": {"mine": {"id": "claude-x"}}}},
            "anthropic/mine",
            ("@ai-sdk/anthropic", "https://api.anthropic.com", ("text", "image", "pdf"), None),
        ),
        (
            {"anthropic": {"models": {"claude-x": {"modalities": {"input": ["pdf", "text"]}}}}},
            "anthropic/claude-x",
            ("@ai-sdk/anthropic", "https://api.anthropic.com", ("text", "pdf"), None),
        ),
        (
            {"mine": {"options": {"baseURL": "http://me:secret@[::1]:8080/v1/key?k=1"}, "api": "https://other"}},
            "mine/m",
            ("@ai-sdk/openai-compatible", "http://[::1]:8080", None, None),
        ),
        (
            {"mine": {"options": {"baseURL": "{env:URL}"}, "models": {"m": {"interleaved": "thoughts"}}}},
            "mine/m",
            ("@ai-sdk/openai-compatible", "", ("text",), "thoughts"),
        ),
    ],
)
def test_a_model_is_resolved_as_the_client_does(said: Any, name: str, known: tuple[Any, ...]) -> None:
    provider, _, model = name.partition("/")
    found = of(said).find(provider, model)
    assert (found.package, found.base_url, found.input, found.interleaved) == known
    assert found.by == "configuration"


def test_the_later_file_goes_over_the_earlier_member_by_member() -> None:
    found = of(
        {"mine": {"npm": "@ai-sdk/openai", "models": {"m": {"modalities": {"input": ["text", "image"]}}}}},
        {"mine": {"npm": "@ai-sdk/anthropic"}},
    ).find("mine", "m")
    assert (found.package, found.input) == ("@ai-sdk/anthropic", ("text", "image"))


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        [],
        "x",
        {"provider": []},
        {"provider": {"mine": 3}},
        {"provider": {"mine": {"npm": "file:///x", "models": []}}},
        {"provider": {"mine": {"models": {"m": {"modalities": {"input": "image"}, "interleaved": [1], "id": 5}}}}},
    ],
)
def test_what_is_of_another_shape_says_nothing(odd: Any) -> None:
    found = Configuration.of([odd], odd).find("mine", "m")
    assert found in (UNKNOWN, KnownModel("@ai-sdk/openai-compatible", by="configuration")) or found.input == ("text",)
    assert found.interleaved is None


def test_nothing_of_a_key_is_kept() -> None:
    options = {"apiKey": "sk-secret", "headers": {"x": "sk-secret"}, "baseURL": "https://sk-secret@h/sk-secret"}
    kept = of({"mine": {"options": options, "models": {"m": {"headers": {"y": "sk-secret"}}}}})
    assert "secret" not in repr(kept)


def test_comments_and_trailing_commas_are_read_over() -> None:
    text = '\ufeff{// one\n"a": "x // y /* z */", /* two */ "b": [1, 2, /* three */ ], "c": {"d": "\\"",},}'
    assert jsonc(text) == {"a": "x // y /* z */", "b": [1, 2], "c": {"d": '"'}}


@pytest.mark.parametrize("unit", ['"\\"', "/*", ",/*", ",", '"', "[", ", ", "//", ",\n", '{"a":', "/", "\\"])
def test_a_hostile_text_is_refused_at_once(unit: str) -> None:
    started = time.monotonic()
    with pytest.raises(ValueError):
        jsonc(unit * (500_000 // len(unit)))
    assert time.monotonic() - started < 3


def test_what_is_said_by_hand_wins_and_is_refused_where_it_is_none() -> None:
    said = Models(of({}).find, input_said("PDF, image"))
    assert said.of("anthropic", "claude-x").input == ("text", "image", "pdf")
    assert said.of("anthropic", "claude-x").by == "hand"
    assert input_said(" ") is None
    with pytest.raises(ValueError, match="did you mean image"):
        input_said("text,imag")


def test_what_is_stored_of_a_configuration_says_the_same() -> None:
    models = Models(of({}).find)
    stored = document(models, [("anthropic", "claude-x"), ("none", "m/x")])
    assert stored["none/m/x"] == {}
    assert finder(stored)("anthropic", "claude-x") == models.find("anthropic", "claude-x")
    assert is_same(models, stored)
    assert not is_same(Models(), stored)


@pytest.mark.parametrize(
    ("provider", "model", "known", "expected"),
    [
        ("mine", "claude-x", KnownModel("@ai-sdk/openai-compatible"), ("openai-chat", "@ai-sdk/openai-compatible", "")),
        ("mine", "m", KnownModel("@ai-sdk/anthropic"), ("anthropic-messages", "@ai-sdk/anthropic", "anthropic-older")),
        ("mine", "m", KnownModel("@ai-sdk/xai"), ("openai-chat", "@ai-sdk/xai", "")),
        ("xai", "grok", KnownModel("@ai-sdk/xai"), ("openai-responses", "@ai-sdk/xai", "xai")),
        ("mine", "m", KnownModel("their-own-package"), ("openai-chat", "@ai-sdk/openai-compatible", "")),
        ("mine", "m", KnownModel(base_url="https://api.groq.com"), ("openai-chat", "@ai-sdk/groq", "groq")),
        ("deepseek", "d", KnownModel("@ai-sdk/deepseek"), ("openai-chat", "@ai-sdk/deepseek", "deepseek")),
    ],
)
def test_package_and_host_decide_where_a_model_is_asked(
    provider: str, model: str, known: KnownModel, expected: tuple[str, str, str]
) -> None:
    made = make_target(provider, model, known=known)
    assert (made.protocol, made.package, made.profile) == expected
