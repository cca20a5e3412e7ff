"""Every history there is to test with, and damaged copies of each: of the corpus, of what a V2 server recorded, of the
goldens, of the cases. The same ones in every run."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from zlib import crc32

from sessions_app.domain import dialects
from sessions_app.domain.model import Row, Session, SessionRows
from sessions_app.domain.rowdoc import parse_value
from tests.factories.goldens import goldens
from tests.factories.recordings import INDEX, corpus_rows
from tests.factories.v2recordings import RECORDINGS
from tests.paths import CASES, CORPUS
from tests.rules.test_derived import CASES as DERIVED

MODELS = (
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-8"),
    ("kimi-for-coding", "kimi-k2"),
    ("openai", "gpt-5"),
    ("xai", "grok-4"),
    ("deepseek", "deepseek-reasoner"),
    ("deepseek", "deepseek-chat"),
    ("mistral", "devstral-medium"),
    ("google", "gemini-3-pro-preview"),
    ("google", "gemini-3.6-pro"),
    ("google", "gemini-2.5-pro"),
    ("amazon-bedrock", "anthropic.claude-sonnet-4-5"),
    ("amazon-bedrock", "mistral.mistral-large"),
    ("amazon-bedrock", "amazon.nova-pro"),
    ("moonshotai", "kimi-k2-thinking"),
    ("groq", "qwen3"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("fireworks-ai", "kimi"),
    ("github-copilot", "claude-sonnet-4"),
    ("github-copilot", "gpt-5"),
    ("vllm", "some"),
    ("alibaba", "qwen3-coder"),
    ("google-vertex", "gemini-3.6-pro"),
    ("cerebras", "glm"),
    ("lab", "unknown"),
)
ODD: tuple[Any, ...] = (
    *(None, "", " ", "\n", "\u2003", 0, -1, 1.5, [], {}, True, 1e400),
    *("x" * 70, "a\ud83d", "caf\u00e9 \u2028", "a\0b", "tool.name", "call:1", "[]", "data:image/png;base64,AAAA"),
    {"0": 1, "a": 2},
)
STATE: tuple[tuple[str, Any], ...] = (
    ("metadata", {"anthropic": {"signature": ""}}),
    ("metadata", {"anthropic": {"signature": "c2ln"}}),
    ("metadata", {"anthropic": {"redactedData": "c2ln"}}),
    ("metadata", {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "zz"}}),
    ("metadata", {"google": {"thoughtSignature": "c2ln"}}),
    ("metadata", {"openaiCompatible": {"tool_calls": [], "reasoning": "x"}}),
    ("metadata", {"copilot": {"id": "other"}}),
    ("metadata", {"providerExecuted": True}),
    ("executed", True),
    ("state", {"signature": "c2ln"}),
    ("cache_control", {}),
    ("signature", "s"),
    ("0", 1),
)
WORDS = ("completed", "error", "pending", "running", "text", "reasoning", "tool", "user", "assistant", "step-start")


@dataclass(frozen=True, slots=True)
class History:
    """One history; ``seed`` 0 is as it was found, others are damaged."""

    name: str
    base: Callable[[], SessionRows]
    seed: int

    def __str__(self) -> str:
        return f"{self.name} {self.seed}" if self.seed else self.name

    def session(self) -> Session:
        rows = self.base()
        return dialects.decode(damaged(rows, random.Random(str(self)), self.seed) if self.seed else rows)


def histories(copies: int = 6, one_in: int = 1) -> list[History]:
    """All of them, each with so many damaged ``copies``; of ``one_in``, about one."""
    found = (History(name, base, seed) for name, base in _bases().items() for seed in range(copies + 1))
    return [one for one in found if crc32(str(one).encode()) % one_in == 0]


@cache
def _bases() -> dict[str, Callable[[], SessionRows]]:
    documents = {path.stem: json.loads(path.read_text())["input"] for path in sorted(CASES.glob("*.json"))}
    documents |= {name: case["input"] for name, case in DERIVED.items()}
    return {
        **{
            name: _bound(corpus_rows, name, entry["session"])
            for name, entry in INDEX.items()
            if entry["session"] and (CORPUS / f"{name}.db").exists()
        },
        **{name: _bound(parse_value, one.rows) for name, one in RECORDINGS.items()},
        **{name: _bound(parse_value, document) for name, document in documents.items()},
        **{repr(golden): golden.rows for golden in goldens()},
    }


def _bound(read: Callable[..., SessionRows], *given: Any) -> Callable[[], SessionRows]:
    return lambda: read(*copy.deepcopy(given))


def damaged(rows: SessionRows, dice: random.Random, seed: int) -> SessionRows:
    """A copy with other models put in and, but for every third, values changed; rows lost, call ids repeated."""
    model = dice.choice(MODELS)

    def row(stored: Row, *, part: bool) -> Row:
        stored = dict(stored)
        try:
            value = json.loads(stored["data"])
        except (KeyError, TypeError, ValueError):
            return stored
        if isinstance(value, dict) and not part:
            _name(value, model, dice)
        if seed % 3:
            value = _mutated(value, dice)
        stored["data"] = json.dumps(value, ensure_ascii=dice.random() < 0.5)
        return stored

    made = replace(
        rows,
        messages=[row(one, part=False) for one in rows.messages],
        parts=[row(one, part=True) for one in rows.parts if dice.random() > 0.02],
        session_message=[row(one, part=False) for one in rows.session_message],
    )
    if seed % 2 and made.parts:
        _repeat_an_id(*dice.choices(made.parts, k=2))
    return made


def _name(data: dict[str, Any], model: tuple[str, str], dice: random.Random) -> None:
    for holder in (data.get("model"), data):
        if isinstance(holder, dict) and dice.random() < 0.9:
            if "providerID" in holder:
                holder["providerID"] = model[0]
            for key in ("modelID",) if holder is data else ("modelID", "id"):
                if key in holder:
                    holder[key] = model[1]


def _mutated(value: Any, dice: random.Random, depth: int = 0) -> Any:
    if isinstance(value, dict):
        return dict(_members(value, dice, depth))
    if isinstance(value, list):
        return [_mutated(member, dice, depth + 1) for member in value if dice.random() > 0.01]
    if value in WORDS and isinstance(value, str) and dice.random() < 0.02:
        return dice.choice((*WORDS, "weird", "tool_result"))
    return value


def _members(value: dict[str, Any], dice: random.Random, depth: int) -> Iterator[tuple[str, Any]]:
    for key, member in value.items():
        chance = dice.random()
        if chance < 0.012:
            continue
        yield key, dice.choice(ODD) if chance < 0.02 else _mutated(member, dice, depth + 1)
    if dice.random() < 0.03:
        yield dice.choice(STATE)


def _repeat_an_id(one: Row, other: Row) -> None:
    try:
        first, second = json.loads(one["data"]), json.loads(other["data"])
        if "callID" in first and "callID" in second:
            other["data"] = json.dumps({**second, "callID": first["callID"]})
    except (TypeError, ValueError, KeyError):
        pass
