"""Call ids, tool names and arguments in a form that a provider refuses (docs/contract/rules.md#2.15, #2.22, #2.23)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sessions_app.domain.lowering.settle_v2 import OPEN
from sessions_app.domain.model import Message, ToolPart
from sessions_app.domain.repair import Edit
from sessions_app.domain.wire.callids import plain, wire_call_id
from sessions_app.domain.wire.verdict import Violation

from .calls import rename
from .context import Context
from .finding import Finding, Severity, safe
from .operations import (
    MAX_CALL_ID,
    edit_part,
    is_v2,
    keep_beside,
    keep_raw_input,
    name_path,
    parsed_object,
)
from .registration import rule

_SAFE_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MARKUP = re.compile(r"[<>\n]")
_ID_CODES = ("call-id-charset", "duplicate-call-id-in-message", "duplicate-call-id-across-turns")
_CHECKS_IDS = frozenset({"anthropic-messages", "bedrock-converse"})


@rule("call-id-charset", severity="blocked", safety="safe", needs="odd-id refused")
def find_call_ids(context: Context) -> Iterator[Finding]:
    """Empty ids, ids with other characters than letters, digits, ``_`` and ``-``, and ids that the client's scrub makes
    equal."""
    holders: dict[str, str] = {}
    for message, tool in context.tools:
        on_wire = wire_call_id(context.target, tool.call_id, context.v2)
        owner = holders.setdefault(on_wire, tool.call_id)
        if not tool.call_id or owner != tool.call_id:
            # Equal ids are another rule's, unless their form makes them equal.
            reason = f"becomes {on_wire} on the wire, as does {owner}" if tool.call_id else "is empty"
            refusal = context.refusal(*_ID_CODES, parts=[tool])
        else:
            refusal = _refused_form(context, tool)
            reason = _bad_form(context, tool.call_id, refusal)
        if reason:
            yield _bad_id(context, message, tool, reason, refusal)


def _refused_form(context: Context, tool: ToolPart) -> Violation | None:
    return next((one for one in context.violations_of(tool.id) if one.faults[:1] == (context.rule,)), None)


def _bad_form(context: Context, call_id: str, refusal: Violation | None) -> str:
    strict = refusal is not None or (context.target is not None and context.target.protocol in _CHECKS_IDS)
    if call_id != call_id.strip():
        return "has white space at its ends"
    if len(call_id) > MAX_CALL_ID and strict:
        return f"has {len(call_id)} characters"
    if _SAFE_ID.fullmatch(call_id) is None and strict:
        return "holds characters that Anthropic refuses"
    return "is not in the form this provider wants" if refusal else ""


def _bad_id(context: Context, message: Message, tool: ToolPart, reason: str, refusal: Violation | None) -> Finding:
    severity: Severity = "info" if tool.call_id else "at-risk"
    operation, new = rename(context, message, tool, f"the call id {reason}")
    scrubbed = severity == "info" and not refusal and not context.v2
    harmless = "; harmless here: the V1 client replaces such characters for claude models" if scrubbed else ""
    return context.finding(
        f"The call id {tool.call_id!r} of {tool.tool} {reason}{harmless}",
        safe("rename", f"Rename this call and its result to {new}", operation),
        messages=[message],
        parts=[tool],
        severity=severity,
        refusal=refusal,
        details={"call_id": tool.call_id, "new_call_id": new},
    )


@rule("tool-name-invalid", severity="blocked", safety="safe", needs="odd-name")
def find_names(context: Context) -> Iterator[Finding]:
    """Tool names that are not 1 to 64 letters, digits, ``_`` or ``-``."""
    for message, tool in context.tools:
        named = tool.data.get("name" if is_v2(message) else "tool")
        if not isinstance(named, str):
            continue
        refusal = context.refusal(parts=[tool])
        new = (plain(named) or "invalid")[:64]
        if new == named or (_SAFE_NAME.fullmatch(named) and not refusal):
            continue
        edits = (Edit(name_path(message), new), keep_beside(message, tool, "originalName", named))
        shown = named if len(named) <= 60 else named[:57] + "..."
        yield context.finding(
            f"The tool name {shown!r} of the call {tool.call_id} is not 1 to 64 letters, digits, _ or -",
            safe(
                "rename",
                f"Write {new}; the original name is kept in the call's metadata",
                edit_part(tool, edits, "no provider takes this name"),
            ),
            messages=[message],
            parts=[tool],
            refusal=refusal,
            details={"name": named, "new_name": new, "call_id": tool.call_id},
        )


@rule("tool-input-malformed", severity="blocked", safety="safe", needs="odd-input")
def find_inputs(context: Context) -> Iterator[Finding]:
    """Arguments that are no JSON object. A V2 call that still streams holds raw text by design."""
    for message, tool in context.tools:
        if tool.fault is not None and tool.fault.fatal:
            continue
        if isinstance(tool.input, dict):
            yield from _odd_input(context, tool, tool.input)
        elif not is_v2(message) or tool.status not in OPEN:
            yield _bad_input(context, message, tool)


def _odd_input(context: Context, tool: ToolPart, held: dict[str, Any]) -> Iterator[Finding]:
    """An object that providers take and that is still not what was meant; nothing is done unless it is asked for."""
    value, raw = held.get("value"), tool.state.get("raw")
    unread = raw if isinstance(raw, str) and not held and tool.status == "error" else ""
    stray = [key for key in held if _MARKUP.search(key)]
    if isinstance(value, str) and len(held) == 1 and parsed_object(value) is not None:
        yield _odd(context, tool, "hold another object as text under the key value", value, "Store the object it holds")
    elif unread and parsed_object(unread) is not None:
        fault = "are empty, and the raw text beside them holds an object"
        yield _odd(context, tool, fault, unread, "Store that object")
    elif unread:
        yield _odd(context, tool, "were not valid JSON; the raw text beside them is kept")
    elif stray:
        yield _odd(context, tool, f"have a key with stray markup: {stray[0]!r}")


def _odd(context: Context, tool: ToolPart, fault: str, meant: str = "", label: str = "") -> Finding:
    edit = Edit(("state", "input"), meant.strip(), raw=True)
    parse = safe("parse", label, edit_part(tool, (edit,), "the object that was meant"))
    return context.finding(
        f"The arguments of {tool.tool} ({tool.call_id}) {fault}",
        *([parse] if meant else []),
        messages=[tool.message_id],
        parts=[tool],
        severity="info",
        details={"call_id": tool.call_id},
    )


def _bad_input(context: Context, message: Message, tool: ToolPart) -> Finding:
    parses = isinstance(tool.input, str) and parsed_object(tool.input) is not None
    if parses:
        name, label = "parse", "Store the object that the text holds"
        edits = [Edit(("state", "input"), tool.input.strip(), raw=True)]
    else:
        name = "empty"
        label = "Store {} and keep the raw text in the call's metadata; the missing rest is not guessed"
        edits = keep_raw_input(message, tool, {})
    kinds = {str: "text", list: "an array", type(None): "null"}
    kind = kinds.get(type(tool.input), "a single value") if tool.has_input else "missing"
    return context.finding(
        f"The arguments of {tool.tool} ({tool.call_id}) are {kind}, not an object",
        safe(name, label, edit_part(tool, edits, "arguments must be a JSON object")),
        messages=[message],
        parts=[tool],
        refusal=context.refusal(parts=[tool]),
        details={"call_id": tool.call_id, "parses": parses},
    )
