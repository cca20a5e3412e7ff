"""Whether AWS Bedrock Converse takes a history (wire-rules 5b)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sessions_app.domain.protocols.bedrock_converse import blocks
from sessions_app.domain.protocols.bedrock_converse.blocks import Message, View
from sessions_app.domain.protocols.bedrock_converse.claude import claude_rules
from sessions_app.domain.protocols.bedrock_converse.facts import FACTS
from sessions_app.domain.protocols.checking import Request, Tag, objects, run, text_of
from sessions_app.domain.wire.lowered import Provenance
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation

_ALTERNATE = (
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user"
    " and assistant roles and try again."
)


def first_role(view: View) -> Iterator[Violation]:
    """B1: the first message is a user's."""
    if view.messages and view.messages[0].role != "user":
        error = (
            "A conversation must start with a user message. Try again with a conversation that starts with a user"
            " message."
        )
        yield view.request.broken("B1", error, "messages.0", ("messages", 0))


def alternation(view: View) -> Iterator[Violation]:
    """B2: roles take turns, unlike at Anthropic itself."""
    for before, after in pairwise(view.messages):
        if before.role == after.role:
            yield view.request.broken("B2", _ALTERNATE, after.position, after.pointer)


def unanswered_calls(view: View) -> Iterator[Violation]:
    """B3: every call is answered in the next message."""
    for place, message in enumerate(view.messages):
        if message.role != "assistant":
            continue
        after = view.messages[place + 1] if place + 1 < len(view.messages) else None
        answered = {text_of(result.get("toolUseId")) for _, result in after.members("toolResult")} if after else set()
        missing = [
            (index, call)
            for index, call in message.members("toolUse")
            if text_of(call.get("toolUseId")) not in answered
        ]
        if missing:
            names = ", ".join(text_of(call.get("toolUseId")) for _, call in missing)
            where = f"messages.{place + 1}.content"
            error = f"Expected toolResult blocks at {where} for the following Ids: {names}"
            tag: Tag = "T" if after is None else "P"
            yield view.request.broken("B3", error, where, message.block(missing[0][0]), tag=tag)


def surplus_results(view: View) -> Iterator[Violation]:
    """B4: no more results than calls in the turn before, and none for a call that is not there."""
    before: Message | None = None
    for message in view.messages:
        results = list(message.members("toolResult"))
        if results and message.role == "user":
            calls = [text_of(call.get("toolUseId")) for _, call in before.members("toolUse")] if before else []
            known = set(calls)
            stray = [index for index, result in results if text_of(result.get("toolUseId")) not in known]
            if stray or len(results) > len(calls):
                error = (
                    f"The number of toolResult blocks at {message.position}.content exceeds the number of toolUse"
                    " blocks of previous turn."
                )
                where = f"{message.position}.content"
                yield view.request.broken("B4", error, where, message.block(stray[0] if stray else results[-1][0]))
        before = message


def tool_config(view: View) -> Iterator[Violation]:
    """B5 and B13, where the body carries ``toolConfig``: there are tools, and the choice is one that exists."""
    config = view.request.body.get("toolConfig")
    if not isinstance(config, dict):
        return
    used = any(message.has("toolUse", "toolResult") for message in view.messages)
    if used and not objects(config.get("tools")):
        error = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        yield view.request.broken("B5", error, "toolConfig", ("toolConfig",))
    choice = config.get("toolChoice")
    if isinstance(choice, dict) and not set(choice) <= {"auto", "any", "tool"}:
        error = (
            f"Unknown parameter in toolConfig.toolChoice: {', '.join(sorted(choice))}, must be one of: auto, any, tool"
        )
        yield view.request.broken("B13", error, "toolConfig.toolChoice", ("toolConfig", "toolChoice"))


def inference_parameters(view: View) -> Iterator[Violation]:
    """B13: ``topK`` goes through additionalModelRequestFields only."""
    config = view.request.body.get("inferenceConfig")
    if isinstance(config, dict) and "topK" in config:
        error = (
            "Unknown parameter in inferenceConfig: topK, must be one of: maxTokens, temperature, topP, stopSequences"
        )
        yield view.request.broken("B13", error, "inferenceConfig.topK", ("inferenceConfig", "topK"))


def behind_bedrock(view: View) -> Iterator[Violation]:
    """B12 for Claude; B10 for Mistral, whose ids have nine letters and digits."""
    if view.claude:
        yield from claude_rules(view.request)
    if view.request.model.family != "mistral":
        return
    for message in view.messages:
        for index, call in message.members("toolUse"):
            name = text_of(call.get("toolUseId"))
            if not re.fullmatch(r"[a-zA-Z0-9]{9}", name):
                error = (
                    f"The model returned the following errors: Tool call id was {name} but must be a-z, A-Z, 0-9, with"
                    " a length of 9."
                )
                yield view.request.broken("B10", error, f"{message.position}.content.{index}", message.block(index))


CHECKS = (
    blocks.union,
    blocks.calls,
    blocks.documents,
    tool_config,
    inference_parameters,
    blocks.cache_points,
    first_role,
    alternation,
    blocks.empty_content,
    blocks.blank_text,
    unanswered_calls,
    surplus_results,
    behind_bedrock,
)


def check(body: dict[str, Any], target: Target, provenance: Provenance) -> list[Violation]:
    """Every rule the body breaks, what the service would say first coming first; warnings have certainty
    "uncertain"."""
    view = blocks.read(Request(body, target, provenance, FACTS))
    return run(view.request, view, CHECKS)


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Whether reasoning is what was signed (A23, A23b behind B12) only the model knows."""
    for message in objects(body.get("messages")):
        if any("reasoningContent" in block for block in objects(message.get("content"))):
            return ("A23", "A23b")
    return ()
