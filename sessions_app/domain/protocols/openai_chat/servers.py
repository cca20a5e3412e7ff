"""Rules that only some compatible servers have (docs/contract/wire.md#2c). Each runs where the profile names it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from sessions_app.domain.protocols.openai_chat.view import Call, View
from sessions_app.domain.protocols.traits import needs, outlined
from sessions_app.domain.wire.verdict import Tag, Violation

_FIREWORKS_EXTRA = ("reasoning", "reasoning_details", "cache_control", "tool_name", "extra_content")


@outlined
def deepseek_reasoning(view: View) -> Iterator[Violation]:
    """S1: with thinking on, an assistant message carries ``reasoning_content``, be it empty. S2, an older rule, a
    warning."""
    if not view.thinking_on:
        return
    for message in view.assistants:
        if not isinstance(message.data.get("reasoning_content"), str):
            yield view.request.broken("S1", f"messages[{message.index}]", message.pointer)


@outlined
def deepseek_earlier_reasoning(view: View) -> Iterator[Violation]:
    """S2: the first R1 refused reasoning of earlier turns; now ignored. One warning."""
    model = view.request.model
    if model.family != "deepseek" or not model.always_thinks:
        return
    last_user = max((message.index for message in view.messages if message.role == "user"), default=-1)
    for message in view.assistants:
        if message.index < last_user and message.data.get("reasoning_content"):
            yield view.request.broken("S2", f"messages[{message.index}]", message.pointer, doubtful=True)
            return


@outlined
def deepseek_empty_beside_calls(view: View) -> Iterator[Violation]:
    """S4: an empty string beside calls was claimed to be refused. One warning."""
    for message in view.assistants:
        if message.calls and message.content == "":
            yield view.request.broken("S4", f"messages[{message.index}]", message.pointer, doubtful=True)
            return


@outlined
def moonshot_reasoning(view: View) -> Iterator[Violation]:
    """S5: with thinking on, an assistant message with calls carries ``reasoning_content``."""
    if not view.thinking_on:
        return
    for message in view.assistants:
        if message.calls and not isinstance(message.data.get("reasoning_content"), str):
            yield view.request.broken("S5", f"message at index {message.index}", message.pointer)


@needs("textless", "empty-text", "blank-text", "own-fields")
def empty_assistants(view: View) -> Iterator[Violation]:
    """S7: Moonshot takes no empty assistant message; a warning for servers of unknown make (``soft`` of the
    recordings)."""
    known = "S7" in view.profile.rules
    if not known and not view.profile.measured_words:
        return
    for message in view.assistants:
        if message.empty and not message.calls:
            where = f"message at position {message.index}"
            yield view.request.broken("S7", where, message.pointer, doubtful=not known)


@needs("ends-odd", "own-fields")
def tail_of_unknown_servers(view: View) -> Iterator[Violation]:
    """S13, as a warning for servers of unknown make: an assistant message at the end (OpenAI itself takes it, O17)."""
    last = view.messages[-1] if view.messages else None
    if view.profile.measured_words and last is not None and last.role == "assistant":
        yield view.request.broken("S13", f"message[{last.index}]", last.pointer, "perhaps", doubtful=True)


def mistral_ids(view: View) -> Iterator[Violation]:
    """S9: ids of exactly nine letters and digits. S12: none twice, none unknown."""
    for turn in view.turns:
        known: set[str] = set()
        for call in turn.assistant.calls:
            if not (len(call.id) == 9 and call.id.isascii() and call.id.isalnum()):
                yield view.request.broken("S9", call.position, call.pointer, id=call.id)
            if call.id in known:
                yield view.request.broken("S12", call.position, call.pointer, "call", id=call.id)
            known.add(call.id)
        seen: set[str] = set()
        for result in turn.results:
            say = "result" if result.call_id in seen else "unknown" if result.call_id not in known else ""
            if say:
                yield view.request.broken("S12", f"messages[{result.index}]", result.pointer, say, id=result.call_id)
            seen.add(result.call_id)


def mistral_counts(view: View) -> Iterator[Violation]:
    """S11: as many results as calls."""
    for turn in view.turns:
        if len(turn.results) != len(turn.assistant.calls):
            tag: Tag = "T" if turn.after is None else "P"
            call = turn.assistant.calls[0]
            yield view.request.broken("S11", f"messages[{turn.assistant.index}]", call.pointer, tag=tag)


_AFTER: dict[str, tuple[str, ...]] = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool"),
}


def mistral_order(view: View) -> Iterator[Violation]:
    """S17: which role may follow which. S10: user behind tool, which the newest validator allows: a warning."""
    for before, after in pairwise(view.messages):
        if before.role not in _AFTER or after.role in _AFTER[before.role]:
            continue
        late_user = before.role == "tool" and after.role == "user"
        yield view.request.broken(
            "S10" if late_user else "S17",
            f"messages[{after.index}]",
            after.pointer,
            doubtful=late_user,
            role=after.role,
            before=before.role,
        )


def mistral_ends(view: View) -> Iterator[Violation]:
    """S13: the last role. S15: the first, at least one message, and ``prefix`` on the last only."""
    if not view.messages:
        yield view.request.broken("S15", "messages", ("messages",), "none")
        return
    first, last = view.messages[0], view.messages[-1]
    if first.role not in ("user", "system"):
        yield view.request.broken("S15", "messages[0]", first.pointer)
    for message in view.assistants:
        if message.data.get("prefix") is True and message is not last:
            yield view.request.broken("S15", f"messages[{message.index}]", message.pointer, "prefix")
    if last.role not in ("user", "tool") and not (last.role == "assistant" and last.data.get("prefix") is True):
        yield view.request.broken("S13", f"messages[{last.index}]", last.pointer, role=last.role)


def mistral_content(view: View) -> Iterator[Violation]:
    """S14: an assistant message has content or calls (both at once were refused by old tokenizers only)."""
    for message in view.assistants:
        if message.empty and not message.calls:
            yield view.request.broken("S14", f"messages[{message.index}]", message.pointer)


def mistral_functions(view: View) -> Iterator[Violation]:
    """S16: names of at most 64 letters, digits, ``_`` and ``-``; arguments are JSON."""
    for call in view.calls:
        if not (
            0 < len(call.name) <= 64 and call.name.isascii() and call.name.replace("_", "").replace("-", "").isalnum()
        ):
            yield view.request.broken("S16", call.position, call.pointer, name=call.name)
        if not _is_json(call):
            yield view.request.broken("S16", call.position, call.pointer, "arguments")


def groq_fields(view: View) -> Iterator[Violation]:
    """S18: no ``reasoning_content`` on assistant messages."""
    for message in view.assistants:
        if "reasoning_content" in message.data:
            yield view.request.broken("S18", f"messages.{message.index}", message.pointer)


def fireworks_fields(view: View) -> Iterator[Violation]:
    """S19: no key on a message or a call that the schema does not know."""
    for message in view.messages:
        for name in _FIREWORKS_EXTRA:
            if name in message.data:
                yield view.request.broken("S19", f"messages[{message.index}].{name}", (*message.pointer, name))
    for call in view.calls:
        entry = _entry(view, call)
        for name in _FIREWORKS_EXTRA:
            if name in entry:
                yield view.request.broken("S19", f"{call.position}.{name}", (*call.pointer, name))


def template_rules(view: View) -> Iterator[Violation]:
    """S21: what chat templates raise. Which models have which is not known: warnings, one of each kind."""
    talkers = [message for message in view.messages if message.role in ("user", "assistant")]
    for before, after in pairwise(talkers):
        between_tools = before.role == "assistant" and bool(before.calls)
        if before.role == after.role and not between_tools:
            yield view.request.broken("S21", f"messages[{after.index}]", after.pointer, doubtful=True)
            break
    late = next((message for message in view.messages[1:] if message.role == "system"), None)
    if late is not None:
        yield view.request.broken("S21", f"messages[{late.index}]", late.pointer, "system", doubtful=True)
    unread = next((call for call in view.calls if not _is_json(call)), None)
    if unread is not None:
        yield view.request.broken("S21", unread.position, unread.pointer, "arguments", doubtful=True)


def dashscope_arguments(view: View) -> Iterator[Violation]:
    """S22: arguments are JSON (the pairing half of the rule is in ``pairing``)."""
    for call in view.calls:
        if not _is_json(call):
            yield view.request.broken("S22", call.position, call.pointer, "arguments")


@needs("signed-calls", "own-fields")
@outlined
def gemini_signatures(view: View) -> Iterator[Violation]:
    """S23: in the current turn the first call of each step brings back its thought signature."""
    if not view.request.model.signed_calls:
        return
    last_user = max((message.index for message in view.messages if message.role == "user"), default=-1)
    for message in view.assistants:
        if message.index < last_user or not message.calls:
            continue
        extra = _entry(view, message.calls[0]).get("extra_content")
        google = extra.get("google") if isinstance(extra, dict) else None
        if not (isinstance(google, dict) and google.get("thought_signature")):
            call = message.calls[0]
            yield view.request.broken("S23", call.position, call.pointer, name=call.name, number=call.index + 1)


@needs("ends-odd", "own-fields")
def copilot_tail(view: View) -> Iterator[Violation]:
    """S24: Claude models behind Copilot refuse an assistant tail as A17 says."""
    last = view.messages[-1] if view.messages else None
    model = view.request.model
    if last is not None and last.role == "assistant" and model.family == "claude" and model.prefill is not True:
        yield view.request.broken("S24", f"messages[{last.index}]", last.pointer, doubtful=model.prefill is None)


SERVER_CHECKS: dict[str, Callable[[View], Iterator[Violation]]] = {
    "S1": deepseek_reasoning,
    "S2": deepseek_earlier_reasoning,
    "S4": deepseek_empty_beside_calls,
    "S5": moonshot_reasoning,
    "S9": mistral_ids,
    "S11": mistral_counts,
    "S13": mistral_ends,
    "S14": mistral_content,
    "S16": mistral_functions,
    "S17": mistral_order,
    "S18": groq_fields,
    "S19": fireworks_fields,
    "S21": template_rules,
    "S22": dashscope_arguments,
    "S23": gemini_signatures,
    "S24": copilot_tail,
}
"""Run where the profile lists the rule. S3, S6, S8 and half of S22 are other words for O1 and O3; S10, S12 and S15 come
with the Mistral checks beside them; S20 is the profile that adds nothing to OpenAI's rules."""


def _entry(view: View, call: Call) -> dict[str, object]:
    calls = view.messages[call.message].data["tool_calls"]
    entry = calls[call.index]
    return entry if isinstance(entry, dict) else {}


def _is_json(call: Call) -> bool:
    arguments = call.function.get("arguments")
    if not isinstance(arguments, str):
        return False
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True
