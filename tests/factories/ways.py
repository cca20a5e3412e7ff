"""The V1 client's ways to a provider (package, model, wire format), and sessions that were sent down each of them.

``tests/data/ways.jsonl.xz`` holds what the real client sent (``tests/client/recorder.py`` makes it anew): sessions of
the corpus, moved to the way's model, and sessions made here for the state that each package keeps beside its answers.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sessions_app.domain.dialects import decode
from sessions_app.domain.model import Session, SessionRows
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import ModelCapabilities, Target, make_target
from tests.factories.recordings import INDEX, RECORDINGS, corpus_rows
from tests.factories.v1rows import FINISH, START, assistant, text, tool, user
from tests.paths import DATA

RECORDED = DATA / "ways.jsonl.xz"
"""A line each: ``{"way", "session", "client", "sent"}``, ``sent`` being the messages of the request without the
client's own prompt and cache marks, or ``{"error": words}`` where none was made."""

CLIENT = "1.18.33"
"""The client that sent them."""
INPUT = ("text", "image", "pdf")


@dataclass(frozen=True)
class Way:
    """How the client is told to reach a model: ``key`` is where the package keeps state, ``model_config`` what else the
    client's configuration says of the model."""

    package: str
    provider: str
    model: str
    protocol: ProtocolName
    key: str
    model_config: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def target(self) -> Target:
        """The target as Suture makes it, with the modalities that the recorder's configuration has."""
        made = make_target(self.provider, self.model, "on", self.protocol)
        interleaved = (self.model_config.get("interleaved") or {}).get("field")
        return Target(
            made.protocol,
            made.provider,
            made.model,
            "on",
            self.package,
            made.profile,
            capabilities=ModelCapabilities(INPUT, interleaved),
        )


WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("@ai-sdk/openai", "openai", "gpt-5-x", "openai-responses", "openai"),
        Way("@ai-sdk/azure", "azure", "gpt-5-x", "openai-responses", "azure"),
        Way("@ai-sdk/azure", "azure", "gpt-4-chat", "openai-chat", "azure", {"options": {"useCompletionUrls": True}}),
        Way("@ai-sdk/xai", "xai", "grok-x", "openai-responses", "xai"),
        Way("@ai-sdk/xai", "own-xai", "grok-x", "openai-chat", "xai"),
        Way("@ai-sdk/google", "google", "gemini-3-x", "gemini", "google"),
        Way("@ai-sdk/google", "google", "gemini-2.5-x", "gemini", "google"),
        Way("@ai-sdk/amazon-bedrock", "amazon-bedrock", "anthropic.claude-x", "bedrock-converse", "bedrock"),
        Way("@ai-sdk/amazon-bedrock", "amazon-bedrock", "amazon.nova-x", "bedrock-converse", "bedrock"),
        Way("@ai-sdk/amazon-bedrock", "amazon-bedrock", "mistral.mistral-x", "bedrock-converse", "bedrock"),
        Way("@openrouter/ai-sdk-provider", "openrouter", "anthropic/claude-x", "openai-chat", "openrouter"),
        Way("@openrouter/ai-sdk-provider", "openrouter", "openai/gpt-5-x", "openai-chat", "openrouter"),
        Way("@openrouter/ai-sdk-provider", "openrouter", "google/gemini-3-x", "openai-chat", "openrouter"),
        Way("@ai-sdk/groq", "groq", "llama-x", "openai-chat", "groq"),
        Way("@ai-sdk/mistral", "mistral", "mistral-x", "openai-chat", "mistral"),
        Way("@ai-sdk/cerebras", "cerebras", "gpt-oss-120b", "openai-chat", "cerebras"),
        Way("@ai-sdk/deepseek", "deepseek", "deepseek-x", "openai-chat", "deepseek"),
        Way("@ai-sdk/deepseek", "deepseek", "deepseek-v4-x", "openai-chat", "deepseek"),
        Way("@ai-sdk/openai-compatible", "compatible", "m-x", "openai-chat", "compatible"),
        Way(
            "@ai-sdk/openai-compatible",
            "compatible",
            "interleaved",
            "openai-chat",
            "compatible",
            {"interleaved": {"field": "reasoning_content"}},
        ),
        Way("@ai-sdk/anthropic", "anthropic", "claude-opus-4-5", "anthropic-messages", "anthropic"),
        Way("@ai-sdk/anthropic", "own-anthropic", "Claude-X", "anthropic-messages", "anthropic"),
        Way("@ai-sdk/togetherai", "togetherai", "m-x", "openai-chat", "togetherai"),
        Way("@ai-sdk/deepinfra", "deepinfra", "m-x", "openai-chat", "deepinfra"),
        Way("@ai-sdk/vercel", "own-vercel", "v-x", "openai-chat", "vercel"),
        Way("@ai-sdk/github-copilot", "github-copilot", "claude-x", "openai-chat", "copilot"),
        Way("@ai-sdk/github-copilot", "github-copilot", "gemini-3-x", "openai-chat", "copilot"),
        Way("@ai-sdk/github-copilot", "github-copilot", "gpt-5-x", "openai-responses", "copilot"),
    )
}

_OWN_SETTINGS = {"v1_maxsteps_anth", "v1_maxsteps_chat", "v1_model_notools_chat", "image_bad_base64"}
"""Sessions whose recorded request depends on the agent's settings, or that hold nothing."""

CORPUS_SESSIONS = [
    name
    for name, entry in INDEX.items()
    if entry.get("parity") and "@" not in name and "plan" not in name and name not in _OWN_SETTINGS
]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSVFT0YK"

type _Turn = tuple[dict[str, Any], tuple[dict[str, Any], ...]]


def _thought(words: str, **state: Any) -> dict[str, Any]:
    part = {"type": "reasoning", "text": words, "time": {"start": 1, "end": 2}}
    return {**part, "metadata": {"KEY": state}} if state else part


def _state(**state: Any) -> dict[str, Any]:
    return {"metadata": {"KEY": state}}


def _file(mime: str, data: str, **more: Any) -> dict[str, Any]:
    return {"type": "file", "mime": mime, "url": f"data:{mime};base64,{data}", **more}


def _ask(*files: dict[str, Any], words: str = "go") -> _Turn:
    return user(text(words), *files)


def _step(*parts: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return (START, *parts, FINISH)


OWN_SESSIONS: dict[str, list[_Turn]] = {
    "state-of-items": [
        _ask(),
        assistant(
            *_step(
                _thought("first", itemId="rs_1", reasoningEncryptedContent="gAAA1"),
                _thought("second", itemId="rs_1", reasoningEncryptedContent="gAAA1"),
                text("said", **_state(itemId="msg_1", phase="commentary")),
                tool("call_1", **_state(itemId="fc_1")),
            ),
            *_step(
                _thought("", itemId="rs_2", reasoningEncryptedContent="gAAA2"),
                _thought("not sealed", itemId="rs_3", reasoningEncryptedContent=None),
                tool("call_2", **_state(itemId="fc_2")),
                tool("call_3", "error", **_state(itemId="fc_3")),
            ),
            *_step(_thought("bare"), text("done", **_state(itemId="msg_2"))),
        ),
    ],
    "state-of-signatures": [
        _ask(),
        assistant(
            *_step(
                _thought("signed", signature="c2ln"),
                _thought("  ", signature="c2ln"),
                _thought("", redactedData="cmVk"),
                _thought("", redactedContent="Y29u"),
                text(""),
                text("said"),
                tool("toolu_1"),
            ),
            *_step(_thought("unsigned"), tool("toolu_2")),
            *_step(_thought("   "), text("  end  \n")),
        ),
    ],
    "state-of-anthropic": [
        _ask(),
        assistant(
            *_step(
                {**_thought("signed"), "metadata": {"anthropic": {"signature": "c2ln"}}},
                text(""),
                tool("toolu_1", metadata={"anthropic": {"caller": {"type": "direct"}}}),
            ),
            *_step({**_thought(""), "metadata": {"anthropic": {"redactedData": "cmVk"}}}, text("end")),
        ),
    ],
    "state-of-thoughts": [
        _ask(),
        assistant(
            *_step(
                _thought("thinks", thoughtSignature="dGgx"),
                _thought("", thoughtSignature="dGgy"),
                text("", **_state(thoughtSignature="dGgz")),
                text("said", **_state(thoughtSignature="dGg0")),
                tool("call_1", **_state(thoughtSignature="dGg1")),
                tool("call_2"),
            ),
            *_step(tool("call_3", metadata={"google": {"thoughtSignature": "dGg2"}})),
            *_step(tool("call_4", metadata={"vertex": {"thoughtSignature": "dGg3"}})),
            *_step(text("end")),
        ),
    ],
    "state-of-details": [
        _ask(),
        assistant(
            *_step(
                _thought(
                    "by text",
                    reasoning_details=[{"type": "reasoning.text", "text": "by text", "signature": "c2ln", "index": 0}],
                ),
                text("said", **_state(reasoning_details=[])),
                tool(
                    "call_1",
                    **_state(
                        reasoning_details=[
                            {"type": "reasoning.text", "text": "by text", "signature": "c2ln", "index": 0},
                            {"type": "reasoning.encrypted", "data": "ZW5j", "format": "google-gemini-v1", "index": 1},
                        ]
                    ),
                ),
            ),
            *_step(
                _thought(
                    "sealed",
                    reasoning_details=[{"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", "index": 0}],
                ),
                tool("call_2"),
            ),
            *_step(_thought("without"), tool("call_3")),
            *_step(
                _thought("one", reasoning_details=[{"type": "reasoning.summary", "summary": "one", "index": 0}]),
                _thought("two", reasoning_details=[{"type": "reasoning.text", "text": "two", "index": 1}]),
                text("end"),
            ),
        ),
    ],
    "state-of-thinking": [
        _ask(),
        assistant(
            *_step(
                _thought("plan", thinking={"type": "thinking", "thinking": [{"type": "text", "text": "plan"}]}),
                text("said"),
                tool("call_1"),
            ),
            *_step(_thought("bare", thinking={"type": "other"}), text("end")),
        ),
    ],
    "state-of-opaque": [
        _ask(),
        assistant(
            *_step(
                _thought("open", reasoningOpaque="b3Bx"),
                text("said", **_state(reasoningOpaque="b3By")),
                tool("call_1", **_state(reasoningOpaque="b3Bz")),
            ),
            *_step(_thought("alone"), tool("call_2", **_state(reasoningOpaque="b3B0"))),
            *_step(text("end", **_state(copilot_cache_control={"type": "ephemeral"}))),
        ),
    ],
    "results-with-media": [
        _ask(),
        assistant(
            *_step(
                tool("call_1", attachments=[_file("image/png", PNG)]),
                tool("call_2", attachments=[_file("application/pdf", PDF, filename="a.b.pdf")]),
                tool("call_3", output="", attachments=[_file("image/png", PNG), _file("image/jpeg", PNG)]),
                tool("call_4", attachments=[_file("text/plain", "aGk="), _file("audio/wav", "UklGRg==")]),
            ),
            *_step(text("seen")),
        ),
        _ask(words="more"),
        assistant(*_step(tool("call_5", output="x", attachments=[_file("application/pdf", PDF)]))),
    ],
    "results-with-text-only-attachments": [
        _ask(),
        assistant(
            *_step(tool("call_1", attachments=[_file("text/csv", "YSxi", filename="a.csv")])), *_step(text("seen"))
        ),
    ],
    "results-of-kinds": [
        _ask(),
        assistant(
            *_step(
                tool("call_1", output=""),
                tool("call_2", output=["a", {"b": 1.0}]),
                tool("call_3", "error", error=""),
                tool("call_4", "error", metadata={}),
                tool("call_5", "pending"),
                tool("call_6", "running"),
                tool("call_7", tool="other", input={}),
                tool("call_8", input=[1, 2]),
                tool("call_9", input="text"),
            ),
            *_step(text("")),
        ),
    ],
    "results-run-by-the-provider": [
        _ask(),
        assistant(
            *_step(
                text("look"),
                tool("srv_1", tool="web_search", metadata={"providerExecuted": True, "KEY": {"itemId": "ws_1"}}),
                tool("srv_2", "error", tool="code_execution", metadata={"providerExecuted": True}),
                tool("call_1"),
            ),
            *_step(text("end")),
        ),
    ],
    "files-of-the-user": [
        user(
            text("see"),
            _file("image/png", PNG, filename="a.png"),
            _file("application/pdf", PDF, filename="my.report.pdf"),
            _file("application/pdf", PDF),
        ),
        assistant(*_step(text("seen"))),
        user(_file("image/png", PNG)),
        assistant(*_step(text("seen"))),
    ],
    "files-of-other-kinds": [user(text("see"), _file("image/heic", "AAAAGGZ0eXBoZWlj", filename="a.heic"))],
    "files-of-svg": [user(text("see"), _file("image/svg+xml", "PHN2Zy8+"))],
    "files-of-csv": [user(text("see"), _file("text/csv", "YSxi", filename="a.csv"))],
    "files-of-bytes": [user(text("see"), _file("application/octet-stream", "AAEC", filename="a.bin"))],
    "calls-without-words": [
        _ask(),
        assistant(*_step(tool("functions.bash:0"), tool("a b/c")), *_step(_thought("hm"), tool("call_" + "x" * 70))),
        _ask(words="again"),
        assistant(*_step(_thought("only thought"))),
        _ask(words=" "),
    ],
    "models-that-changed": [
        _ask(),
        assistant(
            *_step(_thought("elsewhere", signature="c2ln"), text("said", **_state(itemId="msg_1")), tool("call_1")),
            *_step(text("end")),
            providerID="elsewhere",
        ),
        _ask(words="on"),
        assistant(
            *_step(_thought("half", signature="c2ln"), text("half"), tool("call_2", "error", error="aborted")),
            error={"name": "MessageAbortedError", "data": {"message": "aborted"}},
        ),
        _ask(words="on"),
        assistant(*_step(text("lost")), error={"name": "APIError", "data": {"message": "no", "isRetryable": False}}),
    ],
}
"""Sessions of the model ``acme/m-1`` by name; ``KEY`` in metadata stands for the way's own."""

SESSIONS = [*OWN_SESSIONS, *CORPUS_SESSIONS]


def session_of(name: str, way: Way) -> Session:
    """The session ``name`` as it is sent down ``way``."""
    return decode(rows_of(name, way))


def rows_of(name: str, way: Way) -> SessionRows:
    """Its rows, every turn of its own model moved to the way's."""
    if name in OWN_SESSIONS:
        return _own_rows(OWN_SESSIONS[name], way)
    rows = corpus_rows(name, RECORDINGS[name]["session"])
    own = tuple(RECORDINGS[name]["model"].split("/", 1))
    return SessionRows(
        {**rows.session, "version": CLIENT},
        [{**row, "data": _moved(row["data"], own, way)} for row in rows.messages],
        [{**row, "data": _keyed(row["data"], way)} for row in rows.parts],
    )


def _own_rows(turns: list[_Turn], way: Way) -> SessionRows:
    messages, parts = [], []
    for number, (data, blocks) in enumerate(turns):
        message, at = f"msg_{number:04}", 1_790_000_000_000 + number
        stamps = {"session_id": "ses_1", "time_created": at, "time_updated": at}
        full = {**data, "time": {"created": at, "completed": at}, **_filler(data, f"msg_{max(number - 1, 0):04}")}
        messages.append({"id": message, **stamps, "data": _moved(json.dumps(full), ("acme", "m-1"), way)})
        for place, block in enumerate(blocks):
            row = {"id": f"prt_{number:04}{place:03}", "message_id": message, **stamps}
            parts.append({**row, "data": json.dumps(block).replace('"KEY"', f'"{way.key}"')})
    return SessionRows({"id": "ses_1", "version": "1.18.33"}, messages, parts)


def _filler(data: dict[str, Any], parent: str) -> dict[str, Any]:
    """What the client wants to find in an answer's row."""
    if data["role"] == "user":
        return {}
    tokens = {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    return {
        "parentID": parent,
        "mode": "build",
        "agent": "build",
        "path": {"cwd": "/", "root": "/"},
        "cost": 0,
        "tokens": tokens,
    }


def _moved(stored: str, own: tuple[str, ...], way: Way) -> str:
    """A message's JSON with the session's own model replaced by the way's."""
    data = json.loads(stored)
    model = data.get("model")
    if isinstance(model, dict) and (model.get("providerID"), model.get("modelID")) == own:
        data["model"] = {**model, "providerID": way.provider, "modelID": way.model}
    if data.get("modelID") == own[1]:
        data["modelID"] = way.model
        data["providerID"] = way.provider if data.get("providerID") == own[0] else data.get("providerID")
    return json.dumps(data)


def _keyed(stored: str, way: Way) -> str:
    """A part's JSON with the state that one Anthropic package keeps under the way's key as well."""
    data = json.loads(stored)
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if isinstance(metadata, dict) and "anthropic" in metadata:
        return json.dumps({**data, "metadata": {**metadata, way.key: metadata["anthropic"]}})
    return stored


@cache
def recorded() -> dict[tuple[str, str], dict[str, Any]]:
    """The recordings by way and session."""
    lines = lzma.decompress(RECORDED.read_bytes()).decode().splitlines()
    return {(entry["way"], entry["session"]): entry for entry in map(json.loads, lines)}
