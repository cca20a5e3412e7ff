"""What the V1 client knows about the AI SDK package that writes a provider's requests (docs/contract/wire.md#6.1.5 and
#6.1.9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sessions_app.domain.model import Part, ReasoningPart
from sessions_app.domain.wire.providers import (
    ANTHROPIC,
    AZURE,
    BEDROCK,
    COMPATIBLE,
    COPILOT,
    DEFAULT_PACKAGE,
    GOOGLE,
    MANTLE,
    OPENAI,
    OPENROUTER,
    VERTEX,
    VERTEX_CLAUDE,
    XAI,
)
from sessions_app.domain.wire.target import Target

_ALL_MEDIA: Final = frozenset({ANTHROPIC, OPENAI, MANTLE, VERTEX_CLAUDE})
_BEDROCK_READS: Final = ("anthropic.", "nova", "llama4", "llama-4")

VERIFIED: Final = frozenset(
    {
        (ANTHROPIC, "anthropic-messages"),
        (COMPATIBLE, "openai-chat"),
        (OPENAI, "openai-responses"),
        (AZURE, "openai-responses"),
        (AZURE, "openai-chat"),
        (XAI, "openai-responses"),
        (XAI, "openai-chat"),
        (GOOGLE, "gemini"),
        (BEDROCK, "bedrock-converse"),
        (OPENROUTER, "openai-chat"),
        ("@ai-sdk/groq", "openai-chat"),
        ("@ai-sdk/mistral", "openai-chat"),
        ("@ai-sdk/cerebras", "openai-chat"),
        ("@ai-sdk/deepinfra", "openai-chat"),
        ("@ai-sdk/deepseek", "openai-chat"),
        ("@ai-sdk/togetherai", "openai-chat"),
        ("@ai-sdk/vercel", "openai-chat"),
        (COPILOT, "openai-chat"),
        (COPILOT, "openai-responses"),
    }
)
"""Packages whose requests were recorded with the real client, by wire format (docs/contract/wire.md#6.9)."""

SIGNED_BY: Final = {ANTHROPIC: "anthropic", BEDROCK: "bedrock"}
"""Packages whose empty content the client filters, and the key under which their reasoning's provider state is looked
for (docs/contract/wire.md#6.1.9.2b)."""

STATES: Final = {ANTHROPIC: ("signature", "redactedData"), BEDROCK: ("signature", "redactedContent", "redactedData")}
"""What counts as that state."""

SDK_KEYS: Final = {
    ANTHROPIC: "anthropic",
    VERTEX_CLAUDE: "anthropic",
    OPENAI: "openai",
    MANTLE: "openai",
    AZURE: "azure",
    BEDROCK: "bedrock",
    GOOGLE: "google",
    VERTEX: "vertex",
    COPILOT: "copilot",
    OPENROUTER: "openrouter",
    "@ai-sdk/gateway": "gateway",
    "ai-gateway-provider": "openaiCompatible",
    "merge-gateway-ai-sdk-provider": "mergeGateway",
    "venice-ai-sdk-provider": "venice",
    **{
        f"@ai-sdk/{name}": name
        for name in ("alibaba", "cerebras", "cohere", "deepinfra", "groq", "mistral", "perplexity", "togetherai")
    },
    "@ai-sdk/vercel": "vercel",
    XAI: "xai",
}
"""The metadata key that a package reads (docs/contract/wire.md#6.1.9.4)."""


def package_of(target: Target) -> str:
    """The target's package; the protocol's usual one where the target names none."""
    return target.package or DEFAULT_PACKAGE[target.protocol]


def is_verified(target: Target) -> bool:
    """Whether recordings of the real client confirm what is written for the target."""
    return (package_of(target), target.protocol) in VERIFIED


def keeps_media(package: str, model: str, mime: str) -> bool:
    """Whether an image or PDF may stay inside a tool result (docs/contract/wire.md#6.1.5); else it follows as a user
    message."""
    if package in _ALL_MEDIA:
        return True
    name = model.lower()
    if package == BEDROCK:
        return mime.startswith("image/") and any(known in name for known in _BEDROCK_READS)
    if package == XAI:
        return mime.startswith("image/")
    return package == GOOGLE and "gemini-3" in name and "gemini-2" not in name


def has_state(package: str, metadata: Any) -> bool:
    """Whether reasoning without text is kept for its provider state (docs/contract/wire.md#6.1.9.2b): a signature or
    redacted data of that package's key."""
    state = metadata.get(SIGNED_BY.get(package, "")) if isinstance(metadata, dict) else None
    return isinstance(state, dict) and any(state.get(key) is not None for key in STATES[package])


def loses_tools(step: Iterable[Part], package: str) -> bool:
    """Whether a failed step, replayed to its own model, loses a reasoning part that held neither text nor provider
    state, so that its tool calls would stand without the thinking that led to them (docs/contract/design.md#drop)."""
    if package not in SIGNED_BY:
        return False
    return any(
        isinstance(part, ReasoningPart)
        and isinstance(part.text, str)
        and not part.text.strip()
        and not has_state(package, part.metadata)
        for part in step
    )
