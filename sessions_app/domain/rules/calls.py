"""Calls that share an id, have no result, never ended, or ran twice (rules 2.1, 2.4, 2.11, 2.24)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from sessions_app.domain.lowering.dedupe import winners
from sessions_app.domain.model import Message, Part, StepStartPart, TextPart, ToolPart
from sessions_app.domain.repair import Edit, Operation
from sessions_app.domain.wire.callids import wants_nine, wire_call_id
from sessions_app.domain.wire.verdict import Violation

from .base import Choice, Context, Finding, Rule, refused
from .ops import (
    call_id_path,
    close_tool,
    delete_part,
    edit_part,
    is_v2,
    replace_part,
    safe_call_id,
    tool_as_text,
)

READ_ONLY = frozenset({"read", "glob", "grep", "list", "ls"})
OPEN_STATUSES = frozenset({"pending", "streaming", "running"})


def rename(context: Context, message: Message, tool: ToolPart, why: str) -> tuple[Operation, str]:
    """A new call id for one call; its result is in the same part, so both change together. Unique also after the
    client's scrub."""
    nine = wants_nine(context.target)

    def taken(text: str) -> bool:
        return text in context.call_ids or wire_call_id(context.target, text, context.v2) in context.wire_ids

    new = context.fresh(tool.call_id, lambda number: safe_call_id(tool.call_id, number, nine), taken)
    return edit_part(tool, (Edit(call_id_path(message), new),), why), new


def find_duplicates(context: Context) -> Iterator[Finding]:
    """Tools of one message that share a call id (an empty id names nothing: that is ``call-id-charset``)."""
    for message in context.messages:
        groups: dict[str, list[ToolPart]] = defaultdict(list)
        for tool in message.tools():
            if tool.call_id:
                groups[tool.call_id].append(tool)
        for call_id, twins in groups.items():
            if len(twins) > 1:
                yield from _twins(context, message, call_id, twins)


def _twins(context: Context, message: Message, call_id: str, twins: list[ToolPart]) -> Iterator[Finding]:
    winner = winners(twins)[0]
    severity, details = context.severity(
        "at-risk" if _same_step(message, twins) else "info",
        "duplicate-call-id-in-message",
        "duplicate-call-id-across-turns",
        parts=[tool.id for tool in twins],
    )
    operations: list[Operation] = []
    renamed: dict[str, str] = {}
    for tool in twins:
        if tool is winner:
            continue
        if tool.status == winner.status == "completed" and _differs(tool, winner):
            operation, new = rename(
                context, message, tool, f"{call_id} is the id of another completed call in this message"
            )
            operations.append(operation)
            renamed[tool.id] = new
        else:
            operations += _collapse(message, twins, winner, tool, call_id)
    losers = [tool.id for tool in twins if tool is not winner]
    fate = "the later one is renamed" if len(renamed) == len(losers) else "the less informative is removed"
    yield Finding(
        "duplicate-call-id-in-message",
        severity,
        "safe",
        (message.id,),
        tuple(tool.id for tool in twins),
        f"{_count(len(twins))} tool parts share the call id {call_id}",
        {
            "call_id": call_id,
            "kept": winner.id,
            "renamed": renamed,
            "removed": [part for part in losers if part not in renamed],
            "states": {tool.id: tool.status for tool in twins},
            **details,
        },
        (Choice("dedupe", f"Keep {winner.id} ({winner.status}); {fate}", "safe", tuple(operations)),),
        mark=call_id,
    )


def _collapse(
    message: Message, twins: list[ToolPart], winner: ToolPart, loser: ToolPart, call_id: str
) -> list[Operation]:
    """The loser goes. Where it stood first in the same step with something sent in between, the winner's data takes its
    place (design 6: at the place of the first occurrence), and the winner's own row goes instead."""
    why = f"a more informative part holds the call {call_id}"
    if loser is twins[0] and winner.index > loser.index and _sent_between(message, loser, winner):
        return [
            Operation("replace", "part", message.id, loser.id, (Edit((), winner.raw, raw=True),), why=why),
            delete_part(winner, f"its data now stands at the first place of the call {call_id}"),
        ]
    return [delete_part(loser, why)]


def _sent_between(message: Message, first: Part, last: Part) -> bool:
    """Something that is sent lies between two parts of one step."""
    between = message.parts[first.index + 1 : last.index]
    if any(isinstance(part, StepStartPart) for part in between):
        return False
    return any(
        part.kind == "reasoning"
        or (isinstance(part, TextPart) and part.text)
        or (isinstance(part, ToolPart) and part.call_id != getattr(first, "call_id", None))
        for part in between
    )


def _same_step(message: Message, twins: list[ToolPart]) -> bool:
    between = message.parts[twins[0].index : twins[-1].index]
    return is_v2(message) or not any(isinstance(part, StepStartPart) for part in between)


def _differs(one: ToolPart, other: ToolPart) -> bool:
    """Two completed calls are evidence of two runs when tool, input or output differ."""
    return (one.tool, one.input, _output(one)) != (other.tool, other.input, _output(other))


def _output(tool: ToolPart) -> object:
    return [tool.state.get(name) for name in ("output", "content", "structured", "result", "attachments")]


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
    # Gateways of Responses are known to check ids over the whole request, OpenAI itself is not (wire-rules R16: a
    # warning).
    may_refuse = context.target is not None and context.target.protocol == "openai-responses"
    severity, details = context.severity(
        "at-risk" if may_refuse and message.id in context.sent_messages else "info",
        "duplicate-call-id-across-turns",
        "duplicate-call-id-in-message",
        parts=(tool.id,),
    )
    operation, new = rename(context, message, tool, f"the call id {tool.call_id} is used in an earlier message")
    harmless = "" if severity != "info" else "; this target accepts it, endpoints that check the whole request do not"
    return Finding(
        "duplicate-call-id-across-turns",
        severity,
        "safe",
        (message.id,),
        (tool.id,),
        f"The call id {tool.call_id} of {origin} is used again in {message.id}{harmless}",
        {
            "call_id": tool.call_id,
            "first_message": origin,
            "new_call_id": new,
            "harmful_for": (
                "Anthropic Messages and other endpoints that check ids over the whole request (DeepSeek, OpenAI"
                " Responses)"
            ),
            **details,
        },
        (Choice("rename", f"Rename this call and its result to {new}", "safe", (operation,)),),
    )


def find_orphans(context: Context) -> Iterator[Finding]:
    """Calls that reach the provider without a result. V1 pairs every call of the client's own tools; only what the
    provider itself executed can lose its result there (wire-rules 6.8 F8)."""
    named: dict[str, list[Violation]] = defaultdict(list)
    for violation in context.violations:
        if "orphan-tool-use" in violation.faults:
            named[violation.message].append(violation)
    for message, tool in context.tools:
        lacks = is_v2(message) and tool.status in OPEN_STATUSES and not tool.provider_executed
        unanswered = next((one for one in named.get(message.id, ()) if _names(one, tool)), None)
        if not lacks and not (unanswered and tool.provider_executed):
            continue
        refusal = unanswered or context.refusal(parts=(tool.id,))
        open_call = lacks
        close = Choice(
            "close",
            "Close it with an error result that says the outcome is unknown",
            "safe",
            (close_tool(message, tool, "no result was stored for this call"),),
        )
        text = Choice(
            "to-text",
            "Turn the call and what is known of its result into one text part",
            "lossy",
            (replace_part(tool, tool_as_text(message, tool), "a call without a result cannot be sent"),),
        )
        yield Finding(
            "orphan-tool-use",
            "blocked" if refusal else "at-risk",
            "safe" if open_call else "lossy",
            (message.id,),
            (tool.id,),
            f"The call {tool.call_id} of {tool.tool} is sent without a result (status {tool.status})",
            {"call_id": tool.call_id, "status": tool.status, **refused(refusal)},
            (close, text) if open_call else (text,),
            mark=tool.call_id,
        )


def _names(violation: Violation, tool: ToolPart) -> bool:
    """One violation may name several calls of its message in its text."""
    return violation.part == tool.id or bool(tool.call_id and tool.call_id in violation.error)


def find_stuck(context: Context) -> Iterator[Finding]:
    """Calls that never ended: the client shows them as busy for ever."""
    for message, tool in context.tools:
        if tool.status not in OPEN_STATUSES:
            continue
        severity, details = context.severity("at-risk", parts=(tool.id,))
        yield Finding(
            "stuck-tool",
            severity,
            "safe",
            (message.id,),
            (tool.id,),
            f"The call {tool.call_id} of {tool.tool} is still {tool.status}",
            {
                "call_id": tool.call_id,
                "tool": tool.tool,
                "status": tool.status,
                "executed": tool.executed,
                **details,
            },
            (
                Choice(
                    "close",
                    "Close it as interrupted, outcome unknown; its input and partial output stay",
                    "safe",
                    (close_tool(message, tool, "nothing ended this call"),),
                ),
            ),
        )


def find_repeats(context: Context) -> Iterator[Finding]:
    """Two completed calls of one message with the same tool and input, or with one id and different results."""
    for message in context.messages:
        done: dict[tuple[str, str], ToolPart] = {}
        by_id: dict[str, ToolPart] = {}
        for tool in message.tools():
            if tool.status != "completed" or tool.provider_executed:
                continue
            earlier = done.setdefault((tool.tool, repr(tool.input)), tool)
            if earlier is tool and tool.call_id:
                earlier = by_id.setdefault(tool.call_id, tool)
            if earlier is tool or (earlier.call_id == tool.call_id and not _differs(earlier, tool)):
                continue
            yield _repeat(message, earlier, tool)


def _repeat(message: Message, earlier: ToolPart, tool: ToolPart) -> Finding:
    choices: tuple[Choice, ...] = ()
    if tool.tool in READ_ONLY and earlier.input == tool.input:
        removal = delete_part(tool, f"the same read was made by {earlier.id}")
        choices = (
            Choice("remove-repeat", f"Remove the repeat {tool.id}: {tool.tool} only reads", "lossy", (removal,)),
        )
    return Finding(
        "tool-ran-twice",
        "info",
        "manual",
        (message.id,),
        (earlier.id, tool.id),
        (
            f"{tool.tool} ran twice with the same input ({earlier.call_id} and {tool.call_id})"
            if (earlier.tool, earlier.input) == (tool.tool, tool.input)
            else f"The call {tool.call_id} ran twice ({earlier.id} and {tool.id})"
        ),
        {
            "tool": tool.tool,
            "call_ids": [earlier.call_id, tool.call_id],
            "reads_only": tool.tool in READ_ONLY,
        },
        choices,
    )


def _count(number: int) -> str:
    return {2: "Two", 3: "Three", 4: "Four", 5: "Five"}.get(number, str(number))


RULES = (
    Rule(
        "duplicate-call-id-in-message",
        "Two calls in one message share an id",
        "blocked",
        "safe",
        what=(
            "One assistant message holds several tool parts with the same call id, so calls and results cannot be told"
            " apart."
        ),
        rejected=(
            "Strict chat endpoints (Moonshot, DeepSeek and others) answer \"Duplicate value for 'tool_call_id'\";"
            ' Anthropic answers "`tool_use` ids must be unique" or "each tool_use must have a single result".'
            " Compaction re-sends the same history and is refused too."
        ),
        why=(
            "A late event for a call that was already settled makes the client create a second part with the same id,"
            " which its abort clean-up then turns into an error (not verified)."
        ),
        repair=(
            "The most informative part stays (completed, then error, then running, then pending; the first among"
            " equals) and the others are removed. Two completed parts with different input or output are two runs: both"
            " stay and the later one gets a new id. No completed output is lost."
        ),
        order=60,
        find=find_duplicates,
    ),
    Rule(
        "duplicate-call-id-across-turns",
        "A call id is used again in a later message",
        "blocked",
        "safe",
        what=(
            "Several messages use the same call id for different calls, typically short ids such as call_0 that a"
            " server counts anew."
        ),
        rejected=(
            'Endpoints that check ids over the whole request: Anthropic ("`tool_use` ids must be unique"), DeepSeek and'
            ' OpenAI Responses gateways ("Duplicate function_call_output for call_id"). Harmless where each result is'
            " paired with the call right before it, as on llama.cpp and most local servers."
        ),
        why="The model or server makes ids that are unique only inside one response, or a fork or merge copied a turn.",
        repair=(
            "Every later call gets a new id together with its own result; the first keeps its id, so a cached prefix"
            " stays valid. Where this target accepts the history nothing is changed unless you ask for it."
        ),
        order=70,
        find=find_across_turns,
    ),
    Rule(
        "orphan-tool-use",
        "A call is sent without a result",
        "blocked",
        "safe",
        what="A tool call reaches the provider and no result for it follows.",
        rejected=(
            'Anthropic: "`tool_use` ids were found without `tool_result` blocks immediately after"; OpenAI and'
            " compatible servers: \"An assistant message with 'tool_calls' must be followed by tool messages\"; OpenAI"
            ' Responses: "No tool output found for function call"; Gemini and Bedrock in their own words.'
        ),
        why=(
            "An abort, crash, sleep or timeout in the middle of a call. The V1 client pairs such calls itself since"
            " about 1.1; the V2 client sends streaming and running calls bare."
        ),
        repair=(
            "The call is closed with an error result that says the outcome is unknown. No output and no success is made"
            " up; the input is kept. A call that the provider itself executed can only be turned into text."
        ),
        order=100,
        find=find_orphans,
        live=True,
    ),
    Rule(
        "stuck-tool",
        "A call never ended",
        "at-risk",
        "safe",
        what="A tool part is still pending, streaming or running although nothing runs it any more.",
        rejected=(
            'Nobody in the V1 client, which sends an "interrupted" result in its place; its screen shows the call as'
            " busy for ever and may block sending. The V2 client sends it without a result: see orphan-tool-use."
        ),
        why="The client was killed or restarted, or a question or permission was never answered.",
        repair=(
            'The part becomes an error with metadata.interrupted, an "interrupted, outcome unknown" text and start and'
            " end times. Input and partial output stay; nothing is marked completed. Refused while a client has the"
            " file open, unless forced."
        ),
        order=110,
        find=find_stuck,
        live=True,
    ),
    Rule(
        "tool-ran-twice",
        "A tool ran twice with the same input",
        "info",
        "manual",
        what="One message holds two completed calls of the same tool with the same input.",
        rejected="Nobody, unless the two also share an id.",
        why=(
            "A retry repeated a step whose tool had already run, for example after a stream error or a network_error"
            " finish."
        ),
        repair=(
            "Nothing by default: both are evidence of what happened to your files. For tools that only read (read,"
            " glob, grep, list) the repeat can be removed if you ask for it."
        ),
        order=900,
        find=find_repeats,
    ),
)
