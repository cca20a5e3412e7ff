"""State that only the provider who made it takes back (docs/contract/rules.md#2.8, #2.9, #2.13, #2.21)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sessions_app.domain.model import (
    Message,
    Part,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from sessions_app.domain.repair import REMOVE, Edit, JsonPath, Operation
from sessions_app.domain.turns import attempts
from sessions_app.domain.wire.models import model_facts

from .content import blank
from .context import Context, recorded
from .finding import Finding, lossy
from .operations import delete_part, delete_parts, edit_part, is_v2, replace_part, tool_as_text
from .registration import rule

ITEM = "itemId"
ENCRYPTED = "reasoningEncryptedContent"
SIGNATURE = "thoughtSignature"
_STRIPPED = "client 1.18, which sends no item ids; older clients and other routes are refused"


def states(message: Message, part: Part) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """Where a part keeps provider state, and what is there (docs/contract/formats.md#b5): keyed by provider in V1 and
    generation 1, flat later."""
    if message.generation >= 2:
        names = ("providerState", "native") if isinstance(part, ToolPart) else ("state", "native")
        for name in names:
            if isinstance(part.data.get(name), dict):
                yield (name,), part.data[name]
        return
    path: tuple[str, ...] = ("metadata",)
    holder: Any
    if message.generation == 1:
        path = ("provider", "metadata") if isinstance(part, ToolPart) else ("providerMetadata",)
        holder = part.data
        for name in path:
            holder = holder.get(name) if isinstance(holder, dict) else None
    else:
        holder = part.provider_state
    if isinstance(holder, dict):
        for key, value in holder.items():
            if isinstance(value, dict):
                yield (*path, key), value


def has_state(message: Message, part: Part, key: str) -> bool:
    """The part keeps something of this name that only its provider takes back."""
    if message.generation:
        return any(key in value for _, value in states(message, part))
    held = part.provider_state
    return isinstance(held, dict) and any(key in value for value in held.values() if isinstance(value, dict))


def without(message: Message, part: Part, *keys: str) -> tuple[Edit, ...]:
    """Edits that take keys out of a part's provider state; text and all other state stay."""
    return tuple(Edit((*path, key), REMOVE) for path, value in states(message, part) for key in keys if key in value)


def _responses(context: Context) -> bool:
    return context.target is not None and context.target.protocol == "openai-responses"


@rule("encrypted-reasoning-foreign", severity="blocked", safety="lossy")
def find_encrypted(context: Context) -> Iterator[Finding]:
    """Nothing in a row tells whose key can read it, so this is info unless the session itself recorded a refusal and
    got no answer since."""
    call = next(iter(context.refused_last()), None)
    if call is None and not _responses(context):
        return
    sealed = {
        message.id: parts
        for message in context.messages
        if (parts := [part for part in message.parts if has_state(message, part, ENCRYPTED)])
    }
    made_by = {(one.provider, one.model) for one in context.messages if one.id in sealed}
    for message in context.messages:
        if message.id not in sealed or not message.is_assistant:
            continue
        same = context.same_model(message)
        told = recorded(call) if call and same and context.same_model(call.rows[0]) else {}
        refusal = context.refusal(messages=[message], parts=sealed[message.id])
        yield context.finding(
            f"{message.id} holds encrypted reasoning that only the account, key and route that made it can read"
            + ("" if same else "; it is not sent, since another model is called next"),
            lossy(
                "unseal",
                "Remove the encrypted content and the item ids of this message; visible text stays",
                *_unseal(message),
            ),
            messages=[message],
            parts=sealed[message.id],
            severity="blocked" if told else "info",
            refusal=None if told else refusal,
            details={
                "not_checkable": "no row tells which account made it",
                "made_by": sorted("/".join(one) for one in made_by),
                **told,
            },
        )


def _unseal(message: Message) -> Iterator[Operation]:
    """All items of the message together: some with ids and some without is refused as unpaired."""
    why = "made under another account, key or route"
    for part in message.parts:
        edits = without(message, part, ENCRYPTED, ITEM)
        if edits:
            unsaid = isinstance(part, ReasoningPart) and blank(part.text)
            yield delete_part(part, why) if unsaid else edit_part(part, edits, why)


@rule("reasoning-item-unpaired", severity="blocked", safety="lossy", needs="reasoning")
def find_unpaired(context: Context) -> Iterator[Finding]:
    """A reasoning item with nothing generated after it: the last of its step, or followed by another reasoning item."""
    if not _responses(context):
        return
    for message in context.messages:
        for parts in _steps(message):
            for part, follower in zip(parts, [*parts[1:], None], strict=False):
                item = _item(message, part)
                if item and isinstance(part, ReasoningPart) and _lone(message, item, follower):
                    yield _unpaired(context, message, part, parts, item)


def _steps(message: Message) -> list[list[Part]]:
    groups = [message.parts] if is_v2(message) else [attempt.parts for attempt in attempts(message)]
    return [[part for part in group if not isinstance(part, StepFinishPart)] for group in groups if group]


def _item(message: Message, part: Part) -> str:
    if part.provider_state is None and not message.generation:
        return ""
    held = (value.get(ITEM) for _, value in states(message, part))
    return next((item for item in held if isinstance(item, str)), "")


def _lone(message: Message, item: str, follower: Part | None) -> bool:
    if follower is None or not isinstance(follower, (ReasoningPart, TextPart, ToolPart)):
        return True
    return isinstance(follower, ReasoningPart) and _item(message, follower) not in ("", item)


def _unpaired(context: Context, message: Message, part: Part, step: Sequence[Part], item: str) -> Finding:
    gone = [delete_part(part, "the item that followed it was never stored")]
    rest = [other for other in step if other is not part]
    if all(isinstance(other, StepStartPart) for other in rest):
        gone = [*delete_parts(rest, "nothing is left in this step"), *gone]
    return context.finding(
        f"The reasoning item {item} ({part.id}) has no message or call behind it",
        lossy("remove", "Remove the lone reasoning item", *gone),
        messages=[message],
        parts=[part],
        severity="info",
        refusal=context.refusal(messages=[message], parts=[part]),
        details={"item": item, "harmless_for": _STRIPPED},
    )


@rule("item-reference-missing", severity="blocked", safety="lossy", needs="reasoning")
def find_missing_items(context: Context) -> Iterator[Finding]:
    """Item ids without encrypted content: the server is asked for what it never stored (store is off)."""
    if not _responses(context):
        return
    why = "the server holds no item of this id"
    for message in context.messages:
        items = {part.id: item for part in message.parts if (item := _item(message, part))}
        holders = [part for part in message.parts if part.id in items]
        bare = [
            part.id for part in holders if isinstance(part, ReasoningPart) and not has_state(message, part, ENCRYPTED)
        ]
        if bare:
            forget = [
                delete_part(part, why) if part.id in bare else edit_part(part, without(message, part, ITEM), why)
                for part in holders
            ]
            yield context.finding(
                f"{message.id} refers to {', '.join(items.values())}, which the server does not hold when store is off",
                lossy("forget", "Remove the item ids of this message; texts stay", *forget),
                messages=[message],
                parts=holders,
                severity="info",
                refusal=context.refusal(messages=[message], parts=holders),
                details={"items": [*items.values()], "harmless_for": _STRIPPED},
            )


@rule("reasoning-field-missing", severity="blocked", safety="manual", needs="tool")
def find_missing_field(context: Context) -> Iterator[Finding]:
    """Tool-call turns without reasoning on endpoints that want it back."""
    target = context.target
    if target is None or target.protocol != "openai-chat":
        return
    wants = "deepseek" in f"{target.provider} {target.model}".lower()
    for message in context.messages:
        tools = list(message.tools())
        if not tools or not message.is_assistant:
            continue
        refusal = context.refusal(messages=[message], parts=tools)
        if refusal is None and not (wants and message.id in context.sent_messages and not _reasons(message)):
            continue
        client = (
            "the client must send an empty field"
            if refusal
            else "client 1.18 adds an empty field for model ids with deepseek"
        )
        yield context.finding(
            f"{message.id} calls tools and has no reasoning, which {target.provider}/{target.model} wants back;"
            f" {client}",
            messages=[message],
            parts=tools,
            severity="info",
            refusal=refusal,
            also="Update to client 1.18 or later, or switch thinking off. Reasoning is never made up.",
        )


def _reasons(message: Message) -> bool:
    return any(isinstance(part, ReasoningPart) and not blank(part.text) for part in message.parts)


@rule("thought-signature-missing", severity="blocked", safety="manual", needs="tool")
def find_unsigned_calls(context: Context) -> Iterator[Finding]:
    """Gemini 3 checks the first call of every step in the current turn."""
    target = context.target
    if target is None or target.protocol != "gemini" or not model_facts(target.model).signed_calls or not context.turns:
        return
    current = {message.id for message in context.turns[-1].answers}
    for message in context.messages:
        for parts in _steps(message):
            tools = [part for part in parts if isinstance(part, ToolPart)]
            unsigned = bool(tools) and message.id in current and not has_state(message, tools[0], SIGNATURE)
            if tools and (unsigned or context.refusal(parts=tools)):
                yield _unsigned_calls(context, message, tools)


def _unsigned_calls(context: Context, message: Message, tools: list[ToolPart]) -> Finding:
    why = "a call without a thought signature is refused in the current turn"
    texts = [replace_part(tool, tool_as_text(message, tool), why) for tool in tools]
    return context.finding(
        f"The call {tools[0].call_id} of {tools[0].tool} has no thought signature",
        lossy("to-text", "Turn the calls of this step and their results into text", *texts),
        messages=[message],
        parts=tools,
        severity="info",
        refusal=context.refusal(parts=tools),
        details={"harmless_when": "the call lies before the last user text: earlier turns are not checked"},
        safety="manual",
    )
