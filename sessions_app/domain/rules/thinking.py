"""Thinking that a provider refuses: unsigned, missing, alone, changed, stale, lost with an error (rules 2.7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sessions_app.domain.lowering.drop import loses_tools
from sessions_app.domain.model import Message, Part, ReasoningPart, ToolPart
from sessions_app.domain.turns import steps
from sessions_app.domain.verdict import Violation

from .base import Choice, Context, Finding, Located, Rule, refused
from .content import blank, holds_answer
from .ops import delete_part, is_v2, replace_part, take_out, tool_as_text

_FIRST = frozenset({"thinking-not-first", "thinking-unsigned", "thinking-lost-on-error"})
_SWITCH_OFF = "Or leave the session as it is and switch thinking off, or continue with another model."
_SIGNING = frozenset({"anthropic-messages", "bedrock-converse"})


def find_unsigned(context: Context) -> Iterator[Finding]:
    for message, violation, parts in _refused_turns(context):
        unsigned = [part for part in parts if isinstance(part, ReasoningPart) and not part.signed]
        if unsigned and not _lost(context, message):
            yield _tool_turn(
                context, "thinking-unsigned", message, violation, parts, f"{unsigned[0].id} has no signature"
            )
    for message, violation in _reasoning_only(context):
        if (
            context.target
            and context.target.protocol in _SIGNING
            and not any(_signed(part) for part in message.parts)
        ):
            yield _alone("thinking-unsigned", message, violation, "unsigned reasoning is all it holds")


def find_not_first(context: Context) -> Iterator[Finding]:
    for message, violation, parts in _refused_turns(context):
        unsigned = any(isinstance(part, ReasoningPart) and not part.signed for part in parts)
        if not unsigned and not _lost(context, message):
            yield _tool_turn(
                context, "thinking-not-first", message, violation, parts, "it does not begin with thinking"
            )


def find_only(context: Context) -> Iterator[Finding]:
    for message, violation in _reasoning_only(context):
        signs = context.target is not None and context.target.protocol in _SIGNING
        if not signs or any(_signed(part) for part in message.parts):
            yield _alone("thinking-only-message", message, violation, "reasoning is all it holds")


def find_lost(context: Context) -> Iterator[Finding]:
    """V2 only: V1 leaves errored turns out."""
    if not context.v2 or context.target is None:
        return
    for message in context.messages:
        tools = list(message.tools())
        if not tools or not message.is_assistant or not _lost(context, message):
            continue
        severity, details = context.severity(
            "at-risk", messages=(message.id,), parts=[tool.id for tool in tools]
        )
        why = "the thinking this call was made with is not sent after an error"
        drop = Choice(
            "drop",
            "Remove the failed turn's calls and their results",
            "lossy",
            tuple(delete_part(tool, why) for tool in tools),
        )
        yield Finding(
            "thinking-lost-on-error",
            severity,
            "lossy",
            (message.id,),
            tuple(tool.id for tool in tools),
            f"The failed turn {message.id} is sent without its thinking, so its {_calls(tools)} must not be sent either",
            {"outputs_lost": [tool.id for tool in tools if tool.status == "completed"], **details},
            (drop, _as_text(message, message.parts)),
        )


def find_altered(context: Context) -> Iterator[Finding]:
    yield from _pasted(context, "thinking-altered", "was changed after it was signed")


def find_stale(context: Context) -> Iterator[Finding]:
    yield from _pasted(context, "thinking-stale", "has a signature that is no longer accepted")


def _refused_turns(context: Context) -> Iterator[tuple[Message, Violation, list[Part]]]:
    """Messages refused for how their thinking stands, with the parts of the step at fault; each step once."""
    seen: set[tuple[str, ...]] = set()
    for violation in context.violations:
        message = context.messages_by_id.get(violation.message)
        if (
            message is None
            or not message.is_assistant
            or not _FIRST & set(violation.faults)
            or not holds_answer(message)
        ):
            continue
        parts = _step(message, violation.part)
        place = (message.id, *(part.id for part in parts))
        if place not in seen:
            seen.add(place)
            yield message, violation, parts


def _step(message: Message, part_id: str) -> list[Part]:
    if is_v2(message):
        return message.parts
    for step in steps(message):
        if any(part.id == part_id for part in step.parts):
            attempt = next(
                attempt for attempt in step.attempts if any(part.id == part_id for part in attempt.parts)
            )
            return attempt.parts
    return message.parts


def _lost(context: Context, message: Message) -> bool:
    target = context.target
    return is_v2(message) and target is not None and loses_tools(message, target.provider, target.model)


def _signed(part: Part) -> bool:
    return isinstance(part, ReasoningPart) and part.signed


def _tool_turn(
    context: Context, rule: str, message: Message, violation: Violation, parts: Sequence[Part], reason: str
) -> Finding:
    tools = [part for part in parts if isinstance(part, ToolPart)]
    reasoning = [part for part in parts if isinstance(part, ReasoningPart)]
    choices = []
    if tools:
        choices.append(_as_text(message, parts))
    elif reasoning:
        gone = tuple(
            delete_part(part, "it cannot be sent as thinking")
            for part in reasoning
            if not part.signed or is_v2(message)
        )
        choices.append(Choice("drop-reasoning", "Drop the reasoning; text stays", "lossy", gone))
    choices.append(_remove_turn(context, message))
    what = _calls(tools) if tools else "text"
    return Finding(
        rule,
        "blocked",
        "lossy",
        (message.id,),
        tuple(part.id for part in (*reasoning, *tools)),
        f"The {what} in {message.id} cannot be sent with thinking on: {reason}",
        {**refused(violation), "also": _SWITCH_OFF},
        tuple(choices),
    )


def _as_text(message: Message, parts: Sequence[Part]) -> Choice:
    """The recommended repair: nothing of the calls and results is lost, only the reasoning goes (rules 6: dropping only the
    unsigned reasoning is not enough, the call is then refused for lacking thinking)."""
    why = "a call without its signed thinking cannot be sent with thinking on"
    operations = [
        replace_part(part, tool_as_text(message, part), why)
        if isinstance(part, ToolPart)
        else delete_part(part, why)
        for part in parts
        if isinstance(part, (ToolPart, ReasoningPart))
    ]
    return Choice(
        "to-text",
        "Turn the calls and their results into text and drop the reasoning",
        "lossy",
        tuple(operations),
    )


def _remove_turn(context: Context, message: Message) -> Choice:
    turn = next((turn for turn in context.turns if message in turn.answers), None)
    answers = [answer for answer in (turn.answers if turn else [message]) if answer.is_assistant]
    why = "its thinking cannot be sent"
    return Choice(
        "remove-turn",
        "Remove the whole answer, back to the prompt",
        "lossy",
        tuple(take_out(one, why) for one in answers),
    )


def _reasoning_only(context: Context) -> Iterator[tuple[Message, Violation]]:
    for message in context.messages:
        reasons = any(isinstance(part, ReasoningPart) for part in message.parts)
        if not message.is_assistant or not reasons or holds_answer(message):
            continue
        violation = context.refusal(messages=(message.id,), parts=[part.id for part in message.parts])
        if violation is not None:
            yield message, violation


def _alone(rule: str, message: Message, violation: Violation, reason: str) -> Finding:
    reasoning = [part for part in message.parts if isinstance(part, ReasoningPart)]
    remove = Choice(
        "remove", "Remove the message: nothing else of it can be sent", "lossy", (take_out(message, reason),)
    )
    said = [part for part in reasoning if not blank(part.text)]
    to_text = Choice(
        "to-text",
        "Keep the reasoning as ordinary text",
        "lossy",
        tuple(replace_part(part, {"type": "text", "text": part.text}, reason) for part in said),
    )
    return Finding(
        rule,
        "blocked",
        "lossy",
        (message.id,),
        tuple(part.id for part in reasoning),
        f"The assistant message {message.id} cannot be sent: {reason}",
        {**refused(violation), "also": _SWITCH_OFF},
        (remove, to_text) if said and message.generation != 1 else (remove,),
    )


def _pasted(context: Context, rule: str, reason: str) -> Iterator[Finding]:
    for located in context.facts.located:
        message = context.messages_by_id.get(located.message)
        if (
            located.rule == rule
            and message is not None
            and any(isinstance(part, ReasoningPart) for part in message.parts)
        ):
            yield _pasted_finding(context, located, message, reason)


def _pasted_finding(context: Context, located: Located, message: Message, reason: str) -> Finding:
    turn = next((turn for turn in context.turns if message in turn.answers), None)
    answers = turn.answers if turn else [message]
    reasoning = [part for answer in answers for part in answer.parts if isinstance(part, ReasoningPart)]
    why = "the provider refuses this turn's thinking"
    drop = Choice(
        "drop-reasoning",
        "Drop all reasoning of that turn",
        "lossy",
        tuple(delete_part(part, why) for part in reasoning),
    )
    return Finding(
        located.rule,
        "blocked",
        "lossy",
        (message.id,),
        (located.part,) if located.part else tuple(part.id for part in reasoning),
        f"The thinking in {message.id} {reason}, says the provider's error",
        {"error": located.error, "also": _SWITCH_OFF, "certainty": "reported"},
        (drop, _remove_turn(context, message)),
    )


def _calls(tools: Sequence[ToolPart]) -> str:
    return f"call of {tools[0].tool}" if len(tools) == 1 else f"{len(tools)} calls"


_NEVER = "Thinking and signatures are never made up, copied or edited: a signed block is kept byte for byte or goes as a whole."

RULES = (
    Rule(
        "thinking-unsigned",
        "Thinking without a signature",
        "blocked",
        "lossy",
        what="A reasoning part has no signature, because the answer was interrupted before its thinking block ended.",
        rejected=(
            'Anthropic: "Expected `thinking` or `redacted_thinking`, but found `tool_use`", since the client drops the unsigned block; the V2 '
            'client sends it and gets "thinking.signature: Field required". On Bedrock the message is left empty: "There is nothing '
            'available to cache".'
        ),
        why="An abort or a broken stream in the middle of thinking, or a server that gives no signatures.",
        repair=(
            "Recommended: the call and its result become text and the reasoning is dropped. Dropping only the reasoning is not enough. Or the "
            f"answer is removed, or thinking is switched off. {_NEVER}"
        ),
        order=200,
        find=find_unsigned,
    ),
    Rule(
        "thinking-not-first",
        "A tool turn that does not begin with thinking",
        "blocked",
        "lossy",
        what="With thinking on, the last tool turn begins with text or a call.",
        rejected=(
            'Anthropic, and Claude on Bedrock and Vertex: "When `thinking` is enabled, a final `assistant` message must start with a thinking '
            'block".'
        ),
        why="The turn was made without thinking or by another model, then continued with a thinking one.",
        repair=f"As for unsigned thinking: the call and its result become text, or the answer is removed, or thinking is switched off. {_NEVER}",
        order=210,
        find=find_not_first,
    ),
    Rule(
        "thinking-lost-on-error",
        "A failed turn whose thinking is not sent",
        "blocked",
        "lossy",
        what="A V2 turn ended with an error after its calls had run; its thinking had no visible text.",
        rejected="Anthropic and others, as a call without its thinking. The V1 client leaves errored turns out, so it does not occur there.",
        why="The V2 client drops a failed turn's provider state, so that a thinking block with withheld text disappears while its calls stay.",
        repair=(
            'The service "drop": the failed turn\'s calls and results are removed. In the request nothing valid is lost; in the store their '
            "outputs are, which is why it is asked for. Or they are turned into text."
        ),
        order=190,
        find=find_lost,
    ),
    Rule(
        "thinking-only-message",
        "A message of nothing but thinking",
        "blocked",
        "lossy",
        what="An assistant message holds reasoning and nothing else, and the target refuses it.",
        rejected='Anthropic: "The final block in an assistant message cannot be `thinking`"; chat endpoints: content missing or empty.',
        why="An abort while thinking.",
        repair=f"The message is removed, or its reasoning is kept as ordinary text. {_NEVER}",
        order=220,
        find=find_only,
    ),
    Rule(
        "thinking-altered",
        "Thinking that was changed",
        "blocked",
        "lossy",
        what="Signed thinking no longer is what was signed: its text, its order or what stands around it changed.",
        rejected='Anthropic: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified".',
        why=(
            "A plugin or proxy emptied, cleaned or moved it. This cannot be seen in the rows, so it is raised only by an error you paste; "
            "signed thinking with empty text is right."
        ),
        repair=f"All reasoning of that turn is dropped, or the turn is removed. {_NEVER}",
        order=230,
        find=find_altered,
    ),
    Rule(
        "thinking-stale",
        "Thinking whose signature is no longer accepted",
        "blocked",
        "lossy",
        what="The signature was valid once and is refused now.",
        rejected='Anthropic: "Invalid `signature` in `thinking` block".',
        why="A model update, another account, or a signature that ran out. Raised only by an error you paste.",
        repair=f"All reasoning of that turn is dropped, or the turn is removed. {_NEVER}",
        order=240,
        find=find_stale,
    ),
)
