"""What a rule looks at: a session with what is known around it, and how it says what it found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from sessions_app.domain.bodies import Requests, Sent
from sessions_app.domain.dialects import dialect_of
from sessions_app.domain.jsjson import dumps, loads
from sessions_app.domain.judging import judged_requests, verdict_on
from sessions_app.domain.lastcalls import LastCall, last_calls
from sessions_app.domain.lowering.replay import left_out, replayed
from sessions_app.domain.lowering.replay_v2 import select_v2
from sessions_app.domain.lowering.settle_v2 import to_settle
from sessions_app.domain.model import Message, Part, Session, ToolPart
from sessions_app.domain.turns import Turn, turns
from sessions_app.domain.wire.callids import wants_nine, wire_call_id
from sessions_app.domain.wire.lowered import Lowered, LoweringError
from sessions_app.domain.wire.target import Target, infer_target
from sessions_app.domain.wire.verdict import Verdict, Violation

from .finding import Choice, Finding, Safety, Severity
from .stored import told

GOES_ON = "; the client cannot show the session, but goes on"
"""Said of a row that stops the transcript and no request."""


@dataclass(frozen=True, slots=True)
class Located:
    """A pasted error that named a position: the rule and the place it resolved to."""

    rule: str
    message: str
    part: str
    error: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about the store and the machine, none of it in the session's rows. Empty = not known."""

    store: str = ""
    """The kind of store: "sqlite", "storage", "export" or "rows"."""
    native: bool = False
    """The file is attached in its native place, so ``directories`` may be used."""
    directories: Mapping[str, bool] = field(default_factory=dict)
    """Path to whether it exists."""
    complete: bool = False
    """``rows.projects`` and ``sessions`` hold everything the store has."""
    sessions: frozenset[str] = frozenset()
    """Ids of the store's sessions."""
    reads: Literal["", "opencode-v1", "opencode-v2"] = ""
    """The history that the client of this store now reads ("" = not known)."""
    beside: frozenset[str] | None = None
    """Of a storage tree with its client's database beside it: the sessions that the database holds (None = no such
    database)."""
    check: tuple[str, ...] = ()
    """What SQLite's quick_check reported, where it reported anything but ok."""
    located: tuple[Located, ...] = ()
    """What errors that somebody pasted point at."""
    now: int | None = None
    """The time in ms."""
    client: str = ""
    """The newest version that a session of the store names."""
    asleep: tuple[str, ...] = ()
    """Sessions that were last used before ids wrapped the last time, the newest first."""
    history: Callable[[str], Sequence[tuple[str, int]]] | None = field(default=None, compare=False)
    """Given a message id, the (id, time_created) of every message of the stored session that holds it, in order; ()
    where none does. Looked up only when a rule needs it (a fork's pointers into its parent,
    docs/contract/rules.md#2.20)."""


class Context:
    """A session as the rules look at it; what is costly is computed when a rule first asks for it.

    ``rule`` is the code of the rule that is looking now; ``find_all`` sets it.
    """

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
        self.requests = requests or judged_requests(session, self.target)
        self.facts = facts or Facts()
        self.rule = ""
        self._minted: set[str] = set()
        self._numbers: dict[str, int] = {}

    def anew(self) -> Context:
        """For looking again, as if nobody had looked: with what was computed of its requests, and no id minted."""
        return Context(self.session, self.target, self.facts, own=self.verdict, requests=self.requests)

    # What a rule says.

    def finding(
        self,
        summary: str,
        *choices: Choice,
        messages: Iterable[Message | str] = (),
        parts: Iterable[Part | str] = (),
        severity: Severity = "at-risk",
        refusal: Violation | None = None,
        details: Mapping[str, Any] | None = None,
        also: str = "",
        safety: Safety | None = None,
        offered: bool = False,
        mark: str = "",
    ) -> Finding:
        """A finding of the rule that is looking, at messages and parts (themselves or their ids; "" names none).

        With ``refusal`` it is blocked and says who refused what; else ``severity`` holds. The recommended choice comes
        first and gives the finding its safety; ``safety`` "manual" says that nothing is done unless a choice is named.
        ``also`` is what else a user can do.
        """
        return Finding(
            self.rule,
            "blocked" if refusal else severity,
            safety or (choices[0].safety if choices else "manual"),
            _ids(messages),
            _ids(parts),
            summary,
            {**(details or {}), **refused(refusal), **({"also": also} if also else {})},
            choices,
            offered,
            mark,
        )

    def refusal(
        self, *codes: str, messages: Iterable[Message | str] = (), parts: Iterable[Part | str] = ()
    ) -> Violation | None:
        """The first violation that can come from this rule (with ``codes``: from one of these) and names one of the
        parts, or one of the messages as a whole."""
        return self._first(frozenset(codes or (self.rule,)), messages, parts)

    def any_refusal(self, messages: Iterable[Message | str] = (), parts: Iterable[Part | str] = ()) -> Violation | None:
        """As ``refusal``, whichever rule the violation comes from."""
        return self._first(None, messages, parts)

    def _first(
        self,
        codes: frozenset[str] | None,
        messages: Iterable[Message | str],
        parts: Iterable[Part | str],
    ) -> Violation | None:
        if not self.violations:
            return None
        places = _ids(parts)
        found = [violation for part in places for violation in self._by_part.get(part, ())]
        for message in _ids(messages):
            found += (one for one in self._by_message.get(message, ()) if not one.part or not places)
        fitting = [one for one in found if codes is None or not codes.isdisjoint(one.faults)]
        return min(fitting, key=lambda one: self._rank[id(one)], default=None)

    # The session.

    @property
    def v2(self) -> bool:
        """The session's client speaks to providers as opencode's V2 does."""
        return dialect_of(self.session).writer == "v2"

    @cached_property
    def stored(self) -> frozenset[str]:
        """What there is in the session, in words of ``stored.WORDS``, but for "refused"."""
        found = told(self.session, self.requests.measure)
        return found | {"odd-id"} if wants_nine(self.target) else found

    def may_hold(self, needs: frozenset[str]) -> bool:
        """Whether a rule of these needs can find anything here."""
        if not needs or not needs.isdisjoint(self.stored):
            return True
        return "refused" in needs and self.verdict is not None and not self.verdict.accepted

    @property
    def row(self) -> Mapping[str, Any]:
        """The session's own row."""
        return self.session.rows.session

    @property
    def messages(self) -> list[Message]:
        """The history the client uses, in replay order."""
        return self.session.messages

    @cached_property
    def agent_places(self) -> list[int]:
        """Places of messages that name an agent."""
        return [at for at, one in enumerate(self.messages) if isinstance(one.data.get("agent"), str)]

    @cached_property
    def model_places(self) -> list[int]:
        """Places of messages that name provider and model."""
        return [at for at, one in enumerate(self.messages) if one.provider and one.model]

    @cached_property
    def user_places(self) -> list[int]:
        """Places of user messages."""
        return [at for at, one in enumerate(self.messages) if one.is_user]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where a message of that history stands in it, by id."""
        return {message.id: place for place, message in enumerate(self.messages)}

    @cached_property
    def parts_by_id(self) -> dict[str, Part]:
        """Every stored part, of all histories."""
        return {part.id: part for message in self.session.every_message() for part in message.parts}

    @cached_property
    def messages_by_id(self) -> dict[str, Message]:
        """Every stored message, of all histories."""
        return {message.id: message for message in self.session.every_message()}

    @cached_property
    def turns(self) -> list[Turn]:
        """The history's turns in order."""
        return turns(self.messages)

    def turn_of(self, answer: Message) -> Turn | None:
        """The turn that an answer belongs to."""
        return next((turn for turn in self.turns if answer in turn.answers), None)

    @cached_property
    def tools(self) -> list[tuple[Message, ToolPart]]:
        """Every stored call of the history, in replay order."""
        return [(message, tool) for message in self.messages for tool in message.tools()]

    @cached_property
    def revert(self) -> Mapping[str, Any]:
        """The session's pending revert; empty where there is none, or none that can be read."""
        value = self.session.revert
        if isinstance(value, str):
            try:
                value = loads(value)
            except ValueError:
                return {}
        return value if isinstance(value, dict) else {}

    # What its own target makes of it.

    @cached_property
    def verdict(self) -> Verdict | None:
        """Its own target's verdict on the rows as stored; None where no target is known."""
        if self._own is not None or self.target is None:
            return self._own
        return verdict_on(self.requests, self.target)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """What its own target refuses, in the provider's order."""
        return self.verdict.violations if self.verdict else ()

    def violations_of(self, part_id: str) -> Sequence[Violation]:
        """The violations that name this part, in the provider's order."""
        return self._by_part.get(part_id, ()) if part_id else ()

    @cached_property
    def last_calls(self) -> list[LastCall]:
        """What providers last said that no answer followed, the newest first; [] where the last call was answered."""
        return last_calls(self.messages, self.target, self.requests, self.verdict)

    def refused_last(self, *codes: str) -> list[LastCall]:
        """Of these, the refusals of the history that can come from this rule (with ``codes``: from one of these)."""
        wanted = set(codes or (self.rule,))
        return [one for one in self.last_calls if one.about == "history" and not wanted.isdisjoint(one.faults)]

    @property
    def client_stops(self) -> str:
        """The client's own words where it cannot build the next request, "" where it can."""
        return self.verdict.refusal if self.verdict else ""

    @property
    def stopped_at(self) -> Part | None:
        """The part that the client stops at, where its words name one whose row is sound."""
        if self.verdict is None or not self.verdict.refusal:
            return None
        part = self.parts_by_id.get(self.verdict.details.get("part", ""))
        return part if part is not None and part.fault is None else None

    @cached_property
    def sent(self) -> Sent:
        """What is in the request that its own client would send next, as stored; nothing where none can be built."""
        if self.target is not None:
            with suppress(LoweringError):
                return self.requests.sent(self.target)
        return Sent(frozenset(), frozenset())

    @cached_property
    def sent_messages(self) -> frozenset[str]:
        """Messages of which something is sent."""
        lowered = self._all_sent
        if lowered is not None:
            return frozenset([origin.message for origins in lowered.origins for origin in origins])
        return self.sent.messages

    @cached_property
    def _all_sent(self) -> Lowered | None:
        """The canonical messages, where something of each is sure to be sent: no body need be written to know."""
        try:
            if self.target is None or not self.requests.all_sent(self.target):
                return None
            return self.requests.outlined(self.target)
        except LoweringError:
            return None

    @property
    def sent_parts(self) -> frozenset[str]:
        """Parts that are sent in some form."""
        return self.sent.parts

    @cached_property
    def read_messages(self) -> frozenset[str]:
        """Messages whose rows the client reads for the next request: of V2 not those before its latest compaction."""
        read = select_v2(self.session, self.target) if self.v2 else self.messages
        return frozenset(message.id for message in read)

    def goes_on(self, message: Message | None) -> bool:
        """Its client sends without reading this row; what shows the session reads every row
        (docs/contract/v2-server.md#d9)."""
        return self.v2 and message is not None and message.id not in self.read_messages

    @cached_property
    def settled_parts(self) -> frozenset[str]:
        """Open calls that the client itself ends before it sends (docs/contract/v2-server.md#order.2)."""
        read = [message for message in self.messages if self.v2 and message.id in self.read_messages]
        return frozenset(message.parts[at].id for message in read for at in to_settle(message))

    @cached_property
    def replayed(self) -> frozenset[str]:
        """V1: messages that the next request is made of, also where the client cannot build one: no compaction or
        revert takes them away, and no error leaves them out."""
        return frozenset(message.id for message in replayed(self.session) if message.is_user or not left_out(message))

    def same_model(self, message: Message) -> bool:
        """The message was made by the model that is called next, so its provider state is sent back."""
        return bool(self.target and message.provider == self.target.provider and message.model == self.target.model)

    @cached_property
    def _by_part(self) -> dict[str, list[Violation]]:
        return _indexed(self.violations, lambda violation: violation.part)

    @cached_property
    def _by_message(self) -> dict[str, list[Violation]]:
        return _indexed(self.violations, lambda violation: violation.message)

    @cached_property
    def _rank(self) -> dict[int, int]:
        """The place of a violation in the provider's order."""
        return {id(violation): place for place, violation in enumerate(self.violations)}

    # New ids.

    @cached_property
    def call_ids(self) -> frozenset[str]:
        """Every call id of the history, as stored."""
        return frozenset(tool.call_id for _, tool in self.tools)

    @cached_property
    def wire_ids(self) -> frozenset[str]:
        """The call ids as the client sends them."""
        return frozenset(wire_call_id(self.target, call_id, self.v2) for call_id in self.call_ids)

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


def recorded(call: LastCall) -> dict[str, Any]:
    """What the details of a finding say whose proof is a refusal that the session itself stores."""
    return {"error": call.text, "certainty": "recorded"}


def _ids(places: Iterable[Message | Part | str]) -> tuple[str, ...]:
    return tuple(place if isinstance(place, str) else place.id for place in places if place != "")


def _indexed(violations: Iterable[Violation], place: Callable[[Violation], str]) -> dict[str, list[Violation]]:
    index: dict[str, list[Violation]] = defaultdict(list)
    for violation in violations:
        if place(violation):
            index[place(violation)].append(violation)
    return index


def stored_error(message: Message) -> str:
    """The error that a failed turn stored, as JSON text; "" where there is none."""
    return dumps(message.error) if message.error else ""
