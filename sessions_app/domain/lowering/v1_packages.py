"""What the V1 client knows about the AI SDK package that writes a provider's requests (docs/contract/wire.md#6.1.5 and
#6.1.9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sessions_app.domain.model import Part, ReasoningPart
from sessions_app.domain.wire.providers import DEFAULT_PACKAGE
from sessions_app.domain.wire.target import Target

ANTHROPIC: Final = "@ai-sdk/anthropic"
BEDROCK: Final = "@ai-sdk/amazon-bedrock"
MANTLE: Final = "@ai-sdk/amazon-bedrock/mantle"
OPENROUTER: Final = "@openrouter/ai-sdk-provider"

_ALL_MEDIA: Final = frozenset({ANTHROPIC, "@ai-sdk/openai", MANTLE, "@ai-sdk/google-vertex/anthropic"})
_IMAGES: Final = frozenset({BEDROCK, "@ai-sdk/xai"})

SIGNED_BY: Final = {ANTHROPIC: "anthropic", BEDROCK: "bedrock"}
"""Packages whose empty content the client filters, and the key under which their reasoning's provider state is looked
for (docs/contract/wire.md#6.1.9.2b)."""

SDK_KEYS: Final = {
    ANTHROPIC: "anthropic",
    "@ai-sdk/google-vertex/anthropic": "anthropic",
    "@ai-sdk/openai": "openai",
    MANTLE: "openai",
    "@ai-sdk/azure": "azure",
    BEDROCK: "bedrock",
    "@ai-sdk/google": "google",
    "@ai-sdk/google-vertex": "vertex",
    "@ai-sdk/github-copilot": "copilot",
    OPENROUTER: "openrouter",
    "@ai-sdk/gateway": "gateway",
}
"""The metadata key that a package reads (docs/contract/wire.md#6.1.9.4)."""


def package_of(target: Target) -> str:
    """The target's package; the protocol's usual one where the target names none."""
    return target.package or DEFAULT_PACKAGE[target.protocol]


def keeps_media(package: str, model: str, mime: str) -> bool:
    """Whether an image or PDF may stay inside a tool result (docs/contract/wire.md#6.1.5); else it follows as a user
    message."""
    if package in _ALL_MEDIA:
        return True
    if package in _IMAGES:
        return mime.startswith("image/")
    return package == "@ai-sdk/google" and "gemini-3" in model.lower()


def has_state(package: str, metadata: Any) -> bool:
    """Whether reasoning without text is kept for its provider state (docs/contract/wire.md#6.1.9.2b): a signature or
    redacted data of that package's key."""
    state = metadata.get(SIGNED_BY.get(package, "")) if isinstance(metadata, dict) else None
    return isinstance(state, dict) and (state.get("signature") is not None or state.get("redactedData") is not None)


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
