"""Whether the OpenAI Responses API takes a history (docs/contract/wire.md#3b). R18 (alternation, last role, adjacency)
is no rule, and tested so."""

from __future__ import annotations

from typing import Any

from sessions_app.domain.protocols.checking import Request, broken_text, objects, run, text_of
from sessions_app.domain.protocols.openai_responses import items, pairing
from sessions_app.domain.protocols.openai_responses.items import View
from sessions_app.domain.protocols.openai_responses.table import TABLE
from sessions_app.domain.wire.lowered import Provenance
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation

CHECKS = (
    broken_text,
    items.ids,
    items.call_ids,
    items.content_types,
    items.required_members,
    items.reasoning_content,
    items.functions,
    items.media,
    items.unreplayable_reasoning,
    items.sealed_shape,
    pairing.unanswered_calls,
    pairing.unknown_outputs,
    pairing.repeated_calls,
    pairing.repeated_items,
    pairing.lone_reasoning,
    pairing.calls_without_reasoning,
    pairing.references,
    pairing.reasoning_before_calls,
)

GATEWAYS = frozenset({"deepseek"})
"""Profiles whose Responses gateway wants reasoning before every call (R17)."""


def check(body: dict[str, Any], target: Target, provenance: Provenance) -> list[Violation]:
    """Every rule the body breaks, what the API would say first coming first; warnings have certainty "uncertain"."""
    view = _view(body, target, provenance)
    return run(view.request, view, CHECKS)


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Whether an id is still stored (R9) and whether encrypted content was made for this caller (R10) only the server
    knows."""
    listed = objects(body.get("input"))
    stored = body.get("store") is not False and any(text_of(item.get("id")) for item in listed)
    sealed = any("encrypted_content" in item for item in listed)
    return (*(("R9",) if stored else ()), *(("R10",) if sealed else ()))


def _view(body: dict[str, Any], target: Target, provenance: Provenance) -> View:
    return items.read(
        Request(body, target, provenance, TABLE),
        gateway=target.profile in GATEWAYS and target.thinking == "on",
    )
