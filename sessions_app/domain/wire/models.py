"""What models accept, as data: one table for every model-dependent rule (docs/contract/wire.md#1c, #2c, #4, #6.6).

A row applies to model ids in which its pattern is found, after the id is lower-cased and "." written as "-". The first
row that fits wins. Ids that only fit a family row are *unknown*: they get the family's defaults, and request rules on
them are never more than warnings. Names after August 2026 come from vendor documents only (docs/contract/wire.md#7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """``known`` is false where only the family could be told. Every field that is None means "not known"."""

    family: Literal["claude", "gpt", "gemini", "deepseek", "kimi", "mistral", "nova", "gemma", ""] = ""
    known: bool = False
    prefill: bool | None = None
    """Whether a request may end in an assistant turn (A17)."""
    thinking: Literal["manual", "both", "adaptive", ""] = ""
    """Thinking modes: manual (``enabled`` with a budget), adaptive, or both; "" = not known (A21, A30)."""
    always_thinks: bool = False
    omits_thinking: bool = False
    """Thinking comes back with empty text and a signature, and must be sent back so (docs/contract/wire.md#1c, omitted
    display)."""
    sampling: bool = True
    """Whether temperature, top_p and top_k may be set (A30)."""
    forced_tools: bool = True
    """Whether ``tool_choice`` may force a tool (A30)."""
    mid_system: bool | None = None
    """Whether role "system" may stand inside ``messages`` (A22)."""
    prefix_bound: bool = False
    """Thinking is bound to everything before it (A24)."""
    max_images: int = 600
    completion_tokens_only: bool = False
    """``max_tokens``, ``stop`` and a temperature other than 1 are refused (O15)."""
    signed_calls: bool = False
    """Function calls of the current turn need a thought signature (G4)."""
    model_tail: bool = True
    """Whether a request may end with a model turn (G8), and text may stand beside function responses (G9)."""


_OLD = ModelFacts("claude", known=True, prefill=True, thinking="manual", mid_system=False, max_images=100)
_46 = ModelFacts("claude", known=True, prefill=False, thinking="both", mid_system=False)
_47 = ModelFacts(
    "claude",
    known=True,
    prefill=False,
    thinking="adaptive",
    omits_thinking=True,
    sampling=False,
    mid_system=False,
)
_48 = replace(_47, mid_system=True)
_FABLE = replace(_48, always_thinks=True)
_BOUND = replace(_48, prefix_bound=True)
_GPT5 = ModelFacts("gpt", known=True, completion_tokens_only=True)
_GEMINI3 = ModelFacts("gemini", known=True, signed_calls=True)
_GEMINI36 = replace(_GEMINI3, model_tail=False)

TABLE: tuple[tuple[str, ModelFacts], ...] = (
    (r"claude-(fable|mythos)-5-1(?!\d)", replace(_BOUND, always_thinks=True, forced_tools=False)),
    (r"claude-(fable|mythos)-5-2(?!\d)", replace(_BOUND, always_thinks=True)),
    (r"claude-(opus|sonnet|haiku)-5-5(?!\d)", _BOUND),
    (r"claude-(fable|mythos)-5(?!\d)", _FABLE),
    (r"claude-sonnet-5(?!\d)", _48),
    (r"claude-opus-4-8(?!\d)", _48),
    (r"claude-opus-4-7(?!\d)", _47),
    (r"claude-(opus|sonnet)-4-6(?!\d)", _46),
    (r"claude-(opus|sonnet|haiku)-4-[0-5](?!\d)", _OLD),
    (r"claude-(opus|sonnet|haiku)-4(-\d{8}|$|[^\d-])", _OLD),
    (r"claude-(opus|sonnet|haiku)-4-\d{8}", _OLD),
    (r"claude-(3|2|v2|instant)(?!\d)", _OLD),
    (r"gpt-5(?!\d)", _GPT5),
    (r"(^|/)o[134](-|$)", _GPT5),
    (r"gpt-(3-5|4)", ModelFacts("gpt", known=True)),
    (r"gemini-3-[6-9](?!\d)", _GEMINI36),
    (r"gemini-[4-9](?!\d)", _GEMINI36),
    (r"gemini-3(?!\d)", _GEMINI3),
    (r"gemini-[12](?!\d)", ModelFacts("gemini", known=True)),
    (r"gemma", ModelFacts("gemma", known=True)),
    (r"deepseek-(reasoner|r1)(?!\d)", ModelFacts("deepseek", known=True, always_thinks=True)),
    (r"kimi-k2-thinking", ModelFacts("kimi", known=True, always_thinks=True)),
    (r"nova-(lite|micro|pro|premier)", ModelFacts("nova", known=True)),
)

FAMILIES: tuple[tuple[str, ModelFacts], ...] = (
    ("claude", ModelFacts("claude")),
    ("gemini", ModelFacts("gemini")),
    ("gpt", ModelFacts("gpt")),
    ("deepseek", ModelFacts("deepseek")),
    ("kimi", ModelFacts("kimi")),
    ("mistral", ModelFacts("mistral")),
    ("devstral", ModelFacts("mistral")),
    ("codestral", ModelFacts("mistral")),
    ("pixtral", ModelFacts("mistral")),
    ("mixtral", ModelFacts("mistral")),
    ("nova", ModelFacts("nova")),
)

_COMPILED = tuple((re.compile(pattern), facts) for pattern, facts in TABLE)


@lru_cache(maxsize=256)
def model_facts(model: str) -> ModelFacts:
    """The row for a model id of any provider (``claude-opus-4-8``, ``anthropic/claude-opus-4.8``,
    ``us.anthropic.claude-...-v1:0``)."""
    name = model.lower().replace(".", "-")
    for pattern, facts in _COMPILED:
        if pattern.search(name):
            return facts
    for fragment, facts in FAMILIES:
        if fragment in name:
            return facts
    return ModelFacts()
