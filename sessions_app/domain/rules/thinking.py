"""Thinking that a provider refuses: unsigned, missing, alone, lost with an error (rules 2.7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sessions_app.domain.lowering.drop import loses_tools
from sessions_app.domain.model import Message, Part, ReasoningPart, ToolPart
from sessions_app.domain.turns import steps
from sessions_app.domain.wire.verdict import Violation

from .base import Choice, Context, Finding, Rule, refused
from .content import blank, holds_answer
from .ops import delete_part, is_v2, replace_part, take_out, tool_as_text

_FIRST = frozenset({"thinking-not-first", "thinking-unsigned", "thinking-lost-on-error"})
SWITCH_OFF = "Or leave the session as it is and switch thinking off, or continue with another model."
_SIGNING = frozenset({"anthropic-messages", "bedrock-converse"})


def find_unsigned(context: Context) -> Iterator[Finding]:
    for message, violation, parts in _refused_turns(context):
        unsigned = _unsigned(context, message, violation, parts)
        if unsigned and not _lost(context, message):
            yield _tool_turn(
                context, "thinking-unsigned", message, violation, parts, f"{unsigned[0].id} has no signature"
            )
    for message, violation in _reasoning_only(context):
        if context.target and context.target.protocol in _SIGNING and not any(_signed(part) for part in message.parts):
            yield _alone("thinking-unsigned", message, violation, "unsigned reasoning is all it holds")
    yield from _left_out(context)


def find_not_first(context: Context) -> Iterator[Finding]:
    for message, violation, parts in _refused_turns(context):
        if not _unsigned(context, message, violation, parts) and not _lost(context, message):
            yield _tool_turn(
                context, "thinking-not-first", message, violation, parts, "it does not begin with thinking"
            )


def find_only(context: Context) -> Iterator[Finding]:
    for message, violation in _reasoning_only(context):
        signs = context.target is not None and context.target.protocol in _SIGNING
        if not signs or any(_signed(part) for part in message.parts):
            yield _alone("thinking-only-message", message, violation, "reasoning is all it holds")
    for message in _harmless(context):
        if message.is_assistant and not holds_answer(message) and any(_signed(part) for part in message.parts):
            yield _alone("thinking-only-message", message, None, "reasoning is all it holds")


def find_lost(context: Context) -> Iterator[Finding]:
    """V2 only: V1 leaves errored turns out."""
    if not context.v2 or context.target is None:
        return
    for message in context.messages:
        tools = list(message.tools())
        if not tools or not message.is_assistant or not _lost(context, message):
            continue
        severity, details = context.severity(
            "at-risk",
            "thinking-lost-on-error",
            messages=(message.id,),
            parts=[part.id for part in message.parts],
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
            f"The failed turn {message.id} is sent without its thinking, so its {_calls(tools)} must not be sent"
            " either",
            {"outputs_lost": [tool.id for tool in tools if tool.status == "completed"], **details},
            (drop, _as_text(message, message.parts)),
        )
    yield from _lost_but_said(context)


def _lost_but_said(context: Context) -> Iterator[Finding]:
    """A failed turn whose reasoning still has text keeps its tools (design 6); where that is refused, this says why and
    the finding at the same place repairs it."""
    for message, violation, parts in _refused_turns(context):
        signed = [part for part in message.parts if _signed(part)]
        tools = [part for part in parts if isinstance(part, ToolPart)]
        if message.error is None or not signed or not tools or not context.same_model(message):
            continue
        if not _lost(context, message):
            yield Finding(
                "thinking-lost-on-error",
                "blocked",
                "manual",
                (message.id,),
                tuple(part.id for part in (*signed, *tools)),
                f"The failed turn {message.id} is sent with its thinking as text, without the signature",
                {**refused(violation), "also": SWITCH_OFF},
            )


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
            attempt = next(attempt for attempt in step.attempts if any(part.id == part_id for part in attempt.parts))
            return attempt.parts
    return message.parts


def _unsigned(context: Context, message: Message, violation: Violation, parts: Sequence[Part]) -> list[ReasoningPart]:
    """The step's own thinking that has no signature, or an empty one. Another model's reasoning is sent as text, so it
    lacks none; a failed turn's signature is there and not sent."""
    empty = violation.faults[:1] == ("thinking-unsigned",) and message.error is None
    return [
        part
        for part in parts
        if isinstance(part, ReasoningPart)
        and context.same_model(message)
        and (not part.signed or (empty and part.id == violation.part))
    ]


def _harmless(context: Context) -> Iterator[Message]:
    """With thinking on: messages of the model called next on a protocol that signs thinking, of which nothing is
    refused."""
    target = context.target
    if target is None or target.protocol not in _SIGNING or target.thinking == "off":
        return
    for message in context.messages:
        sent = message.id in context.sent_messages and context.same_model(message)
        places = [part.id for part in message.parts]
        if message.is_assistant and sent and context.refusal(messages=(message.id,), parts=places) is None:
            yield message


def _left_out(context: Context) -> Iterator[Finding]:
    """Unsigned thinking that the client leaves out by itself: harmless today, refused by clients that send it."""
    for message in _harmless(context):
        reasoning = [
            part
            for part in message.parts
            if isinstance(part, ReasoningPart) and not part.signed and not blank(part.text)
        ]
        if not reasoning or is_v2(message):
            continue
        if not holds_answer(message) and not any(_signed(part) for part in message.parts):
            yield _alone("thinking-unsigned", message, None, "unsigned reasoning is all it holds")
            continue
        why = "unsigned thinking is not sent back"
        drop = Choice(
            "drop-reasoning",
            "Drop the unsigned reasoning only; signed thinking, texts and calls stay",
            "lossy",
            tuple(delete_part(part, why) for part in reasoning),
        )
        yield Finding(
            "thinking-unsigned",
            "info",
            "lossy",
            (message.id,),
            tuple(part.id for part in reasoning),
            f"{', '.join(part.id for part in reasoning)} of {message.id} has no signature; the client leaves it out",
            {"harmless_for": "client 1.18, which does not send unsigned thinking"},
            (drop,),
            mark="left-out",
        )


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
    choices.append(remove_turn(context, message))
    what = _calls(tools) if tools else "text"
    return Finding(
        rule,
        "blocked",
        "lossy",
        (message.id,),
        tuple(part.id for part in (*reasoning, *tools)),
        f"The {what} in {message.id} cannot be sent with thinking on: {reason}",
        {**refused(violation), "also": SWITCH_OFF},
        tuple(choices),
    )


def _as_text(message: Message, parts: Sequence[Part]) -> Choice:
    """The recommended repair: nothing of the calls and results is lost, only the reasoning goes (rules 6: dropping only
    the unsigned reasoning is not enough, the call is then refused for lacking thinking)."""
    why = "a call without its signed thinking cannot be sent with thinking on"
    operations = [
        replace_part(part, tool_as_text(message, part), why) if isinstance(part, ToolPart) else delete_part(part, why)
        for part in parts
        if isinstance(part, (ToolPart, ReasoningPart))
    ]
    return Choice(
        "to-text",
        "Turn the calls and their results into text and drop the reasoning",
        "lossy",
        tuple(operations),
    )


def remove_turn(context: Context, message: Message) -> Choice:
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


def _alone(rule: str, message: Message, violation: Violation | None, reason: str) -> Finding:
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
    harm = "cannot be sent" if violation else "says nothing; this target takes it all the same"
    return Finding(
        rule,
        "blocked" if violation else "info",
        "lossy",
        (message.id,),
        tuple(part.id for part in reasoning),
        f"The assistant message {message.id} {harm}: {reason}",
        {**refused(violation), "also": SWITCH_OFF},
        (remove, to_text) if said and message.generation != 1 else (remove,),
    )


def _calls(tools: Sequence[ToolPart]) -> str:
    return f"call of {tools[0].tool}" if len(tools) == 1 else f"{len(tools)} calls"


NEVER = (
    "Thinking and signatures are never made up, copied or edited: a signed block is kept byte for byte or goes as a"
    " whole."
)

RULES = (
    Rule(
        "thinking-unsigned",
        "Thinking without a signature",
        "blocked",
        "lossy",
        what="A reasoning part has no signature, because the answer was interrupted before its thinking block ended.",
        rejected=(
            'Anthropic: "Expected `thinking` or `redacted_thinking`, but found `tool_use`", since the client drops the'
            ' unsigned block; the V2 client sends it and gets "thinking.signature: Field required". On Bedrock the'
            ' message is left empty: "There is nothing available to cache".'
        ),
        why="An abort or a broken stream in the middle of thinking, or a server that gives no signatures.",
        repair=(
            "Recommended: the call and its result become text and the reasoning is dropped. Dropping only the"
            f" reasoning is not enough. Or the answer is removed, or thinking is switched off. {NEVER}"
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
            'Anthropic, and Claude on Bedrock and Vertex: "When `thinking` is enabled, a final `assistant` message must'
            ' start with a thinking block".'
        ),
        why="The turn was made without thinking or by another model, then continued with a thinking one.",
        repair=(
            "As for unsigned thinking: the call and its result become text, or the answer is removed, or thinking is"
            f" switched off. {NEVER}"
        ),
        order=210,
        find=find_not_first,
    ),
    Rule(
        "thinking-lost-on-error",
        "A failed turn whose thinking is not sent",
        "blocked",
        "lossy",
        what="A V2 turn ended with an error after its calls had run; its thinking had no visible text.",
        rejected=(
            "Anthropic and others, as a call without its thinking. The V1 client leaves errored turns out, so it does"
            " not occur there."
        ),
        why=(
            "The V2 client drops a failed turn's provider state, so that a thinking block with withheld text disappears"
            " while its calls stay."
        ),
        repair=(
            'The service "drop": the failed turn\'s calls and results are removed. In the request nothing valid is'
            " lost; in the store their outputs are, which is why it is asked for. Or they are turned into text."
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
        rejected=(
            'Anthropic: "The final block in an assistant message cannot be `thinking`"; chat endpoints: content missing'
            " or empty."
        ),
        why="An abort while thinking.",
        repair=f"The message is removed, or its reasoning is kept as ordinary text. {NEVER}",
        order=220,
        find=find_only,
    ),
)
