"""The target of the next call: protocol, provider, model, thinking (design 2, "target")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type ProtocolName = Literal["anthropic-messages", "openai-chat", "openai-responses", "gemini", "bedrock-converse"]

PROTOCOLS: tuple[ProtocolName, ...] = (
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "gemini",
    "bedrock-converse",
)


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What the client's configuration says about a model (wire-rules 6.1 step 9, 6.8 F4, F12).

    ``input`` lists input modalities; None = unknown, every modality is let through. ``interleaved`` is the
    ``capabilities.interleaved.field`` of the client's model configuration.
    """

    input: tuple[str, ...] | None = None
    interleaved: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """``package`` is the AI SDK package the V1 client uses for the provider (``@ai-sdk/anthropic`` ...); ``profile`` names the strict
    server profile of openai-chat ("" = none); ``metadata_key`` is V2's provider metadata key ("" = the provider id)."""

    protocol: ProtocolName
    provider: str
    model: str
    thinking: Literal["on", "off"] = "off"
    package: str = ""
    profile: str = ""
    metadata_key: str = ""
    capabilities: ModelCapabilities = ModelCapabilities()
