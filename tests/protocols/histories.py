"""Small request bodies to break rules with, and the pairs of tests: what breaks a rule, and the nearest that does
not."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any, Literal

from sessions_app.domain.protocols import judge
from sessions_app.domain.wire.lowered import Body
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target, make_target
from sessions_app.domain.wire.verdict import Verdict

type Json = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """``breaks`` makes the provider refuse with ``error`` (a part of its text); ``legal`` is the nearest history that
    it takes.

    ``warns``: the rule is never more than a warning. ``position`` is what the violation says, if the pair checks it.
    """

    rule: str
    breaks: Json
    legal: Json
    error: str
    target: Target
    warns: bool = False
    position: str = ""
    legal_target: Target | None = None
    name: str = ""

    @property
    def id(self) -> str:
        return f"{self.rule}-{self.name}" if self.name else self.rule


def target(
    protocol: ProtocolName,
    model: str,
    thinking: Literal["on", "off"] = "off",
    provider: str = "",
    profile: str | None = None,
) -> Target:
    usual = {
        "anthropic-messages": "anthropic",
        "openai-chat": "openai",
        "openai-responses": "openai",
        "gemini": "google",
    }
    made = make_target(provider or usual.get(protocol, "amazon-bedrock"), model, thinking, protocol)
    return made if profile is None else Target(protocol, made.provider, model, thinking, made.package, profile)


def verdict(body: Json, called: Target) -> Verdict:
    return judge(Body(called.protocol, body), called)


def holds(pair: Pair) -> None:
    """The pair's promise, both halves."""
    broken = verdict(pair.breaks, pair.target)
    found = [one for one in (broken.warnings if pair.warns else broken.violations) if one.rule == pair.rule]
    assert found, (
        f"{pair.rule} is not raised; there is {[(v.rule, v.error) for v in (*broken.violations, *broken.warnings)]}"
    )
    assert any(pair.error in one.error for one in found), [one.error for one in found]
    if pair.position:
        assert pair.position in [one.position for one in found]
    if not pair.warns:
        assert not broken.accepted
    for one in found:
        reach(pair.breaks, one.pointer)
    legal = verdict(pair.legal, pair.legal_target or pair.target)
    assert legal.violations == ()
    assert pair.rule not in [one.rule for one in legal.warnings]


def reach(body: Any, pointer: tuple[str | int, ...]) -> None:
    """The pointer leads to something in the body; only the last step may name what is missing."""
    for step in pointer[:-1]:
        body = body[step]


def png(width: int = 1, height: int = 1, size: int = 0) -> str:
    """Base64 of a PNG header of these pixels, padded with zeros until the base64 text has ``size`` characters."""
    blob = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0) + b"\0\0\0\0"
    return base64.b64encode(blob + b"\0" * max(0, size * 3 // 4 - len(blob))).decode()


def jpeg(width: int = 1, height: int = 1) -> str:
    blob = (
        b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
        + b"\xff\xc0"
        + struct.pack(">HBHHB", 17, 8, height, width, 3)
    )
    return base64.b64encode(blob + b"\0" * 12).decode()


# Anthropic Messages


def a_text(text: str = "hello") -> Json:
    return {"type": "text", "text": text}


def a_use(call: str = "toolu_1", **more: Any) -> Json:
    return {"type": "tool_use", "id": call, "name": "bash", "input": {}, **more}


def a_result(call: str = "toolu_1", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": "ok", **more}


def a_think(text: str = "hm", **more: Any) -> Json:
    return {"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl", **more}


def a_image(data: str | None = None, mime: str = "image/png") -> Json:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": mime, "data": png() if data is None else data},
    }


def user(*content: Json | str) -> Json:
    return {
        "role": "user",
        "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content),
    }


def assistant(*content: Json | str) -> Json:
    return {**user(*content), "role": "assistant"}


def system(*content: Json) -> Json:
    return {"role": "system", "content": list(content)}


GO = user(a_text("continue"))


def msgs(*messages: Json, **more: Any) -> Json:
    return {"messages": list(messages), **more}


# OpenAI Chat


def call(name: str = "call_1", function: str = "bash", arguments: Any = "{}", **more: Any) -> Json:
    return {"id": name, "type": "function", "function": {"name": function, "arguments": arguments}, **more}


def said(text: Any = "", *calls: Json, **more: Any) -> Json:
    return {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {}), **more}


def tool(name: str = "call_1", content: Any = "ok", **more: Any) -> Json:
    return {"role": "tool", "tool_call_id": name, "content": content, **more}


def chat(*messages: Json, **more: Any) -> Json:
    """With the placeholder system message in front, and "continue" behind."""
    return {
        "messages": [
            {"role": "system", "content": "system"},
            *messages,
            {"role": "user", "content": "continue"},
        ],
        **more,
    }


ASK: Json = {"role": "user", "content": "do it"}


# OpenAI Responses


def asked(text: str = "do it") -> Json:
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def answered(text: str = "done", **more: Any) -> Json:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
        **more,
    }


def fcall(call_id: str = "call_1", **more: Any) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": "{}", **more}


def fout(name: str = "call_1", output: Any = "ok") -> Json:
    return {"type": "function_call_output", "call_id": name, "output": output}


def thought(**more: Any) -> Json:
    return {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAAB", **more}


def items(*members: Json, **more: Any) -> Json:
    return {"input": [*members, asked("continue")], "store": False, **more}


# Gemini


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def human(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts) or [{"text": "do it"}]}


def gcall(name: str = "bash", **more: Any) -> Json:
    return {"functionCall": {"name": name, "args": {}}, **more}


def gout(name: str = "bash") -> Json:
    return {"functionResponse": {"name": name, "response": {"output": "ok"}}}


def contents(*members: Json, **more: Any) -> Json:
    return {"contents": list(members), **more}


# Bedrock Converse


def b_use(call_id: str = "tooluse_1", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": call_id, "name": "bash", "input": {}, **more}}


def b_result(call_id: str = "tooluse_1", **more: Any) -> Json:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": "ok"}], **more}}


def b_think(**more: Any) -> Json:
    return {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln", **more}}}
