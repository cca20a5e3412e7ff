"""What a user asks of a repair: one type for every face, and the one place where its names are checked
(docs/contract/design.md#9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from sessions_app.domain import dialects
from sessions_app.domain.model import Session
from sessions_app.domain.near import unknown
from sessions_app.domain.repair import Operation
from sessions_app.domain.rules import REGISTRY
from sessions_app.domain.wire.target import Target, Thinking, infer_target, parse_target

type Level = Literal["safe", "lossy"]
type Left = Literal["", "not-asked", "manual", "offered", "lossy"]

LEVELS: tuple[Level, ...] = get_args(Level.__value__)
THINKING: tuple[Thinking, ...] = get_args(Thinking.__value__)
RULES_LISTED: Final = "docs/rules.md lists those that are known"
NOTHING: Final = "none"
"""The choice that leaves a finding as it is."""


class WishError(ValueError):
    """A wish names what nothing here knows; the words say what was probably meant."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to repair, how far, and for whom. Nothing named = everything that is safe."""

    rules: tuple[str, ...] = ()
    """Only findings of these rules, also where they are only offered (info)."""
    findings: tuple[str, ...] = ()
    """Only these findings, by key, also where they are only offered."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Finding key or rule code -> the name of a choice, whatever its safety; ``NOTHING`` leaves it alone."""
    messages: tuple[str, ...] = ()
    """Only findings at these messages."""
    safety: Level = "safe"
    target: str = ""
    """PROTOCOL[:PROVIDER/MODEL]; "" = the session's own."""
    thinking: Thinking = "auto"
    history: str = ""
    """Of a session with two histories: the dialect of the one to repair; "" = the one its client uses."""
    operations: tuple[Operation, ...] | None = None
    """What was asked for by hand: it is the whole plan. None = what the rules plan."""
    force: bool = False
    """Also change what a client that has the file open may still be working on."""

    @classmethod
    def of(
        cls,
        *,
        rules: Iterable[str] = (),
        findings: Iterable[str] = (),
        choices: Mapping[str, str] | None = None,
        messages: Iterable[str] = (),
        safety: str = "safe",
        target: str = "",
        thinking: str = "auto",
        history: str = "",
        force: bool = False,
    ) -> Wish:
        """The wish in words from outside. Raises ``WishError``."""
        named = tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(findings)), dict(choices or {})
        problems = [
            *_strange("rule", named[0], REGISTRY),
            *_strange("rule", (key.partition(":")[0] for key in (*named[1], *named[2])), REGISTRY),
            *_strange("safety", (safety,), LEVELS),
            *_strange("thinking", (thinking,), THINKING),
            *_strange("history", (history,), ("", *(dialect.name for dialect in dialects.dialects()))),
        ]
        if target:
            try:
                parse_target(target)
            except ValueError as problem:
                problems.append(str(problem))
        if problems:
            raise WishError(" ".join(dict.fromkeys(problems)))
        return cls(
            rules=named[0],
            findings=named[1],
            choices=named[2],
            messages=tuple(dict.fromkeys(messages)),
            safety="lossy" if safety == "lossy" else "safe",
            target=target,
            thinking=next(word for word in THINKING if word == thinking),
            history=history,
            force=force,
        )

    def goal(self, session: Session) -> Target | None:
        """The target it is planned for; None = the session's own, told anew as its repair goes on.

        Raises ``ValueError`` with words where ``target`` cannot be read.
        """
        if self.target:
            return parse_target(self.target, self.thinking, session)
        return None if self.thinking == "auto" else infer_target(session, self.thinking)

    def leaves(self, key: str, rule: str, severity: str, safety: str) -> Left:
        """Why a finding is left alone, as far as these words tell; "" = it is repaired where it can be. One that is
        "lossy" may have a safe choice besides."""
        named = self.choices.get(key) or self.choices.get(rule)
        if named is not None:
            return "not-asked" if named == NOTHING else ""
        if (self.findings and key not in self.findings) or (self.rules and rule not in self.rules):
            return "not-asked"
        if safety == "manual":
            return "manual"
        if severity == "info" and not (self.findings or rule in self.rules):
            return "offered"
        return "lossy" if safety == "lossy" and self.safety != "lossy" else ""

    @property
    def named(self) -> bool:
        """It is for findings or rules that are named, and for no others."""
        return bool(self.findings or self.rules)

    @property
    def as_scanned(self) -> bool:
        """It is for the session's own target and history, as a scan judges them."""
        return not self.target and self.thinking == "auto" and not self.history and self.operations is None

    def to_json(self) -> dict[str, Any]:
        """As JSON has it; operations by hand belong to one session's rows and are left out."""
        return {
            "rules": list(self.rules),
            "findings": list(self.findings),
            "choices": dict(self.choices),
            "messages": list(self.messages),
            "safety": self.safety,
            "target": self.target,
            "thinking": self.thinking,
            "history": self.history,
            "force": self.force,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Wish:
        """What ``to_json`` gave, also that of an older version; its names were checked then. Other members are passed
        over."""
        return cls(
            rules=tuple(document.get("rules", ())),
            findings=tuple(document.get("findings", ())),
            choices=dict(document.get("choices", {})),
            messages=tuple(document.get("messages", ())),
            safety=document.get("safety", "safe"),
            target=document.get("target", ""),
            thinking=document.get("thinking", "auto"),
            history=document.get("history", ""),
            force=bool(document.get("force")),
        )


DEDUPE = Wish(rules=("duplicate-call-id-in-message",))
"""The service ``dedupe``: one tool part per call id in a message."""
DROP = Wish(rules=("thinking-lost-on-error",), choices={"thinking-lost-on-error": "drop"}, safety="lossy")
"""The service ``drop``: a failed turn that loses its thinking loses its calls and results too."""


def _strange(kind: str, names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """A sentence for each name that is not known, with the nearest ones that are."""
    where = RULES_LISTED if known is REGISTRY else ""
    return (unknown(kind, name, known, where) for name in names if name not in known)


def choices_named(pairs: Iterable[str]) -> dict[str, str]:
    """Choices written KEY=NAME. Raises ``WishError``."""
    found = {}
    for pair in pairs:
        key, equals, name = pair.partition("=")
        if not (key and equals and name):
            raise WishError(f"A choice is written KEY=NAME, as in stuck-tool=none; got {pair!r}.")
        found[key] = name
    return found


def rule_known(code: str) -> str:
    """The code of a rule from outside, as it is. Raises ``WishError``."""
    for problem in _strange("rule", (code,), REGISTRY):
        raise WishError(problem)
    return code
