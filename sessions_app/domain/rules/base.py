"""What every rule is made of: the rule, its findings with their repairs, and the context a rule looks at (design 2)."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from sessions_app.domain.bodies import Requests
from sessions_app.domain.judging import judged_requests, verdict_on
from sessions_app.domain.model import Message, Part, Session, ToolPart
from sessions_app.domain.repair import Operation
from sessions_app.domain.turns import Turn, turns
from sessions_app.domain.wire.callids import wire_call_id
from sessions_app.domain.wire.lowered import Body, LoweringError
from sessions_app.domain.wire.target import Target, infer_target
from sessions_app.domain.wire.verdict import Verdict, Violation

type Severity = Literal["blocked", "at-risk", "info"]
type Safety = Literal["safe", "lossy", "manual"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to repair a finding. ``operations`` are complete and independent of other choices."""

    name: str
    label: str
    safety: Safety
    operations: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault that a rule found, at named messages and parts.

    ``choices`` holds the ways to repair it, the recommended one first; ``safety`` is that one's, or "manual" where
    nothing is done unless a choice is named. ``offered`` marks an open choice: it is repaired only where its rule or
    itself is asked for. ``mark`` tells findings of one rule at the same place apart.
    """

    rule: str
    severity: Severity
    safety: Safety
    messages: tuple[str, ...]
    parts: tuple[str, ...]
    summary: str
    details: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    offered: bool = False
    mark: str = ""

    @property
    def key(self) -> str:
        """Stable over re-scans of the same rows: rule code and a digest of where it is."""
        place = json.dumps([self.messages, self.parts, self.mark])
        return f"{self.rule}:{hashlib.blake2b(place.encode(errors='surrogatepass'), digest_size=6).hexdigest()}"

    @property
    def open_choice(self) -> bool:
        """Nothing is done about it unless it is asked for: info, manual, or an offer."""
        return self.offered or self.severity == "info" or self.safety == "manual"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of fault. The texts are what the user reads: plain sentences.

    ``severity`` is the one when its own target refuses the session; ``order`` says when its repair is planned (lower
    first: root causes and small changes before what only follows from them); ``live`` marks repairs that are refused
    while a client has the file open.
    """

    code: str
    title: str
    severity: Severity
    safety: Safety
    what: str
    rejected: str
    why: str
    repair: str
    order: int
    find: Callable[[Context], Iterator[Finding]]
    live: bool = False

    @property
    def anchor(self) -> str:
        """Where its page is, relative to the documentation."""
        return f"rules.md#{self.code}"


@dataclass(frozen=True, slots=True)
class Located:
    """A pasted error that named a position: the rule and the place it resolved to."""

    rule: str
    message: str
    part: str
    error: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about the store and the machine, none of it in the session's rows. Empty = not known.

    ``client`` is the client version that health is judged for. ``holders`` names the processes that have the file open.
    ``schema`` maps table to columns. ``native`` says that the file is attached in its native place, so ``directories``
    (path -> does it exist) may be used. ``complete`` says that ``rows.projects`` and ``sessions`` hold everything the
    store has. ``now`` is in ms.
    """

    client: str = "1.18.33"
    store: str = ""
    holders: tuple[str, ...] = ()
    schema: Mapping[str, frozenset[str]] = field(default_factory=dict)
    native: bool = False
    directories: Mapping[str, bool] = field(default_factory=dict)
    complete: bool = False
    sessions: frozenset[str] = frozenset()
    reads: Literal["", "opencode-v1", "opencode-v2"] = ""
    """The history that the client of this store now reads ("" = not known)."""
    beside: frozenset[str] | None = None
    """Of a storage tree with its client's database beside it: the sessions that the database holds (None = no such
    database)."""
    check: tuple[str, ...] = ()
    """What SQLite's quick_check reported, where it reported anything but ok."""
    located: tuple[Located, ...] = ()
    now: int | None = None
    history: Callable[[str], Sequence[tuple[str, int]]] | None = field(default=None, compare=False)
    """Given a message id, the (id, time_created) of every message of the stored session that holds it, in order; ()
    where none does. Looked up only when a rule needs it (a fork's pointers into its parent, rules 2.20)."""


class Context:
    """A session as the rules look at it; what is costly is computed when a rule first asks for it."""

    def __init__(
        self,
        session: Session,
        target: Target | None = None,
        facts: Facts | None = None,
        thinking: Literal["on", "off", "auto"] = "auto",
        own: Verdict | None = None,
        requests: Requests | None = None,
    ) -> None:
        """``own`` is its own target's verdict, ``requests`` the requests it judged, where somebody has them already."""
        self._own = own
        self.session = session
        self.target = target or infer_target(session, thinking)
        self._requests = requests or judged_requests(session, self.target)
        self.facts = facts or Facts()
        self._minted: set[str] = set()
        self._numbers: dict[str, int] = {}

    @property
    def v2(self) -> bool:
        return self.session.dialect == "opencode-v2"

    @property
    def messages(self) -> list[Message]:
        """The history the client uses, in replay order."""
        return self.session.messages

    @cached_property
    def parts_by_id(self) -> dict[str, Part]:
        return {part.id: part for message in (*self.session.v1, *self.session.v2) for part in message.parts}

    @cached_property
    def messages_by_id(self) -> dict[str, Message]:
        return {message.id: message for message in (*self.session.v1, *self.session.v2)}

    @cached_property
    def turns(self) -> list[Turn]:
        return turns(self.messages)

    @cached_property
    def verdict(self) -> Verdict | None:
        """Its own target's verdict on the rows as stored; None where no target is known."""
        if self._own is not None or self.target is None:
            return self._own
        return verdict_on(self._requests, self.target)

    @cached_property
    def body(self) -> Body | None:
        """The request its own client would send next, as stored; None where none can be built."""
        if self.target is None:
            return None
        try:
            return self._requests.body(self.target)
        except LoweringError:
            return None

    @cached_property
    def sent_messages(self) -> frozenset[str]:
        """Messages of which something is sent."""
        return frozenset(origin.message for origin in self.body.provenance.values()) if self.body else frozenset()

    @cached_property
    def sent_parts(self) -> frozenset[str]:
        """Parts that are sent in some form."""
        return (
            frozenset(origin.part for origin in self.body.provenance.values() if origin.part)
            if self.body
            else frozenset()
        )

    @property
    def violations(self) -> tuple[Violation, ...]:
        return self.verdict.violations if self.verdict else ()

    def refusal(self, *codes: str, messages: Iterable[str] = (), parts: Iterable[str] = ()) -> Violation | None:
        """The first violation that names one of the parts, or one of the messages as a whole.

        With ``codes`` only a violation that can come from one of these rules counts.
        """
        places = list(parts)
        found = [violation for part in places for violation in self._by_part.get(part, ())]
        for message in messages:
            found += (one for one in self._by_message.get(message, ()) if not one.part or not places)
        fitting = [one for one in found if not codes or not set(codes).isdisjoint(one.faults)]
        return min(fitting, key=lambda one: self._rank[id(one)], default=None)

    def violations_of(self, part_id: str) -> Sequence[Violation]:
        """The violations that name this part, in the provider's order."""
        return self._by_part.get(part_id, ()) if part_id else ()

    @cached_property
    def _by_part(self) -> dict[str, list[Violation]]:
        return self._indexed(lambda violation: violation.part)

    @cached_property
    def _by_message(self) -> dict[str, list[Violation]]:
        return self._indexed(lambda violation: violation.message)

    def _indexed(self, place: Callable[[Violation], str]) -> dict[str, list[Violation]]:
        index: dict[str, list[Violation]] = defaultdict(list)
        for violation in self.violations:
            if place(violation):
                index[place(violation)].append(violation)
        return index

    @cached_property
    def _rank(self) -> dict[int, int]:
        """The place of a violation in the provider's order."""
        return {id(violation): place for place, violation in enumerate(self.violations)}

    def severity(
        self, otherwise: Severity, *codes: str, messages: Iterable[str] = (), parts: Iterable[str] = ()
    ) -> tuple[Severity, dict[str, Any]]:
        """``blocked`` and the refusal's details where its own target refuses it there, else ``otherwise`` and
        nothing."""
        violation = self.refusal(*codes, messages=messages, parts=parts)
        return ("blocked", refused(violation)) if violation else (otherwise, {})

    @cached_property
    def tools(self) -> list[tuple[Message, ToolPart]]:
        """Every stored call of the history, in replay order."""
        return [(message, tool) for message in self.messages for tool in message.tools()]

    @cached_property
    def call_ids(self) -> frozenset[str]:
        return frozenset(tool.call_id for _, tool in self.tools)

    @cached_property
    def wire_ids(self) -> frozenset[str]:
        """The call ids as the client sends them."""
        return frozenset(wire_call_id(self.target, call_id, self.v2) for call_id in self.call_ids)

    def same_model(self, message: Message) -> bool:
        """The message was made by the model that is called next, so its provider state is sent back."""
        return bool(self.target and message.provider == self.target.provider and message.model == self.target.model)

    def fresh(self, base: str, make: Callable[[int], str], taken: Callable[[str], bool]) -> str:
        """The first ``make(n)``, n from 2, that is neither taken nor minted before in this context for the same
        ``base``."""
        number = self._numbers.get(base, 1)
        while True:
            number += 1
            text = make(number)
            if text not in self._minted and not taken(text):
                self._minted.add(text)
                self._numbers[base] = number
                return text


def refused(violation: Violation | None) -> dict[str, Any]:
    """What a finding's details say about the refusal behind it."""
    if violation is None:
        return {}
    return {
        "error": violation.error,
        "wire_rule": violation.rule,
        "position": violation.position,
        "certainty": violation.certainty,
    }


def part_label(part: Part) -> str:
    """How a part is named in a sentence."""
    if isinstance(part, ToolPart):
        return f"the call {part.call_id or '(no id)'} of {part.tool or '(no name)'} ({part.id})"
    return f"the {part.kind or 'unreadable'} part {part.id}"
