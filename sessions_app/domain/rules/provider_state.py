"""State that only the provider who made it takes back (rules 2.8, 2.9, 2.13, 2.21)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sessions_app.domain.jsjson import dumps
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

from .base import Choice, Context, Finding, Rule, refused
from .content import blank
from .ops import delete_part, edit_part, is_v2, replace_part, tool_as_text

ITEM = "itemId"
ENCRYPTED = "reasoningEncryptedContent"
SIGNATURE = "thoughtSignature"
_REFUSED_WORDS = ("could not be verified", "not issued to this caller", "invalid_encrypted_content")


def states(message: Message, part: Part) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """Where a part keeps provider state, and what is there (format B5): keyed by provider in V1 and generation 1, flat
    later."""
    if message.generation >= 2:
        names = ("providerState", "native") if isinstance(part, ToolPart) else ("state", "native")
        for name in names:
            if isinstance(part.data.get(name), dict):
                yield (name,), part.data[name]
        return
    path: tuple[str, ...] = ("metadata",)
    holder: Any = part.data.get("metadata")
    if message.generation == 1:
        path = ("provider", "metadata") if isinstance(part, ToolPart) else ("providerMetadata",)
        holder = part.data
        for name in path:
            holder = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        for key, value in holder.items():
            if isinstance(value, dict):
                yield (*path, key), value


def has_state(message: Message, part: Part, key: str) -> bool:
    return any(key in value for _, value in states(message, part))


def without(message: Message, part: Part, *keys: str) -> tuple[Edit, ...]:
    """Edits that take keys out of a part's provider state; text and all other state stay."""
    return tuple(Edit((*path, key), REMOVE) for path, value in states(message, part) for key in keys if key in value)


def _responses(context: Context) -> bool:
    return context.target is not None and context.target.protocol == "openai-responses"


def find_encrypted(context: Context) -> Iterator[Finding]:
    """Nothing in a row tells whose key can read it, so this is info unless the session itself recorded a refusal."""
    if not _responses(context):
        return
    words = next(
        (text for text in map(_stored_error, context.messages) if any(word in text for word in _REFUSED_WORDS)),
        "",
    )
    made_by = {
        (one.provider, one.model)
        for one in context.messages
        if any(has_state(one, part, ENCRYPTED) for part in one.parts)
    }
    for message in context.messages:
        sealed = [part for part in message.parts if has_state(message, part, ENCRYPTED)]
        if not sealed or not message.is_assistant:
            continue
        same = context.same_model(message)
        severity, details = context.severity(
            "info", "encrypted-reasoning-foreign", messages=(message.id,), parts=[part.id for part in sealed]
        )
        if words and same:
            severity, details = "blocked", {"error": words, "certainty": "reported"}
        yield Finding(
            "encrypted-reasoning-foreign",
            severity,
            "lossy",
            (message.id,),
            tuple(part.id for part in sealed),
            f"{message.id} holds encrypted reasoning that only the account, key and route that made it can read"
            + ("" if same else "; it is not sent, since another model is called next"),
            {
                "not_checkable": "no row tells which account made it",
                "made_by": sorted("/".join(one) for one in made_by),
                **details,
            },
            (
                Choice(
                    "unseal",
                    "Remove the encrypted content and the item ids of this message; visible text stays",
                    "lossy",
                    _unseal(message),
                ),
            ),
        )


def _unseal(message: Message) -> tuple[Operation, ...]:
    """All items of the message together: some with ids and some without is refused as unpaired."""
    operations = []
    why = "made under another account, key or route"
    for part in message.parts:
        edits = without(message, part, ENCRYPTED, ITEM)
        if not edits:
            continue
        if isinstance(part, ReasoningPart) and blank(part.text):
            operations.append(delete_part(part, why))
        else:
            operations.append(edit_part(part, edits, why))
    return tuple(operations)


def _stored_error(message: Message) -> str:
    return dumps(message.error) if message.error else ""


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
    for _, value in states(message, part):
        if isinstance(value.get(ITEM), str):
            return str(value[ITEM])
    return ""


def _lone(message: Message, item: str, follower: Part | None) -> bool:
    if follower is None or not isinstance(follower, (ReasoningPart, TextPart, ToolPart)):
        return True
    return isinstance(follower, ReasoningPart) and _item(message, follower) not in ("", item)


def _unpaired(context: Context, message: Message, part: Part, step: Sequence[Part], item: str) -> Finding:
    severity, details = context.severity("info", "reasoning-item-unpaired", messages=(message.id,), parts=(part.id,))
    why = "the item that followed it was never stored"
    gone = [delete_part(part, why)]
    rest = [other for other in step if other is not part]
    if rest and all(isinstance(other, StepStartPart) for other in rest):
        gone = [delete_part(other, "nothing is left in this step") for other in rest] + gone
    return Finding(
        "reasoning-item-unpaired",
        severity,
        "lossy",
        (message.id,),
        (part.id,),
        f"The reasoning item {item} ({part.id}) has no message or call behind it",
        {"item": item, "harmless_for": _STRIPPED, **details},
        (Choice("remove", "Remove the lone reasoning item", "lossy", tuple(gone)),),
    )


_STRIPPED = "client 1.18, which sends no item ids; older clients and other routes are refused"


def find_missing_items(context: Context) -> Iterator[Finding]:
    """Item ids without encrypted content: the server is asked for what it never stored (store is off)."""
    if not _responses(context):
        return
    for message in context.messages:
        bare = [
            part
            for part in message.parts
            if isinstance(part, ReasoningPart) and _item(message, part) and not has_state(message, part, ENCRYPTED)
        ]
        if not bare:
            continue
        holders = [part for part in message.parts if _item(message, part)]
        severity, details = context.severity(
            "info", "item-reference-missing", messages=(message.id,), parts=[part.id for part in holders]
        )
        why = "the server holds no item of this id"
        operations = [
            delete_part(part, why) if part in bare else edit_part(part, without(message, part, ITEM), why)
            for part in holders
        ]
        yield Finding(
            "item-reference-missing",
            severity,
            "lossy",
            (message.id,),
            tuple(part.id for part in holders),
            f"{message.id} refers to {', '.join(_item(message, part) for part in holders)}, which the server does not"
            " hold when store is off",
            {"items": [_item(message, part) for part in holders], "harmless_for": _STRIPPED, **details},
            (Choice("forget", "Remove the item ids of this message; texts stay", "lossy", tuple(operations)),),
        )


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
        violation = context.refusal(
            "reasoning-field-missing", messages=(message.id,), parts=[tool.id for tool in tools]
        )
        if violation is None and not (wants and message.id in context.sent_messages and not _reasons(message)):
            continue
        client = (
            "client 1.18 adds an empty field for model ids with deepseek"
            if violation is None
            else "the client must send an empty field"
        )
        yield Finding(
            "reasoning-field-missing",
            "blocked" if violation else "info",
            "manual",
            (message.id,),
            tuple(tool.id for tool in tools),
            f"{message.id} calls tools and has no reasoning, which {target.provider}/{target.model} wants back;"
            f" {client}",
            {
                **refused(violation),
                "also": "Update to client 1.18 or later, or switch thinking off. Reasoning is never made up.",
            },
        )


def _reasons(message: Message) -> bool:
    return any(isinstance(part, ReasoningPart) and not blank(part.text) for part in message.parts)


def find_unsigned_calls(context: Context) -> Iterator[Finding]:
    """Gemini 3 checks the first call of every step in the current turn."""
    target = context.target
    if target is None or target.protocol != "gemini" or not model_facts(target.model).signed_calls or not context.turns:
        return
    current = {message.id for message in context.turns[-1].answers}
    for message in context.messages:
        for parts in _steps(message):
            call = next((part for part in parts if isinstance(part, ToolPart)), None)
            if call is None:
                continue
            violation = context.refusal(
                "thought-signature-missing", parts=[part.id for part in parts if isinstance(part, ToolPart)]
            )
            if violation is None and (message.id not in current or has_state(message, call, SIGNATURE)):
                continue
            yield _unsigned_call(message, parts, call, refused(violation))


def _unsigned_call(message: Message, parts: Sequence[Part], call: ToolPart, details: dict[str, Any]) -> Finding:
    why = "a call without a thought signature is refused in the current turn"
    tools = [part for part in parts if isinstance(part, ToolPart)]
    text = tuple(replace_part(tool, tool_as_text(message, tool), why) for tool in tools)
    return Finding(
        "thought-signature-missing",
        "blocked" if details else "info",
        "manual",
        (message.id,),
        tuple(tool.id for tool in tools),
        f"The call {call.call_id} of {call.tool} has no thought signature",
        {
            "harmless_when": "the call lies before the last user text: earlier turns are not checked",
            **details,
        },
        (Choice("to-text", "Turn the calls of this step and their results into text", "lossy", text),),
    )


RULES = (
    Rule(
        "reasoning-field-missing",
        "A tool turn without reasoning",
        "blocked",
        "manual",
        what=(
            "An assistant message calls tools and has no reasoning, while the endpoint wants the field on every such"
            " message."
        ),
        rejected=(
            'Moonshot: "thinking is enabled but reasoning_content is missing in assistant tool call message"; DeepSeek:'
            ' "The `reasoning_content` in the thinking mode must be passed back to the API."'
        ),
        why="The session moved from another model, or a plugin removed the reasoning.",
        repair=(
            "No row is changed. Client 1.18 sends an empty field for model ids with deepseek and for models with a"
            " configured interleaved field; otherwise switch thinking off. Reasoning is never made up."
        ),
        order=950,
        find=find_missing_field,
    ),
    Rule(
        "encrypted-reasoning-foreign",
        "Encrypted reasoning of another account",
        "blocked",
        "lossy",
        what="Reasoning is stored encrypted, made under another account, key, region or route.",
        rejected=(
            'OpenAI, Azure and gateways: "The encrypted content gAAA... could not be verified", "was not issued to this'
            ' caller".'
        ),
        why=(
            "The account or route changed. No row tells, so it is blocked only where the session recorded such an"
            " error; else info."
        ),
        repair=(
            "Encrypted content and item ids of the message are removed together; visible text stays. A model switch has"
            " the same effect."
        ),
        order=250,
        find=find_encrypted,
    ),
    Rule(
        "reasoning-item-unpaired",
        "A reasoning item alone",
        "blocked",
        "lossy",
        what="A reasoning item of OpenAI Responses has no message or call after it.",
        rejected="OpenAI: \"Item 'rs_X' of type 'reasoning' was provided without its required following item.\"",
        why=(
            "The turn was aborted after the reasoning was stored, or the call after it was deleted. Client 1.18 sends"
            " no item ids, so it is info there."
        ),
        repair=(
            "The lone item is removed, with its step mark where nothing else is in the step. Calls are never separated"
            " from their reasoning."
        ),
        order=260,
        find=find_unpaired,
    ),
    Rule(
        "item-reference-missing",
        "An item the server never stored",
        "blocked",
        "lossy",
        what="Parts carry item ids but no encrypted content, and requests are sent with store off.",
        rejected="OpenAI: \"Item with id 'rs_X' not found. Items are not persisted when `store` is set to false.\"",
        why="The id refers to the server's memory, which is empty. Client 1.18 sends no item ids, so it is info there.",
        repair=(
            "The ids of the whole message are removed together; texts stay, the reasoning part without id or content"
            " goes."
        ),
        order=270,
        find=find_missing_items,
    ),
    Rule(
        "thought-signature-missing",
        "A Gemini call without thought signature",
        "blocked",
        "manual",
        what="A function call of the current turn has no thoughtSignature.",
        rejected='Gemini 3: "Function call is missing a thought_signature in functionCall parts."',
        why="The call was made by another model, or an adapter dropped the signature.",
        repair=(
            "Report only; the calls and their results can be turned into text. A signature is never copied or made up."
        ),
        order=960,
        find=find_unsigned_calls,
    ),
)
