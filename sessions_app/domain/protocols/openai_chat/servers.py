"""Rules that only some compatible servers have (wire-rules 2c). Each runs where the profile names it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from sessions_app.domain.protocols.checking import Tag
from sessions_app.domain.protocols.openai_chat.pairing import DASHSCOPE
from sessions_app.domain.protocols.openai_chat.view import Call, View
from sessions_app.domain.wire.verdict import Violation

_FIREWORKS_EXTRA = ("reasoning", "reasoning_details", "cache_control", "tool_name", "extra_content")
SKIP_SIGNATURE = "skip_thought_signature_validator"


def deepseek_reasoning(view: View) -> Iterator[Violation]:
    """S1: with thinking on, an assistant message carries ``reasoning_content``, be it empty. S2, an older rule, a
    warning."""
    if not view.thinking_on:
        return
    for message in view.assistants:
        if not isinstance(message.data.get("reasoning_content"), str):
            error = "The `reasoning_content` in the thinking mode must be passed back to the API."
            yield view.request.broken("S1", error, f"messages[{message.index}]", message.pointer)


def deepseek_earlier_reasoning(view: View) -> Iterator[Violation]:
    """S2: the first R1 refused reasoning of earlier turns; now ignored. One warning."""
    model = view.request.model
    if model.family != "deepseek" or not model.always_thinks:
        return
    last_user = max((message.index for message in view.messages if message.role == "user"), default=-1)
    for message in view.assistants:
        if message.index < last_user and message.data.get("reasoning_content"):
            error = "reasoning_content of earlier turns must not be sent (older deepseek-reasoner)"
            yield view.request.broken("S2", error, f"messages[{message.index}]", message.pointer, doubtful=True)
            return


def deepseek_empty_beside_calls(view: View) -> Iterator[Violation]:
    """S4: an empty string beside calls was claimed to be refused. One warning."""
    for message in view.assistants:
        if message.calls and message.content == "":
            error = "content must be null, not an empty string, beside tool_calls"
            yield view.request.broken("S4", error, f"messages[{message.index}]", message.pointer, doubtful=True)
            return


def moonshot_reasoning(view: View) -> Iterator[Violation]:
    """S5: with thinking on, an assistant message with calls carries ``reasoning_content``."""
    if not view.thinking_on:
        return
    for message in view.assistants:
        if message.calls and not isinstance(message.data.get("reasoning_content"), str):
            error = (
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index"
                f" {message.index}"
            )
            yield view.request.broken("S5", error, f"message at index {message.index}", message.pointer)


def empty_assistants(view: View) -> Iterator[Violation]:
    """S7: Moonshot takes no empty assistant message; a warning for servers of unknown make (``soft`` of the
    recordings)."""
    known = "S7" in view.profile.rules
    if not known and not view.profile.measured_words:
        return
    for message in view.assistants:
        if message.empty and not message.calls:
            error = f"Invalid request: the message at position {message.index} with role 'assistant' must not be empty"
            yield view.request.broken(
                "S7", error, f"message at position {message.index}", message.pointer, doubtful=not known
            )


def tail_of_unknown_servers(view: View) -> Iterator[Violation]:
    """S13, as a warning for servers of unknown make: an assistant message at the end (OpenAI itself takes it, O17)."""
    last = view.messages[-1] if view.messages else None
    if view.profile.measured_words and last is not None and last.role == "assistant":
        error = "the last message is an assistant message, which some servers refuse or read as a prefill"
        yield view.request.broken("S13", error, f"message[{last.index}]", last.pointer, doubtful=True)


def mistral_ids(view: View) -> Iterator[Violation]:
    """S9: ids of exactly nine letters and digits. S12: none twice, none unknown."""
    for turn in view.turns:
        known: set[str] = set()
        for call in turn.assistant.calls:
            if not (len(call.id) == 9 and call.id.isascii() and call.id.isalnum()):
                error = f"Tool call id was {call.id} but must be a-z, A-Z, 0-9, with a length of 9."
                yield view.request.broken("S9", error, call.position, call.pointer)
            if call.id in known:
                yield view.request.broken(
                    "S12",
                    f"Duplicate tool call id {call.id} in assistant message",
                    call.position,
                    call.pointer,
                )
            known.add(call.id)
        seen: set[str] = set()
        for result in turn.results:
            words = "Duplicate" if result.call_id in seen else "Unexpected" if result.call_id not in known else ""
            if words:
                error = f"{words} tool call id {result.call_id} in tool results"
                yield view.request.broken("S12", error, f"messages[{result.index}]", result.pointer)
            seen.add(result.call_id)


def mistral_counts(view: View) -> Iterator[Violation]:
    """S11: as many results as calls."""
    for turn in view.turns:
        if len(turn.results) != len(turn.assistant.calls):
            error = "Not the same number of function calls and responses"
            tag: Tag = "T" if turn.after is None else "P"
            call = turn.assistant.calls[0]
            yield view.request.broken("S11", error, f"messages[{turn.assistant.index}]", call.pointer, tag=tag)


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
        error = f"Unexpected role '{after.role}' after role '{before.role}'"
        yield view.request.broken(
            "S10" if late_user else "S17",
            error,
            f"messages[{after.index}]",
            after.pointer,
            doubtful=late_user,
        )


def mistral_ends(view: View) -> Iterator[Violation]:
    """S13: the last role. S15: the first, at least one message, and ``prefix`` on the last only."""
    if not view.messages:
        yield view.request.broken("S15", "Conversation must have at least one message", "messages", ("messages",))
        return
    first, last = view.messages[0], view.messages[-1]
    if first.role not in ("user", "system"):
        error = "Conversation must start with a user message or system message"
        yield view.request.broken("S15", error, "messages[0]", first.pointer)
    for message in view.assistants:
        if message.data.get("prefix") is True and message is not last:
            error = "Assistant message with prefix True must be last message"
            yield view.request.broken("S15", error, f"messages[{message.index}]", message.pointer)
    if last.role not in ("user", "tool") and not (last.role == "assistant" and last.data.get("prefix") is True):
        error = (
            "Expected last role User or Tool (or Assistant with prefix or continue_final_message set to True) for"
            f" serving but got {last.role}"
        )
        yield view.request.broken("S13", error, f"messages[{last.index}]", last.pointer)


def mistral_content(view: View) -> Iterator[Violation]:
    """S14: an assistant message has content or calls (both at once were refused by old tokenizers only)."""
    for message in view.assistants:
        if message.empty and not message.calls:
            error = "Assistant message must have either content or tool_calls, but not both."
            yield view.request.broken("S14", error, f"messages[{message.index}]", message.pointer)


def mistral_functions(view: View) -> Iterator[Violation]:
    """S16: names of at most 64 letters, digits, ``_`` and ``-``; arguments are JSON."""
    for call in view.calls:
        if not (
            0 < len(call.name) <= 64 and call.name.isascii() and call.name.replace("_", "").replace("-", "").isalnum()
        ):
            error = (
                f"Function name was {call.name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a"
                " maximum length of 64."
            )
            yield view.request.broken("S16", error, call.position, call.pointer, faults=("tool-name-invalid",))
        if not _is_json(call):
            error = "Function call arguments must be valid JSON"
            yield view.request.broken("S16", error, call.position, call.pointer, faults=("tool-input-malformed",))


def groq_fields(view: View) -> Iterator[Violation]:
    """S18: no ``reasoning_content`` on assistant messages."""
    for message in view.assistants:
        if "reasoning_content" in message.data:
            where = f"messages.{message.index}"
            error = (
                f"'{where}' : for 'role:assistant' the following must be satisfied[('{where}' : property"
                " 'reasoning_content' is unsupported)]"
            )
            yield view.request.broken("S18", error, where, message.pointer)


def fireworks_fields(view: View) -> Iterator[Violation]:
    """S19: no key on a message or a call that the schema does not know."""
    for message in view.messages:
        for name in _FIREWORKS_EXTRA:
            if name in message.data:
                where = f"messages[{message.index}].{name}"
                yield _extra(view, where, (*message.pointer, name))
    for call in view.calls:
        entry = _entry(view, call)
        for name in _FIREWORKS_EXTRA:
            if name in entry:
                yield _extra(view, f"{call.position}.{name}", (*call.pointer, name))


def _extra(view: View, where: str, pointer: tuple[str | int, ...]) -> Violation:
    return view.request.broken("S19", f"Extra inputs are not permitted, field: '{where}'", where, pointer)


def template_rules(view: View) -> Iterator[Violation]:
    """S21: what chat templates raise. Which models have which is not known: warnings, one of each kind."""
    talkers = [message for message in view.messages if message.role in ("user", "assistant")]
    for before, after in pairwise(talkers):
        between_tools = before.role == "assistant" and bool(before.calls)
        if before.role == after.role and not between_tools:
            error = "Conversation roles must alternate user/assistant/user/assistant/..."
            yield view.request.broken("S21", error, f"messages[{after.index}]", after.pointer, doubtful=True)
            break
    late = next((message for message in view.messages[1:] if message.role == "system"), None)
    if late is not None:
        error = "System message must be at the beginning."
        yield view.request.broken("S21", error, f"messages[{late.index}]", late.pointer, doubtful=True)
    unread = next((call for call in view.calls if not _is_json(call)), None)
    if unread is not None:
        error = "tool call arguments are not valid JSON: the chat template cannot be applied"
        yield view.request.broken("S21", error, unread.position, unread.pointer, doubtful=True)


def dashscope_arguments(view: View) -> Iterator[Violation]:
    """S22: arguments are JSON (the pairing half of the rule is in ``pairing``)."""
    for call in view.calls:
        if not _is_json(call):
            error = f'{DASHSCOPE}The "function.arguments" parameter of the code model must be in JSON format.'
            yield view.request.broken("S22", error, call.position, call.pointer, faults=("tool-input-malformed",))


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
            error = (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
                " work correctly, and missing thought_signature may lead to degraded model performance. Additional"
                f" data, function call `default_api:{call.name}` , position {call.index + 1}. Please refer to"
                " https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
            yield view.request.broken("S23", error, call.position, call.pointer)


def copilot_tail(view: View) -> Iterator[Violation]:
    """S24: Claude models behind Copilot refuse an assistant tail as A17 says."""
    last = view.messages[-1] if view.messages else None
    model = view.request.model
    if last is not None and last.role == "assistant" and model.family == "claude" and model.prefill is not True:
        error = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield view.request.broken("S24", error, f"messages[{last.index}]", last.pointer, doubtful=model.prefill is None)


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
