"""Calls that share an id, have no result, never ended, or ran twice (docs/contract/rules.md#2.1, #2.4, #2.11,
#2.24)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from sessions_app.domain.lowering.dedupe import winners
from sessions_app.domain.lowering.replay import ABORTED, left_out, replayed
from sessions_app.domain.lowering.settle_v2 import OPEN
from sessions_app.domain.model import Message, Part, StepStartPart, TextPart, ToolPart
from sessions_app.domain.repair import Edit, Operation
from sessions_app.domain.wire.callids import wants_nine, wire_call_id
from sessions_app.domain.wire.verdict import Violation

from .context import Context
from .finding import Finding, lossy, safe
from .operations import (
    call_id_path,
    close_tool,
    delete_part,
    edit_message,
    edit_part,
    is_v2,
    replace_part,
    safe_call_id,
    tool_as_text,
)
from .registration import rule

_NAMED = 3
"""Twins whose fate a label says."""
READ_ONLY = frozenset({"read", "glob", "grep", "list", "ls"})


def rename(context: Context, message: Message, tool: ToolPart, why: str) -> tuple[Operation, str]:
    """A new call id for one call; its result is in the same part, so both change together. Unique also after the
    client's scrub."""
    nine = wants_nine(context.target)

    def taken(text: str) -> bool:
        return text in context.call_ids or wire_call_id(context.target, text, context.v2) in context.wire_ids

    new = context.fresh(tool.call_id, lambda number: safe_call_id(tool.call_id, number, nine), taken)
    return edit_part(tool, (Edit(call_id_path(message), new),), why), new


@rule("duplicate-call-id-in-message", severity="blocked", safety="safe", needs="repeated-id")
def find_duplicates(context: Context) -> Iterator[Finding]:
    """Tools of one message that share a call id (an empty id names nothing: that is ``call-id-charset``)."""
    for message in context.messages:
        groups: dict[str, list[ToolPart]] = defaultdict(list)
        for tool in message.tools():
            if tool.call_id:
                groups[tool.call_id].append(tool)
        for call_id, twins in groups.items():
            if len(twins) > 1:
                yield _twins(context, message, call_id, twins)


def _twins(context: Context, message: Message, call_id: str, twins: list[ToolPart]) -> Finding:
    winner = winners(twins)[0]
    operations: list[Operation] = []
    renamed: dict[str, str] = {}
    removed: list[str] = []
    for tool in twins:
        if tool is winner:
            continue
        if tool.status == winner.status == "completed" and _differs(tool, winner):
            why = f"{call_id} is the id of another completed call in this message"
            operation, renamed[tool.id] = rename(context, message, tool, why)
            operations.append(operation)
        else:
            operations += _collapse(message, twins, winner, tool, call_id)
            removed.append(tool.id)
    fate = [f"remove {one}" for one in removed] + [f"give {one} an id of its own" for one in renamed]
    words = ", ".join((f"Keep {winner.id} ({winner.status})", *fate[:_NAMED]))
    words += f" and {len(fate) - _NAMED} more" if len(fate) > _NAMED else ""
    return context.finding(
        f"{_count(len(twins))} tool parts share the call id {call_id}",
        safe("dedupe", words, *operations),
        messages=[message],
        parts=twins,
        severity="at-risk" if _same_step(message, twins) else "info",
        refusal=context.refusal("duplicate-call-id-in-message", "duplicate-call-id-across-turns", parts=twins),
        details={
            "call_id": call_id,
            "kept": winner.id,
            "renamed": renamed,
            "removed": removed,
            "states": {tool.id: tool.status for tool in twins},
        },
        mark=call_id,
    )


def _collapse(
    message: Message, twins: list[ToolPart], winner: ToolPart, loser: ToolPart, call_id: str
) -> list[Operation]:
    """The loser goes. Where it stood first in the same step with something sent in between, the winner's data takes its
    place (docs/contract/design.md#6: at the place of the first occurrence), and the winner's own row goes instead."""
    why = f"a more informative part holds the call {call_id}"
    if loser is twins[0] and winner.index > loser.index and _sent_between(message, loser, winner):
        return [
            edit_part(loser, (Edit((), winner.raw, raw=True),), why),
            delete_part(winner, f"its data now stands at the first place of the call {call_id}"),
        ]
    return [delete_part(loser, why)]


def _sent_between(message: Message, first: ToolPart, last: ToolPart) -> bool:
    """Something that is sent lies between two parts of one step."""
    between = message.parts[first.index + 1 : last.index]
    return not _step_starts(between) and any(
        part.kind == "reasoning"
        or (isinstance(part, TextPart) and part.text)
        or (isinstance(part, ToolPart) and part.call_id != first.call_id)
        for part in between
    )


def _same_step(message: Message, twins: list[ToolPart]) -> bool:
    return is_v2(message) or not _step_starts(message.parts[twins[0].index : twins[-1].index])


def _step_starts(parts: list[Part]) -> bool:
    return any(isinstance(part, StepStartPart) for part in parts)


def _differs(one: ToolPart, other: ToolPart) -> bool:
    """Two completed calls are evidence of two runs when tool, input or output differ."""
    return (one.tool, one.input, _output(one)) != (other.tool, other.input, _output(other))


def _output(tool: ToolPart) -> object:
    return [tool.state.get(name) for name in ("output", "content", "structured", "result", "attachments")]


def _count(number: int) -> str:
    return {2: "Two", 3: "Three", 4: "Four", 5: "Five"}.get(number, str(number))


@rule("duplicate-call-id-across-turns", severity="blocked", safety="safe", needs="repeated-id")
def find_across_turns(context: Context) -> Iterator[Finding]:
    """One call id in several messages: the first keeps it, every later one is a call of its own."""
    first: dict[str, str] = {}
    for message in context.messages:
        seen: set[str] = set()
        for tool in message.tools():
            if not tool.call_id or tool.call_id in seen:
                continue
            seen.add(tool.call_id)
            origin = first.setdefault(tool.call_id, message.id)
            if origin != message.id:
                yield _reused(context, message, tool, origin)


def _reused(context: Context, message: Message, tool: ToolPart, origin: str) -> Finding:
    # Gateways of Responses are known to check ids over the whole request, OpenAI itself is not
    # (docs/contract/wire.md#r16: a warning).
    responses = context.target is not None and context.target.protocol == "openai-responses"
    may_refuse = responses and message.id in context.sent_messages
    refusal = context.refusal("duplicate-call-id-across-turns", "duplicate-call-id-in-message", parts=[tool])
    operation, new = rename(context, message, tool, f"the call id {tool.call_id} is used in an earlier message")
    harmless = "; this target accepts it, endpoints that check the whole request do not"
    return context.finding(
        f"The call id {tool.call_id} of {origin} is used again in {message.id}"
        + ("" if refusal or may_refuse else harmless),
        safe("rename", f"Rename this call and its result to {new}", operation),
        messages=[message],
        parts=[tool],
        severity="at-risk" if may_refuse else "info",
        refusal=refusal,
        details={
            "call_id": tool.call_id,
            "first_message": origin,
            "new_call_id": new,
            "harmful_for": (
                "Anthropic Messages and other endpoints that check ids over the whole request (DeepSeek, OpenAI"
                " Responses)"
            ),
        },
    )


@rule("orphan-tool-use", severity="blocked", safety="safe", live=True, needs="refused v2")
def find_orphans(context: Context) -> Iterator[Finding]:
    """Calls that reach the provider without a result. V1 pairs every call of the client's own tools; only what the
    provider itself executed can lose its result there (docs/contract/wire.md#f8)."""
    named: dict[str, list[Violation]] = defaultdict(list)
    for violation in context.violations:
        if "orphan-tool-use" in violation.faults:
            named[violation.message].append(violation)
    for message, tool in context.tools:
        sent_open = is_v2(message) and message.id in context.read_messages and tool.id not in context.settled_parts
        still_open = sent_open and tool.status in OPEN and not tool.provider_executed
        unanswered = next((one for one in named.get(message.id, ()) if _names(one, tool)), None)
        if not still_open and not (unanswered and tool.provider_executed):
            continue
        close = safe(
            "close",
            "Close it with an error result that says the outcome is unknown",
            close_tool(message, tool, "no result was stored for this call"),
        )
        text = lossy(
            "to-text",
            "Turn the call and what is known of its result into one text part",
            replace_part(tool, tool_as_text(message, tool), "a call without a result cannot be sent"),
        )
        yield context.finding(
            f"The call {tool.call_id} of {tool.tool} is sent without a result (status {tool.status})",
            *((close, text) if still_open else (text,)),
            messages=[message],
            parts=[tool],
            refusal=unanswered or context.any_refusal(parts=[tool]),
            details={"call_id": tool.call_id, "status": tool.status},
            mark=tool.call_id,
        )


def _names(violation: Violation, tool: ToolPart) -> bool:
    """One violation may name several calls of its message in its text."""
    return violation.part == tool.id or bool(tool.call_id and tool.call_id in violation.error)


@rule("stuck-tool", severity="at-risk", safety="safe", live=True, needs="open-call")
def find_stuck(context: Context) -> Iterator[Finding]:
    """Calls that never ended: the client shows them as busy, the V2 one until the next prompt."""
    for message, tool in context.tools:
        if tool.status in OPEN:
            settled = tool.id in context.settled_parts
            yield context.finding(
                f"The call {tool.call_id} of {tool.tool} is still {tool.status}"
                + ("; its client ends it as interrupted with the next prompt" if settled else ""),
                safe(
                    "close",
                    "Close it as interrupted, outcome unknown; its input and partial output stay",
                    close_tool(message, tool, "nothing ended this call"),
                ),
                messages=[message],
                parts=[tool],
                severity="info" if settled else "at-risk",
                refusal=None if settled else context.any_refusal(parts=[tool]),
                details={
                    "call_id": tool.call_id,
                    "tool": tool.tool,
                    "status": tool.status,
                    "executed": tool.executed,
                },
            )


@rule("tool-ran-twice", severity="info", safety="manual", needs="repeated-call")
def find_repeats(context: Context) -> Iterator[Finding]:
    """Two completed calls of one message with the same tool and input, under two ids or with two results. One id with
    two inputs is two calls (``duplicate-call-id-in-message``)."""
    for message in context.messages:
        done: dict[tuple[str, str], ToolPart] = {}
        tools = [tool for tool in message.tools() if tool.status == "completed" and not tool.provider_executed]
        named = Counter([tool.tool for tool in tools])
        tools = [tool for tool in tools if named[tool.tool] > 1]
        likenesses = [_likeness(tool) for tool in tools]
        alike = Counter(likenesses)
        for tool, likeness in zip(tools, likenesses, strict=True):
            if alike[likeness] == 1:
                continue
            earlier = done.setdefault((tool.tool, repr(tool.input)), tool)
            if earlier is not tool and (earlier.call_id != tool.call_id or _differs(earlier, tool)):
                yield _repeat(context, message, earlier, tool)


@rule("executed-tool-not-replayed", severity="at-risk", safety="manual", needs="failed")
def find_untold(context: Context) -> Iterator[Finding]:
    """Calls that ran in a failed V1 answer, which is not sent again: neither call nor result reaches the model, unless
    a later answer made the same call."""
    if context.v2:
        return
    history = replayed(context.session)
    told = {_call(tool) for message in history if not left_out(message) for tool in message.tools() if tool.executed}
    for message in history:
        if message.is_assistant and left_out(message) and message.data.get("summary") is not True:
            ran = [tool for tool in message.tools() if tool.executed and not tool.provider_executed]
            untold = [tool for tool in ran if _call(tool) not in told]
            if untold:
                yield _untold(context, message, untold)


def _likeness(tool: ToolPart) -> Hashable:
    """Equal for calls of the same tool with the same input, and for few others; cheaper than the whole input."""
    values = tool.input.values() if isinstance(tool.input, dict) else ()
    return tool.tool, tuple([len(value) if isinstance(value, str) else 0 for value in values])


def _untold(context: Context, message: Message, ran: list[ToolPart]) -> Finding:
    names = ", ".join(dict.fromkeys(tool.tool for tool in ran))
    words = f"{_said(message.error or {})} [marked as aborted by Suture, so that what ran is sent]"
    edits = (
        (Edit(("error", "name"), ABORTED), Edit(("error", "data", "message"), words))
        if isinstance((message.error or {}).get("data"), dict)
        else (Edit(("error",), {"name": ABORTED, "data": {"message": words}}),)
    )
    again = edit_message(message, edits, "an aborted answer is sent again, a failed one is not")
    return context.finding(
        f"{names} ran in {message.id}, which failed and is not sent again: the model is not told",
        lossy("send-again", "Mark the answer as aborted, so that its calls and results are sent again", again),
        messages=[message],
        parts=ran,
        severity="info" if all(tool.tool in READ_ONLY for tool in ran) else "at-risk",
        details={"tools": [tool.tool for tool in ran], "call_ids": [tool.call_id for tool in ran]},
        also="Or tell the model in your next prompt what ran, before it runs it again.",
        safety="manual",
    )


def _call(tool: ToolPart) -> tuple[str, str]:
    return tool.tool, repr(tool.input)


def _said(error: Mapping[str, Any]) -> str:
    data = error.get("data")
    return f"{error.get('name') or 'Error'}: {data.get('message', '') if isinstance(data, dict) else data or ''}"


def _repeat(context: Context, message: Message, earlier: ToolPart, tool: ToolPart) -> Finding:
    reads_only = tool.tool in READ_ONLY
    choices = []
    if reads_only:
        label = f"Remove the repeat {tool.id}: {tool.tool} only reads"
        choices = [lossy("remove-repeat", label, delete_part(tool, f"the same read was made by {earlier.id}"))]
    return context.finding(
        f"{tool.tool} ran twice with the same input ({earlier.call_id} and {tool.call_id})",
        *choices,
        messages=[message],
        parts=[earlier, tool],
        severity="info",
        details={"tool": tool.tool, "call_ids": [earlier.call_id, tool.call_id], "reads_only": reads_only},
        safety="manual",
    )
