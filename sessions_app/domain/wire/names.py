"""The names of the wire formats."""

from __future__ import annotations

from typing import Literal, get_args

type ProtocolName = Literal["anthropic-messages", "openai-chat", "openai-responses", "gemini", "bedrock-converse"]

PROTOCOLS: tuple[ProtocolName, ...] = get_args(ProtocolName.__value__)
