"""Call ids, tool names and arguments in a form that a provider refuses (rules 2.15, 2.22, 2.23)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sessions_app.domain.model import Message, ToolPart
from sessions_app.domain.repair import Edit
from sessions_app.domain.wire.callids import wire_call_id
from sessions_app.domain.wire.verdict import Violation

from .base import Choice, Context, Finding, Rule, Severity, refused
from .calls import OPEN_STATUSES, rename
from .ops import MAX_CALL_ID, edit_part, is_v2, keep_raw_input, name_path, parsed_object

_SAFE_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MARKUP = re.compile(r"[<>\n]")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")
_ID_CODES = ("call-id-charset", "duplicate-call-id-in-message", "duplicate-call-id-across-turns")
_CHECKS_IDS = frozenset({"anthropic-messages", "bedrock-converse"})


def find_call_ids(context: Context) -> Iterator[Finding]:
    """Empty ids, ids with other characters than letters, digits, ``_`` and ``-``, and ids that the client's scrub makes
    equal."""
    holders: dict[str, str] = {}
    for message, tool in context.tools:
        on_wire = wire_call_id(context.target, tool.call_id, context.v2)
        owner = holders.setdefault(on_wire, tool.call_id)
        reason = _id_fault(context, tool, on_wire, owner)
        if reason:
            yield _bad_id(context, message, tool, reason)


def _id_fault(context: Context, tool: ToolPart, on_wire: str, owner: str) -> str:
    call_id = tool.call_id
    if not call_id:
        return "is empty"
    if owner != call_id:
        return f"becomes {on_wire} on the wire, as does {owner}"
    refusal = _refused_id(context, tool, collides=False)
    strict = context.target is not None and context.target.protocol in _CHECKS_IDS
    if call_id != call_id.strip() or (len(call_id) > MAX_CALL_ID and (refusal or strict)):
        return "has white space at its ends" if call_id != call_id.strip() else f"has {len(call_id)} characters"
    if _SAFE_ID.fullmatch(call_id) is None and (refusal or strict):
        return "holds characters that Anthropic refuses"
    return "is not in the form this provider wants" if refusal else ""


def _refused_id(context: Context, tool: ToolPart, collides: bool) -> Violation | None:
    """The refusal that the id's own form causes; ids that are equal are another rule's, unless the form makes them
    equal."""
    if collides:
        return context.refusal(*_ID_CODES, parts=(tool.id,))
    return next(
        (one for one in context.violations_of(tool.id) if one.faults[:1] == ("call-id-charset",)),
        None,
    )


def _bad_id(context: Context, message: Message, tool: ToolPart, reason: str) -> Finding:
    refusal = _refused_id(context, tool, collides=not tool.call_id or "on the wire" in reason)
    severity: Severity = "blocked" if refusal else "info" if tool.call_id else "at-risk"
    operation, new = rename(context, message, tool, f"the call id {reason}")
    scrubbed = severity == "info" and not context.v2
    harmless = "; harmless here: the V1 client replaces such characters for claude models" if scrubbed else ""
    return Finding(
        "call-id-charset",
        severity,
        "safe",
        (message.id,),
        (tool.id,),
        f"The call id {tool.call_id!r} of {tool.tool} {reason}{harmless}",
        {"call_id": tool.call_id, "new_call_id": new, **refused(refusal)},
        (Choice("rename", f"Rename this call and its result to {new}", "safe", (operation,)),),
    )


def find_names(context: Context) -> Iterator[Finding]:
    """Tool names that are not 1 to 64 letters, digits, ``_`` or ``-``."""
    for message, tool in context.tools:
        named = tool.data.get("name" if is_v2(message) else "tool")
        if not isinstance(named, str) or (
            _SAFE_NAME.fullmatch(named) and not context.refusal("tool-name-invalid", parts=(tool.id,))
        ):
            continue
        new = (_UNSAFE.sub("_", named) or "invalid")[:64]
        if new == named:
            continue
        severity, details = context.severity("at-risk", "tool-name-invalid", parts=(tool.id,))
        edits = (Edit(name_path(message), new), *_keep(message, tool, "originalName", named))
        shown = named if len(named) <= 60 else named[:57] + "..."
        yield Finding(
            "tool-name-invalid",
            severity,
            "safe",
            (message.id,),
            (tool.id,),
            f"The tool name {shown!r} of the call {tool.call_id} is not 1 to 64 letters, digits, _ or -",
            {"name": named, "new_name": new, "call_id": tool.call_id, **details},
            (
                Choice(
                    "rename",
                    f"Write {new}; the original name is kept in the call's metadata",
                    "safe",
                    (edit_part(tool, edits, "no provider takes this name"),),
                ),
            ),
        )


def _keep(message: Message, tool: ToolPart, key: str, value: Any) -> tuple[Edit, ...]:
    holder = "structured" if 0 < message.generation < 3 else "metadata"
    if isinstance(tool.state.get(holder), dict):
        return (Edit(("state", holder, key), value),)
    return (Edit(("state", holder), {key: value}),)


def find_inputs(context: Context) -> Iterator[Finding]:
    """Arguments that are no JSON object. A V2 call that still streams holds raw text by design."""
    for message, tool in context.tools:
        if tool.fault is not None and tool.fault.fatal:
            continue
        if isinstance(tool.input, dict):
            yield from _odd_input(tool, tool.input)
            continue
        if is_v2(message) and tool.status in OPEN_STATUSES:
            continue
        yield _bad_input(context, message, tool)


def _odd_input(tool: ToolPart, held: dict[str, Any]) -> Iterator[Finding]:
    """An object that providers take and that is still not what was meant; nothing is done unless it is asked for."""
    value, raw = held.get("value"), tool.state.get("raw")
    inner = parsed_object(value) if isinstance(value, str) and len(held) == 1 else None
    late = parsed_object(raw) if isinstance(raw, str) and not held and tool.status == "error" else None
    stray = [key for key in held if _MARKUP.search(key)]
    if inner is not None:
        yield _odd(tool, "hold another object as text under the key value", value, "Store the object it holds")
    elif late is not None:
        yield _odd(tool, "are empty, and the raw text beside them holds an object", raw, "Store that object")
    elif isinstance(raw, str) and raw and not held and tool.status == "error":
        yield _odd(tool, "were not valid JSON; the raw text beside them is kept", None, "")
    elif stray:
        yield _odd(tool, f"have a key with stray markup: {stray[0]!r}", None, "")


def _odd(tool: ToolPart, fault: str, text: Any, label: str) -> Finding:
    choices: tuple[Choice, ...] = ()
    if label:
        edit = Edit(("state", "input"), text.strip(), raw=True)
        choices = (Choice("parse", label, "safe", (edit_part(tool, (edit,), "the object that was meant"),)),)
    return Finding(
        "tool-input-malformed",
        "info",
        "safe" if choices else "manual",
        (tool.message_id,),
        (tool.id,),
        f"The arguments of {tool.tool} ({tool.call_id}) {fault}",
        {"call_id": tool.call_id},
        choices,
    )


def _bad_input(context: Context, message: Message, tool: ToolPart) -> Finding:
    severity, details = context.severity("at-risk", "tool-input-malformed", parts=(tool.id,))
    parsed = parsed_object(tool.input) if isinstance(tool.input, str) else None
    why = "arguments must be a JSON object"
    if parsed is not None and isinstance(tool.input, str):
        edits = [Edit(("state", "input"), tool.input.strip(), raw=True)]
        choice = Choice("parse", "Store the object that the text holds", "safe", (edit_part(tool, edits, why),))
    else:
        edits = keep_raw_input(message, tool, {})
        label = "Store {} and keep the raw text in the call's metadata; the missing rest is not guessed"
        choice = Choice("empty", label, "safe", (edit_part(tool, edits, why),))
    kind = (
        {str: "text", list: "an array", type(None): "null"}.get(type(tool.input), "a single value")
        if tool.has_input
        else "missing"
    )
    return Finding(
        "tool-input-malformed",
        severity,
        "safe",
        (message.id,),
        (tool.id,),
        f"The arguments of {tool.tool} ({tool.call_id}) are {kind}, not an object",
        {"call_id": tool.call_id, "parses": parsed is not None, **details},
        (choice,),
    )


RULES = (
    Rule(
        "call-id-charset",
        "A call id in a form that is refused",
        "blocked",
        "safe",
        what=(
            "A call id is empty, holds other characters than letters, digits, _ and -, is too long, or equals another"
            " one once the client has replaced such characters."
        ),
        rejected=(
            'Anthropic: "tool_use.id: String should match pattern \'^[a-zA-Z0-9_-]+$\'"; Mistral: "Tool call id was ...'
            ' but must be a-z, A-Z, 0-9, with a length of 9". Kimi, on the other hand, wants its own form'
            " functions.name:0 back."
        ),
        why=(
            "Another provider made the id. The V1 client replaces the characters itself where the model id contains"
            " claude, which can make two ids equal."
        ),
        repair=(
            "The call and its result get a new id together, different from every other one, also after the client's own"
            " replacing. Where the client replaces the characters anyway the renaming is only offered: the user may go"
            " back to the other provider."
        ),
        order=80,
        find=find_call_ids,
    ),
    Rule(
        "tool-name-invalid",
        "A tool name in a form that is refused",
        "blocked",
        "safe",
        what=(
            "A stored call names its tool with characters, or a length, that providers refuse, or with no name at all."
        ),
        rejected=(
            "Bedrock and Anthropic: names are 1 to 64 of [a-zA-Z0-9_-]; OpenAI: \"Invalid 'input[N].name': string does"
            ' not match pattern".'
        ),
        why="The model made the name up, or a plugin's name has dots.",
        repair=(
            "Other characters become _, the name is cut to 64, an empty one becomes invalid. The original is kept in"
            " the metadata. It is never mapped to a real tool."
        ),
        order=82,
        find=find_names,
    ),
    Rule(
        "tool-input-malformed",
        "Arguments that are no object",
        "blocked",
        "safe",
        what="A stored call's arguments are text, an array, null or missing.",
        rejected=(
            'Anthropic: "tool_use.input: Input should be a valid dictionary"; Bedrock: "Provide a json object for the'
            ' field"; chat templates fail to parse them.'
        ),
        why="The model sent something else, or the stream was cut off.",
        repair=(
            "Text that holds an object becomes that object. Anything else becomes {} with the raw text kept in the"
            " metadata; nothing is guessed, status and output stay."
        ),
        order=84,
        find=find_inputs,
    ),
)
