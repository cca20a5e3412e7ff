"""What the next call goes to: read from text, inferred from the rows, asked for in another protocol
(docs/contract/design.md#8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.domain.model import Message, Part, ReasoningPart, Session, SessionRows
from sessions_app.domain.wire.providers import route
from sessions_app.domain.wire.target import default_target, infer_target, parse_target


def message(kind: str, model: str = "", parts: tuple[str, ...] = (), v2: bool = False) -> Message:
    provider, _, name = model.partition("/")
    data: dict[str, Any] = {}
    if model and (v2 or kind == "user"):
        data = {"model": {"providerID": provider, "id" if v2 else "modelID": name}}
    elif model:
        data = {"providerID": provider, "modelID": name}
    kinds: dict[str, type[Part]] = {"reasoning": ReasoningPart}
    made = [kinds.get(part, Part)("p", "m", index, part, {}, "{}") for index, part in enumerate(parts)]
    return Message("m", "s", kind, data, "{}", {}, made)


def session(*messages: Message, v2: bool = False, **columns: Any) -> Session:
    found = Session("s", SessionRows({"id": "s", **columns}))
    found.dialect = "opencode-v2" if v2 else "opencode-v1"
    found.histories["opencode-v2" if v2 else "opencode-v1"] = list(messages)
    return found


def test_the_model_of_the_last_user_message_is_the_target() -> None:
    target = infer_target(
        session(
            message("user", "openai/gpt-x"),
            message("assistant", "openai/gpt-x"),
            message("user", "anthropic/claude-x"),
        )
    )
    assert target is not None
    assert (target.protocol, target.provider, target.model, target.package) == (
        "anthropic-messages",
        "anthropic",
        "claude-x",
        "@ai-sdk/anthropic",
    )


def test_without_a_user_model_the_last_assistant_speaks() -> None:
    target = infer_target(session(message("user"), message("assistant", "google/gemini-3-x")))
    assert target is not None and (target.protocol, target.package) == ("gemini", "@ai-sdk/google")


def test_a_v2_model_switch_after_the_last_answer_is_the_target() -> None:
    rows = (
        message("assistant", "anthropic/claude-x", v2=True),
        message("model-switched", "openai/gpt-x", v2=True),
        message("user"),
    )
    target = infer_target(session(*rows, v2=True))
    assert target is not None and (target.provider, target.model) == ("openai", "gpt-x")


def test_a_session_without_messages_falls_back_to_its_own_row() -> None:
    target = infer_target(session(model=json.dumps({"id": "claude-x", "providerID": "anthropic"})))
    assert target is not None and target.model == "claude-x"
    assert infer_target(session()) is None
    assert infer_target(session(model="{broken")) is None


@pytest.mark.parametrize(
    ("model", "protocol", "package", "profile"),
    [
        ("fakea/claude-think", "anthropic-messages", "@ai-sdk/anthropic", "anthropic-older"),
        ("fake/fake-1", "openai-chat", "@ai-sdk/openai-compatible", ""),
        ("moonshot/kimi-x", "openai-chat", "@ai-sdk/openai-compatible", "moonshot"),
        ("local/llama-x", "openai-chat", "@ai-sdk/openai-compatible", "local"),
        ("amazon-bedrock/claude-x", "bedrock-converse", "@ai-sdk/amazon-bedrock", ""),
        ("google-vertex/claude-x", "anthropic-messages", "@ai-sdk/google-vertex/anthropic", ""),
        ("google-vertex/gemini-3-x", "gemini", "@ai-sdk/google-vertex", ""),
        ("opencode/claude-x", "anthropic-messages", "@ai-sdk/anthropic", ""),
        ("github-copilot/claude-x", "openai-chat", "@ai-sdk/github-copilot", "copilot"),
        ("github-copilot/gpt-5.2", "openai-responses", "@ai-sdk/github-copilot", "copilot"),
        ("deepseek/deepseek-x", "openai-chat", "@ai-sdk/openai-compatible", "deepseek"),
    ],
)
def test_provider_and_model_ids_decide_how_the_client_talks(
    model: str, protocol: str, package: str, profile: str
) -> None:
    target = infer_target(session(message("user", model)))
    assert target is not None
    assert (target.protocol, target.package, target.profile) == (protocol, package, profile)


def test_thinking_auto_is_on_only_where_that_models_own_turns_reason() -> None:
    foreign = session(message("assistant", "other/model-y", ("reasoning",)), message("user", "deepseek/deepseek-x"))
    own = session(
        message("assistant", "deepseek/deepseek-x", ("step-start", "reasoning")),
        message("user", "deepseek/deepseek-x"),
    )
    assert [infer_target(each).thinking for each in (foreign, own)] == ["off", "on"]  # type: ignore[union-attr]
    assert infer_target(own, "off").thinking == "off"  # type: ignore[union-attr]
    assert parse_target("gemini:other/model-y", session=foreign).thinking == "on"


def test_a_target_text_is_split_at_the_first_colon_and_the_first_slash() -> None:
    target = parse_target("openai-chat:openrouter/moonshot/kimi:free", "on")
    assert (target.protocol, target.provider, target.model, target.thinking) == (
        "openai-chat",
        "openrouter",
        "moonshot/kimi:free",
        "on",
    )
    assert target.profile == "openrouter"


def test_a_protocol_alone_means_the_sessions_own_model_in_that_protocol() -> None:
    own = session(message("user", "anthropic/claude-x"))
    target = parse_target("openai-chat", session=own)
    assert target == default_target(own, "openai-chat")
    assert (target.provider, target.model, target.package) == (
        "anthropic",
        "claude-x",
        "@ai-sdk/openai-compatible",
    )


@pytest.mark.parametrize(
    "text", ["", "openai", "openai-chat:", "openai-chat:acme", "openai-chat:/m", "openai-chat:acme/"]
)
def test_a_malformed_target_is_refused_with_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"protocol|PROVIDER/MODEL"):
        parse_target(text)


def test_a_base_url_recognises_a_server_whose_id_says_nothing() -> None:
    assert route("mine", "m", "https://api.deepseek.com/v1").profile == "deepseek"
    assert route("mine", "m", "http://127.0.0.1:8080/v1").profile == "local"
    assert route("mine", "m", "https://notdeepseek.com/v1").profile == ""
    assert route("mine", "claude-y", "https://user:pw@api.anthropic.com:443").known
