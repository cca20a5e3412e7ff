"""Whether the Anthropic Messages API takes a history, and with which words it refuses (docs/contract/wire.md#1b, #c8
and #c9, #6.8.d).

A11 (shapes measured as legal) is no check: it says what the others must not flag, and is tested so.
"""

from __future__ import annotations

from typing import Any, Final

from sessions_app.domain.protocols.anthropic_messages import content, images, pairing, parameters, thinking
from sessions_app.domain.protocols.anthropic_messages.table import OLDER_SOFT, TABLE
from sessions_app.domain.protocols.anthropic_messages.unwritten import Turns, plain
from sessions_app.domain.protocols.anthropic_messages.view import THINKING, read
from sessions_app.domain.protocols.checking import Request, objects, run
from sessions_app.domain.protocols.traits import Check, Traits
from sessions_app.domain.wire.lowered import Lowered, Provenance
from sessions_app.domain.wire.models import model_facts
from sessions_app.domain.wire.providers import OLDER_ANTHROPIC
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation

CHECKS = (
    pairing.malformed_calls,
    pairing.malformed_definitions,
    content.whole_body,
    thinking.thinking_shape,
    thinking.cached_thinking,
    content.error_results,
    parameters.cache_marks,
    parameters.thinking_parameters,
    parameters.model_parameters,
    parameters.tool_parameters,
    content.first_message,
    content.empty_text,
    content.empty_messages,
    content.blank_text,
    content.nested_empty_text,
    content.same_roles,
    content.system_messages,
    content.assistant_tail,
    images.images,
    pairing.repeated_calls,
    pairing.unanswered_calls,
    pairing.unknown_results,
    pairing.unknown_server_results,
    pairing.repeated_results,
    pairing.blocks_behind_calls,
    thinking.thinking_first,
    thinking.thinking_while_off,
    thinking.emptied_thinking,
)


BODY: Final = frozenset({"media", "content-result", "signed", "server"})
"""Where the writer may refuse, or something is left to the server (``not_checkable``)."""


def checks(target: Target) -> tuple[Check, ...]:
    """What runs for this target."""
    return CHECKS


def check(
    body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None = None
) -> list[Violation]:
    """Every rule the body breaks, what the API would say first coming first; warnings have certainty "uncertain"."""
    older = target.profile == OLDER_ANTHROPIC
    view = read(Request(body, target, provenance, TABLE, OLDER_SOFT if older else frozenset(), traits), older)
    return run(view.request, view, CHECKS)


def unwritten(lowered: Lowered, target: Target, traits: Traits) -> tuple[list[Violation], tuple[str, ...]] | None:
    """What ``check`` and ``not_checkable`` say of the V1 client's body for a history of these traits, where that can
    be told without writing it; else None."""
    if not plain(traits, target):
        return None
    turns = Turns(lowered, target, traits, calls_last=True)
    older = target.profile == OLDER_ANTHROPIC
    request = Request({}, target, turns.provenance, TABLE, OLDER_SOFT if older else frozenset())
    return turns.broken(request), _unsure(target) if turns.thinks else ()


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Rules that only the server can decide for this body: whether thinking is what it signed, here and behind this
    prefix."""
    for message in objects(body.get("messages")):
        if any(block.get("type") in THINKING for block in objects(message.get("content"))):
            return _unsure(target)
    return ()


def _unsure(target: Target) -> tuple[str, ...]:
    return ("A23", "A23b", "A24") if model_facts(target.model).prefix_bound else ("A23", "A23b")
