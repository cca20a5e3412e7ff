"""Whether the OpenAI Responses API takes a history (docs/contract/wire.md#3b). R18 (alternation, last role, adjacency)
is no rule, and tested so."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.lowering.v1_packages import SDK_KEYS, package_of
from sessions_app.domain.protocols.checking import Request, broken_text, objects, run, text_of
from sessions_app.domain.protocols.openai_responses import items, pairing
from sessions_app.domain.protocols.openai_responses.items import View
from sessions_app.domain.protocols.openai_responses.table import TABLE
from sessions_app.domain.protocols.traits import Check, Traits, applicable
from sessions_app.domain.wire.lowered import Lowered, Provenance
from sessions_app.domain.wire.providers import COPILOT
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


BODY: Final = frozenset({"media", "content-result", "sealed", "server"})
"""Where the writer may refuse, or something is left to the server (``not_checkable``)."""


def checks(target: Target) -> tuple[Check, ...]:
    """What runs for this target."""
    return CHECKS if _gateway(target) else CHECKS[:-1]


def check(
    body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None = None
) -> list[Violation]:
    """Every rule the body breaks, what the API would say first coming first; warnings have certainty "uncertain"."""
    view = _view(body, target, provenance, traits)
    return run(view.request, view, checks(target))


def unwritten(lowered: Lowered, target: Target, traits: Traits) -> tuple[list[Violation], tuple[str, ...]] | None:
    """What ``check`` and ``not_checkable`` say of the V1 client's body for a history whose one trait of interest is
    encrypted reasoning in OpenAI's form; else None."""
    if "rewritten" in traits or not BODY.isdisjoint(traits - {"sealed"}) or applicable(checks(target), traits):
        return None
    package = package_of(target)
    key = SDK_KEYS.get(package, "openai")
    held = (
        block["providerMetadata"]
        for message in lowered.messages
        for block in message["content"]
        if block["type"] == "reasoning" and "providerMetadata" in block
    )
    sealed = package != COPILOT and any(
        "reasoningEncryptedContent" in one.get(target.provider if target.provider in one else key, {}) for one in held
    )
    return [], ("R10",) if sealed else ()


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Whether an id is still stored (R9) and whether encrypted content was made for this caller (R10) only the server
    knows."""
    listed = objects(body.get("input"))
    stored = body.get("store") is not False and any(text_of(item.get("id")) for item in listed)
    sealed = any("encrypted_content" in item for item in listed)
    return (*(("R9",) if stored else ()), *(("R10",) if sealed else ()))


def _view(body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None) -> View:
    return items.read(
        Request(body, target, provenance, TABLE, traits=traits),
        _gateway(target),
    )


def _gateway(target: Target) -> bool:
    return target.profile in GATEWAYS and target.thinking == "on"
