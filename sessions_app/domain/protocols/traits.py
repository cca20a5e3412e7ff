"""What there is in a history that a wire rule could object to: its traits, told once for all protocols.

A check names the traits without which it finds nothing (``needs``); one that names none always runs. So a protocol none
of whose checks can find anything takes the history, and its body need not be written. Traits look at canonical
messages, before any writer, and err on the side of being there; tests/protocols/test_traits.py holds every check and
every writer to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sessions_app.domain.halves import halved
from sessions_app.domain.lowering.v1 import JS_SPACE, is_blank
from sessions_app.domain.lowering.v1_packages import SDK_KEYS, package_of
from sessions_app.domain.storedtexts import Measure
from sessions_app.domain.wire.callids import wants_nine
from sessions_app.domain.wire.lowered import CanonicalMessage, Lowered
from sessions_app.domain.wire.models import model_facts
from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.providers import COPILOT, XAI
from sessions_app.domain.wire.target import Target

type Traits = frozenset[str]
type Check = Callable[[Any], Iterable[Any]]

TRAITS: Final = frozenset(
    {
        "parameters",  # the body sets something beside its history, as no writer does
        "nothing",  # no message at all
        "starts-odd",  # the first message is no user's
        "ends-odd",  # the last message is no user's
        "empty-text",
        "blank-text",
        "textless",  # a message that says nothing: neither text nor call
        "content-result",  # a result of several items
        "media",
        "server",  # a call or result of a tool that the provider ran
        "calls",
        "odd-id",
        "odd-name",
        "odd-input",
        "repeated-id",
        "unpaired",  # a call without its result right behind it, or the other way round
        "calls-in-a-row",  # an answer with calls right behind another answer
        "many",  # calls in one message, or blocks
        "large",  # one text that a limit could be below
        "huge",  # a history that the limit of a request could be below
        "halves",  # half a surrogate pair
        "signed",  # provider state: a signature or redacted data of reasoning; of V2 any reasoning
        "odd-signed",  # such state that is no signature, or behind a call; of V2 any reasoning
        "empty-thinking",  # such state beside no words, from a model that shows its thinking
        "thought-signature",
        "sealed",  # provider state of the Responses API
        "odd-sealed",  # such state that is not in OpenAI's form; of V2 any
        "own-fields",  # stored members that go onto the wire as they are
        "apart",  # V2: messages that are one turn to the provider are sent one by one
        "behind-calls",  # V2: text or thinking behind a call
        "signed-calls",  # calls, and the model signs them
        "thinking-calls",  # calls, and the target thinks
        "rewritten",  # the client's writer does more than write: nothing is known of the body
    }
)

MAX_CALLS: Final = 100
MAX_BLOCKS: Final = 8_000
LARGE: Final = 150_000
"""Characters of a stored row. No writer makes more than seven of one, and the smallest limit is 1,048,576."""
HUGE: Final = 4_000_000
"""Characters of stored rows, in the same proportion to the smallest limit of a request."""

BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}\Z")
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_STATE: Final = {
    "signature": "signed",
    "redactedData": "signed",
    "redactedContent": "signed",
    "thoughtSignature": "thought-signature",
    "itemId": "sealed",
    "reasoningEncryptedContent": "sealed",
    "phase": "sealed",
}
_READS: Final[dict[ProtocolName, tuple[str, ...]]] = {
    "anthropic-messages": ("anthropic",),
    "openai-chat": ("openaiCompatible", "google"),
    "openai-responses": ("openai",),
    "gemini": ("google", "vertex"),
    "bedrock-converse": ("bedrock",),
}
"""The keys of provider state that a protocol's writers read, beside the package's own; state under the provider's id
is moved to that (docs/contract/wire.md#6.1.9.4)."""
_SPACE: Final = JS_SPACE + "\x1c\x1d\x1e\x1f\x85"
"""White space by Python's or by JavaScript's idea of it."""

_NEEDS: dict[Check, Traits] = {}
_OUTLINED: set[Check] = set()


def needs[C: Check](*traits: str) -> Callable[[C], C]:
    """Registers that a check finds nothing in a history that has none of ``traits``. ValueError for one that nothing
    tells."""
    wanted = frozenset(traits)
    if strange := wanted - TRAITS:
        raise ValueError(f"nothing tells {', '.join(sorted(strange))}")

    def register(check: C) -> C:
        _NEEDS[check] = wanted
        return check

    return register


def outlined[C: Check](check: C) -> C:
    """Registers that a check does not look at what calls were given and gave."""
    _OUTLINED.add(check)
    return check


def needed(check: Check) -> Traits | None:
    """What ``check`` needs; None where it always runs."""
    return _NEEDS.get(check)


def all_needed(checks: Iterable[Check]) -> Traits:
    """What any of ``checks`` needs: of a check that runs these. KeyError where one always runs."""
    return frozenset().union(*(_NEEDS[check] for check in checks))


@lru_cache(maxsize=1024)
def applicable(checks: tuple[Check, ...], traits: Traits | None) -> tuple[Check, ...]:
    """Those that can find something where ``traits`` are all there are; all of them where nothing is known."""
    if traits is None or "rewritten" in traits:
        return checks
    return tuple([check for check in checks if check not in _NEEDS or not traits.isdisjoint(_NEEDS[check])])


def by_outline(checks: Iterable[Check], traits: Traits) -> bool:
    """Whether a body that is written of an outline (``lowering.outline``) is enough for these checks."""
    return traits.isdisjoint(_SHOWN) and _OUTLINED.issuperset(checks)


_SHOWN: Final = frozenset({"media", "content-result", "server", "own-fields", "rewritten"})
"""Where a writer does more than put blocks in their places."""


class Told(NamedTuple):
    """The traits of a history, and where it keeps provider state: (key of the metadata, trait)."""

    traits: Traits
    states: frozenset[tuple[str, str]]


def for_target(told: Told, target: Target) -> Traits:
    """The traits of a history with those that lie in the target."""
    traits = told.traits
    keys = (*_READS[target.protocol], SDK_KEYS.get(package_of(target)), target.provider)
    more = {trait for key, trait in told.states if trait and key in keys}
    if "calls" in traits:
        if target.thinking == "on":
            more.add("thinking-calls")
        if model_facts(target.model).signed_calls:
            more.add("signed-calls")
        if package_of(target) == XAI and target.protocol == "openai-responses":
            more.add("rewritten")  # call ids are sent as item ids
    if told.states and package_of(target) == COPILOT:
        more.add("own-fields")
    if model_facts(target.model).omits_thinking:
        more.discard("empty-thinking")
    if wants_nine(target) or ("odd-id" in traits and "claude" in target.model.lower()):
        more.add("rewritten")
    if halved(target.model):
        more.add("halves")
    return traits | more


def traits_of(lowered: Lowered, measure: Measure, v2: bool) -> Told:
    """What is told of canonical messages that V1's or ``v2``'s writers get; ``measure`` is of the rows behind them."""
    found = set(_of_texts(measure))
    messages = lowered.messages
    if lowered.ends:
        found.add("rewritten")
    if not messages:
        return Told(frozenset(found | {"nothing"}), frozenset())
    if messages[0]["role"] != "user":
        found.add("starts-odd")
    if messages[-1]["role"] != "user":
        found.add("ends-odd")
    if sum([len(message["content"]) for message in messages]) > MAX_BLOCKS:
        found.add("many")
    look = _Look(found)
    for message in messages:
        look.message(message)
    look.close()
    if v2:
        found |= look.of_v2
    return Told(frozenset(found), frozenset(look.states))


def _of_texts(measure: Measure) -> Iterable[str]:
    return (
        *(("halves",) if measure.odd else ()),
        *(("large",) if measure.largest > LARGE else ()),
        *(("huge",) if measure.total > HUGE else ()),
    )


class _Look:
    """One look at all messages in order. ``of_v2`` holds what only matters to the writers of V2."""

    def __init__(self, found: set[str]) -> None:
        self.found = found
        self.of_v2: set[str] = set()
        self.states: set[tuple[str, str]] = set()
        self.ids: set[str] = set()
        self.open: list[str] = []
        self.answered: list[str] = []
        self.before = ""

    def message(self, message: CanonicalMessage) -> None:
        role, content = message["role"], message["content"]
        if role == "tool":
            self.answered += [self._result(block) for block in content]
            if self.before in ("tool", "user"):
                self.of_v2.add("apart")
        else:
            self.close()
            if role == "assistant":
                calls = self._assistant(content)
                if calls and self.before == "assistant":
                    self.found.add("calls-in-a-row")
                if self.before == "assistant":
                    self.of_v2.add("apart")
                self.open = calls
            else:
                self._user(role, content)
                if self.before in ("tool", "user"):
                    self.of_v2.add("apart")
        self.before = role

    def close(self) -> None:
        """The results that came since the last call are all there are."""
        if self.open != self.answered:
            self.found.add("unpaired")
        self.open, self.answered = [], []

    def _assistant(self, content: Sequence[dict[str, Any]]) -> list[str]:
        """The ids of the message's calls, in their order."""
        calls: list[str] = []
        says = False
        for block in content:
            kind = block["type"]
            if "providerMetadata" in block:
                self._state(block["providerMetadata"])
            if kind == "tool-call":
                self._call(block, calls)
            elif kind == "text":
                says = self._text(block["text"]) or says
                if calls:
                    self.of_v2.add("behind-calls")
            elif kind == "reasoning":
                self._reasoning(block, behind=bool(calls))
            else:
                self.found.add("server" if kind == "tool-result" else "rewritten")
        if len(calls) > MAX_CALLS:
            self.found.add("many")
        if not (calls or says):
            self.found.add("textless")
        return calls

    def _call(self, block: dict[str, Any], calls: list[str]) -> None:
        call_id = block["id"]
        self.found.add("calls")
        if block.get("providerExecuted"):
            self.found.add("server")
            return
        calls.append(call_id)
        if call_id in self.ids:
            self.found.add("repeated-id")
        self.ids.add(call_id)
        if _ID.match(call_id) is None:
            self.found.add("odd-id")
        if _NAME.match(block["name"]) is None:
            self.found.add("odd-name")
        if type(block.get("input")) is not dict:
            self.found.add("odd-input")

    def _result(self, block: dict[str, Any]) -> str:
        if "providerMetadata" in block:
            self._state(block["providerMetadata"])
        if block["type"] != "tool-result":
            self.found.add("rewritten")
            return ""
        if block.get("providerExecuted"):
            self.found.add("server")
        result = block["result"]
        if result["type"] == "content":
            self.found.add("content-result")
            if any(item["type"] != "text" for item in result["value"]):
                self.found.add("media")
        call_id: str = block["id"]
        return call_id

    def _user(self, role: str, content: Sequence[dict[str, Any]]) -> None:
        if role != "user":
            self.found.add("rewritten")
        if not content:
            self.found |= {"textless", "empty-text"}
        for block in content:
            if block["type"] == "text":
                self._text(block["text"])
            else:
                self.found.add("media")

    def _text(self, text: str) -> bool:
        """Whether there is anything to read."""
        if not text:
            self.found.add("empty-text")
            return False
        if text[0] in _SPACE and not text.strip(_SPACE):
            self.found.add("blank-text")
            return False
        return True

    def _reasoning(self, block: dict[str, Any], *, behind: bool) -> None:
        """V1 leaves out what has neither text nor state; V2 sends all."""
        text = block["text"]
        self.of_v2 |= {"signed", "odd-signed", "empty-thinking"}
        if not text:
            self.of_v2.add("empty-text")
        if behind:
            self.of_v2.add("behind-calls")
        unsaid = is_blank(text)
        for key, state in block.get("providerMetadata", {}).items():
            if behind or not _plainly_signed(state):
                self.states.add((key, "odd-signed"))
            if unsaid:
                self.states.add((key, "empty-thinking" if not text else "odd-signed"))
            if not _plainly_sealed(state):
                self.states.add((key, "odd-sealed"))

    def _state(self, metadata: dict[str, Any]) -> None:
        for key, state in metadata.items():
            if key == "openaiCompatible":
                self.found.add("own-fields")
            for name in state if isinstance(state, dict) else ():
                self.states.add((key, _STATE.get(name, "")))
                if name in ("itemId", "reasoningEncryptedContent"):
                    self.of_v2.add("odd-sealed")


def _plainly_sealed(state: Any) -> bool:
    if not isinstance(state, dict):
        return False
    content = state.get("reasoningEncryptedContent", "gAAA")
    return isinstance(content, str) and content.startswith("gAAA")


def _plainly_signed(state: Any) -> bool:
    """Reasoning's state holds a signature as providers write it, and nothing else that they read, or nothing at all."""
    if not isinstance(state, dict) or "redactedData" in state or "redactedContent" in state:
        return False
    if "signature" not in state:
        return True
    signature = state["signature"]
    return isinstance(signature, str) and bool(signature) and BASE64.match(signature) is not None
