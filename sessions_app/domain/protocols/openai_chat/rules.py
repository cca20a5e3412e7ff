"""Whether OpenAI Chat Completions, or a compatible server, takes a history (docs/contract/wire.md#2b, #2c, #c7).

O17 (what is no rule at OpenAI: alternation, first role, an assistant tail, empty strings) is no check, and is tested
so.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sessions_app.domain.protocols.checking import Request, broken_text, objects, run
from sessions_app.domain.protocols.openai_chat import fields, pairing, servers
from sessions_app.domain.protocols.openai_chat.profiles import Profile, profile_named
from sessions_app.domain.protocols.openai_chat.table import TABLE
from sessions_app.domain.protocols.openai_chat.view import read
from sessions_app.domain.protocols.traits import Check, Traits
from sessions_app.domain.wire.lowered import Provenance
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation

CHECKS = (
    broken_text,
    fields.roles,
    fields.id_lengths,
    fields.calls,
    fields.images,
    fields.parameters,
    pairing.empty_calls,
    fields.content_required,
    servers.empty_assistants,
    servers.tail_of_unknown_servers,
    pairing.repeated_calls,
    pairing.unanswered_calls,
    pairing.stray_results,
)


BODY: Final = frozenset({"media", "content-result", "own-fields", "server"})
"""Where the writer may refuse, or something is left to the server (``not_checkable``)."""


def checks(target: Target) -> tuple[Check, ...]:
    """What runs for this target, with what is its server's own."""
    return _checks(profile_named(target.profile))


@cache
def _checks(profile: Profile) -> tuple[Check, ...]:
    return (*CHECKS, *(found for name, found in servers.SERVER_CHECKS.items() if name in profile.rules))


def check(
    body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None = None
) -> list[Violation]:
    """Every rule the body breaks, what the server would say first coming first; warnings have certainty "uncertain"."""
    profile = profile_named(target.profile)
    request = Request(body, target, provenance, TABLE, profile.soft, traits)
    return run(request, read(request, profile), _checks(profile))


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Image tiling (O16) is the server's own arithmetic."""
    for message in objects(body.get("messages")):
        if any(part.get("type") == "image_url" for part in objects(message.get("content"))):
            return ("O16",)
    return ()
