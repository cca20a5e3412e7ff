"""What a request needs beside the lowered history: how much may be answered, whether it streams, system prompt, tools,
thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sessions_app.domain.wire.target import Target

LEAST_THINKING: Final = 1024
"""The smallest budget that Anthropic takes (docs/contract/wire.md#1a)."""
LEAST_RESPONSES: Final = 16
"""The smallest ``max_output_tokens`` of the Responses API."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; ``schema`` is a JSON Schema of its input."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] | None = None


def least_output(target: Target) -> int:
    """The smallest number of tokens that a request to ``target`` may be answered with."""
    if target.protocol == "anthropic-messages" and target.thinking == "on":
        return LEAST_THINKING + 1  # the budget must be smaller than the whole
    return LEAST_RESPONSES if target.protocol == "openai-responses" else 1


def request_body(
    body: Mapping[str, Any],
    target: Target,
    *,
    output: int,
    stream: bool,
    system: str | None = None,
    tools: Sequence[ToolSpec] = (),
) -> dict[str, Any]:
    """The request for a lowered ``body``, which itself is left alone. ``system`` None keeps what the body has in its
    place.

    Raises ``ValueError`` for a protocol that no provider stream speaks.
    """
    if target.protocol == "anthropic-messages":
        return _anthropic(body, target, output, stream, system, tools)
    if target.protocol == "openai-chat":
        return _chat(body, target, output, stream, system, tools)
    if target.protocol == "openai-responses":
        return _responses(body, output, stream, system, tools)
    raise ValueError(f"Nothing here sends requests of {target.protocol}.")


def _anthropic(
    body: Mapping[str, Any],
    target: Target,
    output: int,
    stream: bool,
    system: str | None,
    tools: Sequence[ToolSpec],
) -> dict[str, Any]:
    request: dict[str, Any] = {**body, "max_tokens": output}
    if target.thinking == "on":
        budget = max(LEAST_THINKING, output // 2)
        request["thinking"] = {"type": "enabled", "budget_tokens": budget}
        request["max_tokens"] = max(output, budget + 1)
    if system:
        request["system"] = system
    if tools:
        request["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": _schema(tool)} for tool in tools
        ]
    return request | ({"stream": True} if stream else {})


def _chat(
    body: Mapping[str, Any],
    target: Target,
    output: int,
    stream: bool,
    system: str | None,
    tools: Sequence[ToolSpec],
) -> dict[str, Any]:
    request: dict[str, Any] = dict(body)
    if system is not None:
        rest = [*body["messages"]]
        if rest and rest[0].get("role") == "system":
            rest = rest[1:]
        request["messages"] = [{"role": "system", "content": system}, *rest] if system else rest
    # OpenAI's reasoning models refuse the older name, other servers know no newer one.
    request["max_completion_tokens" if target.provider in ("openai", "azure") else "max_tokens"] = output
    if tools:
        request["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": _schema(tool)},
            }
            for tool in tools
        ]
    return request | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})


def _responses(
    body: Mapping[str, Any], output: int, stream: bool, system: str | None, tools: Sequence[ToolSpec]
) -> dict[str, Any]:
    request: dict[str, Any] = {**body, "max_output_tokens": max(output, LEAST_RESPONSES)}
    if system:
        request["instructions"] = system
    if stream:
        # Without it a store:false response gives no reasoning that could be sent again.
        request |= {"stream": True, "include": ["reasoning.encrypted_content"]}
    if tools:
        request["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": _schema(tool),
            }
            for tool in tools
        ]
    return request


def _schema(tool: ToolSpec) -> Mapping[str, Any]:
    return tool.schema or {"type": "object", "properties": {}}
