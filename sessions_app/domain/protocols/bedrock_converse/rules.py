"""Whether AWS Bedrock Converse takes a history (docs/contract/wire.md#5b)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from sessions_app.domain.protocols.anthropic_messages import rules as messages
from sessions_app.domain.protocols.anthropic_messages.table import TABLE as CLAUDE
from sessions_app.domain.protocols.anthropic_messages.unwritten import Turns, plain
from sessions_app.domain.protocols.bedrock_converse import blocks
from sessions_app.domain.protocols.bedrock_converse.blocks import Message, View, is_claude
from sessions_app.domain.protocols.bedrock_converse.claude import behind, claude_rules
from sessions_app.domain.protocols.bedrock_converse.table import TABLE
from sessions_app.domain.protocols.checking import Request, in_order, objects, run, text_of
from sessions_app.domain.protocols.traits import Check, Traits, all_needed, needs
from sessions_app.domain.wire.lowered import Lowered, Provenance
from sessions_app.domain.wire.models import model_facts
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Tag, Violation


@needs("starts-odd", "textless", "blank-text", "empty-text", "nothing")
def first_role(view: View) -> Iterator[Violation]:
    """B1: the first message is a user's."""
    if view.messages and view.messages[0].role != "user":
        yield view.request.broken("B1", "messages.0", ("messages", 0))


@needs("apart")
def alternation(view: View) -> Iterator[Violation]:
    """B2: roles take turns, unlike at Anthropic itself."""
    for before, after in pairwise(view.messages):
        if before.role == after.role:
            yield view.request.broken("B2", after.position, after.pointer)


@needs("unpaired", "repeated-id", "odd-id", "server", "apart")
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
            tag: Tag = "T" if after is None else "P"
            yield view.request.broken("B3", where, message.block(missing[0][0]), tag=tag, ids=names)


@needs("unpaired", "repeated-id", "odd-id", "server", "apart")
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
                where = f"{message.position}.content"
                yield view.request.broken("B4", where, message.block(stray[0] if stray else results[-1][0]))
        before = message


@needs("parameters")
def tool_config(view: View) -> Iterator[Violation]:
    """B5 and B13, where the body carries ``toolConfig``: there are tools, and the choice is one that exists."""
    config = view.request.body.get("toolConfig")
    if not isinstance(config, dict):
        return
    used = any(message.has("toolUse", "toolResult") for message in view.messages)
    if used and not objects(config.get("tools")):
        yield view.request.broken("B5", "toolConfig", ("toolConfig",))
    choice = config.get("toolChoice")
    if isinstance(choice, dict) and not set(choice) <= {"auto", "any", "tool"}:
        pointer = ("toolConfig", "toolChoice")
        names = ", ".join(sorted(choice))
        yield view.request.broken("B13", "toolConfig.toolChoice", pointer, "choice", names=names)


@needs("parameters")
def inference_parameters(view: View) -> Iterator[Violation]:
    """B13: ``topK`` goes through additionalModelRequestFields only."""
    config = view.request.body.get("inferenceConfig")
    if isinstance(config, dict) and "topK" in config:
        yield view.request.broken("B13", "inferenceConfig.topK", ("inferenceConfig", "topK"), "top_k")


@needs(*all_needed(messages.CHECKS))
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
                where = f"{message.position}.content.{index}"
                yield view.request.broken("B10", where, message.block(index), id=name)


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


BODY: Final = frozenset({"media", "content-result", "signed", "server"})
"""Where the writer may refuse, or something is left to the server (``not_checkable``)."""


def checks(target: Target) -> tuple[Check, ...]:
    """What runs for this target."""
    return CHECKS if is_claude(target.model) or model_facts(target.model).family == "mistral" else CHECKS[:-1]


def check(
    body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None = None
) -> list[Violation]:
    """Every rule the body breaks, what the service would say first coming first; warnings have certainty
    "uncertain"."""
    view = blocks.read(Request(body, target, provenance, TABLE, traits=traits))
    return run(view.request, view, checks(target))


def unwritten(lowered: Lowered, target: Target, traits: Traits) -> tuple[list[Violation], tuple[str, ...]] | None:
    """As that of ``anthropic_messages``, for Claude behind the service."""
    if not is_claude(target.model) or not plain(traits, target):
        return None
    turns = Turns(lowered, target, traits, calls_last=False)
    request = Request({}, target, turns.provenance, TABLE)
    inner = Request({}, replace(target, profile=""), {}, CLAUDE)
    found = behind(request, turns.broken(inner), lambda pointer: pointer)
    return in_order(request, found), ("A23", "A23b") if turns.thinks else ()


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Whether reasoning is what was signed (A23, A23b behind B12) only the model knows."""
    for message in objects(body.get("messages")):
        if any("reasoningContent" in block for block in objects(message.get("content"))):
            return ("A23", "A23b")
    return ()
