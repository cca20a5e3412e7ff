"""The wire formats: one package each, with its writers and its rules, and the line here that registers it.

Modules are loaded when a protocol is first used: all of them take 0.1 s of processor time, which commands that judge
and lower nothing need not wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.patience import go_on
from sessions_app.domain.protocols.table import WireRule
from sessions_app.domain.protocols.traits import Traits, applicable, by_outline
from sessions_app.domain.wire.lowered import Body, Lowered, Provenance
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Verdict, Violation


@dataclass(frozen=True, slots=True)
class Protocol:
    """A wire format. ``package`` holds ``v1`` and ``v2`` (the writers of either client, ``write(lowered, target)``),
    ``rules`` (``check``, ``not_checkable``, ``checks``, ``BODY``) and ``table`` (an entry per rule). ``title`` is for
    people; ``verified`` says that recordings confirm the V1 writer (docs/contract/design.md#6)."""

    name: ProtocolName
    package: str
    title: str
    verified: bool = False

    def write(self, dialect: str, lowered: Lowered, target: Target) -> Body:
        """The request body as the client of ``dialect`` ("v1" or "v2") would send it."""
        return cast("Body", self._module(dialect).write(lowered, target))

    def check(
        self, body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None = None
    ) -> list[Violation]:
        """The rules the body breaks, the likeliest answer first; warnings have certainty "uncertain". ``traits`` are
        those of the history behind it, where they are known."""
        return cast("list[Violation]", self._module("rules").check(body, target, provenance, traits))

    def silent(self, target: Target, traits: Traits) -> bool:
        """Whether ``target`` is sure to take a history of these traits, with nothing left to say of its body."""
        rules = self._module("rules")
        return (
            "rewritten" not in traits and traits.isdisjoint(rules.BODY) and not applicable(rules.checks(target), traits)
        )

    def by_outline(self, target: Target, traits: Traits) -> bool:
        """Whether the body of a history of these traits can be judged without what its calls were given and gave."""
        return by_outline(applicable(self._module("rules").checks(target), traits), traits)

    def unwritten(
        self, lowered: Lowered, target: Target, traits: Traits
    ) -> tuple[list[Violation], tuple[str, ...]] | None:
        """What ``check`` and ``not_checkable`` would say of the V1 client's body for a history of these traits, where
        the protocol can tell without writing it."""
        told = getattr(self._module("rules"), "unwritten", None)
        return told and cast("tuple[list[Violation], tuple[str, ...]] | None", told(lowered, target, traits))

    def not_checkable(self, body: dict[str, Any], target: Target) -> tuple[str, ...]:
        """Ids of the rules that no offline check can decide for this body."""
        return cast("tuple[str, ...]", self._module("rules").not_checkable(body, target))

    @property
    def rules(self) -> Mapping[str, WireRule]:
        """Every rule of this protocol, by id of docs/wire-rules.md."""
        return cast("Mapping[str, WireRule]", self._module("table").TABLE)

    def load(self) -> None:
        """Load what judging the V1 client's requests takes."""
        for name in ("v1", "rules"):
            self._module(name)

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
def judge(body: Body, target: Target, traits: Traits | None = None) -> Verdict:
    """What the provider would answer to this body: it is accepted exactly when no rule is broken for certain.

    ``traits`` are those of the history behind the body, where they are known: they spare checks that find nothing.
    The body must already end in the prompt that would be sent ("continue", docs/contract/design.md#verdict), so that
    tail rules speak of the request.
    """
    go_on()
    protocol = REGISTRY[target.protocol]
    found = protocol.check(body.body, target, body.provenance, traits)
    return verdict_of(target, found, protocol.not_checkable(body.body, target))


def verdict_of(target: Target, found: Sequence[Violation], not_checkable: tuple[str, ...]) -> Verdict:
    """The verdict that follows from what a protocol's checks found."""
    violations = tuple(violation for violation in found if violation.certainty != "uncertain")
    warnings = tuple(violation for violation in found if violation.certainty == "uncertain")
    return Verdict(target, not violations, violations, warnings, not_checkable)
