"""openai-chat bodies of the V1 client, each package's own (docs/contract/wire.md#6.1.10, #c5, #f5 to #f16, #6.9)."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.lowering.v1_packages import is_verified, package_of
from sessions_app.domain.protocols.openai_chat import v1_packages as packages
from sessions_app.domain.protocols.openai_chat.v1_compatible import Compatible
from sessions_app.domain.protocols.openai_chat.v1_openrouter import OpenRouter
from sessions_app.domain.protocols.v1_prompt import prompt
from sessions_app.domain.wire.lowered import Body, Lowered, Origin, Path
from sessions_app.domain.wire.providers import AZURE, COPILOT, OPENAI, OPENROUTER, XAI
from sessions_app.domain.wire.target import Target

SYSTEM_PLACEHOLDER: Final = {"role": "system", "content": "(the client's system prompt)"}
"""Stands for the client's system message, so that indexes are the provider's (docs/contract/design.md#6)."""

_WRITERS: Final[dict[str, type[Compatible]]] = {
    OPENAI: packages.OpenAI,
    AZURE: packages.OpenAI,
    "@ai-sdk/cerebras": packages.Cerebras,
    "@ai-sdk/deepseek": packages.DeepSeek,
    "@ai-sdk/groq": packages.Groq,
    "@ai-sdk/mistral": packages.Mistral,
    "@ai-sdk/togetherai": packages.Newer,
    XAI: packages.Xai,
    COPILOT: packages.Copilot,
    OPENROUTER: OpenRouter,
}


def write(lowered: Lowered, target: Target) -> Body:
    """The body that the target's package makes of ``lowered``. Raises ``LoweringError`` for a file it cannot send
    (docs/contract/wire.md#f6)."""
    asked = prompt(lowered, target)
    writer = _WRITERS.get(package_of(target), Compatible)(target, asked)
    messages: list[dict[str, Any]] = [dict(SYSTEM_PLACEHOLDER)]
    provenance: dict[Path, Origin] = {}
    for place, message in enumerate(asked):
        if message.role == "tool":
            for block, origin in zip(message.blocks, message.origins, strict=True):
                provenance["messages", len(messages)] = origin
                messages.append(writer.tool(block))
            continue
        at = ("messages", len(messages))
        provenance[at] = message.origin
        if message.role == "user":
            written = writer.user(message, place)
            if isinstance(written["content"], list):
                provenance |= {(*at, "content", index): origin for index, origin in enumerate(message.origins)}
        else:
            written = writer.assistant(message, place)
            calls = [origin for block, origin in message.pairs() if block["type"] == "tool-call"]
            provenance |= {(*at, "tool_calls", index): origin for index, origin in enumerate(calls)}
        messages.append(written)
    return Body("openai-chat", {"model": target.model, "messages": messages}, provenance, is_verified(target))
