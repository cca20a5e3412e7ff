"""The wire formats: one package each, with its writers and its rules, and the line here that registers it.

Modules are loaded when a protocol is first used: all of them take 0.1 s of processor time, which commands that judge
and lower nothing need not wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.patience import go_on
from sessions_app.domain.protocols.table import WireRule
from sessions_app.domain.wire.lowered import Body, Lowered, Provenance
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Verdict, Violation


@dataclass(frozen=True, slots=True)
class Protocol:
    """A wire format. ``package`` holds ``v1`` and ``v2`` (the writers of either client, ``write(lowered, target)``),
    ``rules`` (``check``, ``not_checkable``) and ``table`` (an entry per rule). ``title`` is for people; ``verified``
    says that recordings confirm the V1 writer (docs/contract/design.md#6)."""

    name: ProtocolName
    package: str
    title: str
    verified: bool = False

    def write(self, dialect: str, lowered: Lowered, target: Target) -> Body:
        """The request body as the client of ``dialect`` ("v1" or "v2") would send it."""
        return cast("Body", self._module(dialect).write(lowered, target))

    def check(self, body: dict[str, Any], target: Target, provenance: Provenance) -> list[Violation]:
        """The rules the body breaks, the likeliest answer first; warnings have certainty "uncertain"."""
        return cast("list[Violation]", self._module("rules").check(body, target, provenance))

    def not_checkable(self, body: dict[str, Any], target: Target) -> tuple[str, ...]:
        """Ids of the rules that no offline check can decide for this body."""
        return cast("tuple[str, ...]", self._module("rules").not_checkable(body, target))

    @property
    def rules(self) -> Mapping[str, WireRule]:
        """Every rule of this protocol, by id of docs/wire-rules.md."""
        return cast("Mapping[str, WireRule]", self._module("table").TABLE)

    def _module(self, name: str) -> Any:
        return _imported(f"{__name__}.{self.package}.{name}")


_imported = cache(import_module)
"""``import_module`` asks the import system each time, which takes longer than the checks of a short body."""


REGISTRY: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("anthropic-messages", "anthropic_messages", "Anthropic Messages", verified=True),
        Protocol("openai-chat", "openai_chat", "OpenAI Chat Completions", verified=True),
        Protocol("openai-responses", "openai_responses", "OpenAI Responses"),
        Protocol("gemini", "gemini", "Gemini generateContent"),
        Protocol("bedrock-converse", "bedrock_converse", "Bedrock Converse"),
    )
}


@undisturbed
def judge(body: Body, target: Target) -> Verdict:
    """What the provider would answer to this body: it is accepted exactly when no rule is broken for certain.

    The body must already end in the prompt that would be sent ("continue", docs/contract/design.md#verdict), so that
    tail rules speak of the request.
    """
    go_on()
    protocol = REGISTRY[target.protocol]
    found = protocol.check(body.body, target, body.provenance)
    violations = tuple(violation for violation in found if violation.certainty != "uncertain")
    warnings = tuple(violation for violation in found if violation.certainty == "uncertain")
    return Verdict(target, not violations, violations, warnings, protocol.not_checkable(body.body, target))
