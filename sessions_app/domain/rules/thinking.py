"""Thinking that a provider refuses: unsigned, missing, alone, lost with an error (docs/contract/rules.md#2.7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sessions_app.domain.lowering.drop import loses_tools
from sessions_app.domain.model import Message, Part, ReasoningPart, ToolPart
from sessions_app.domain.repair import REMOVE, Edit, Operation
from sessions_app.domain.turns import steps
from sessions_app.domain.versions import sends_unsigned_alone
from sessions_app.domain.wire.providers import BEDROCK
from sessions_app.domain.wire.verdict import Violation

from .content import blank, holds_answer
from .context import Context
from .finding import Choice, Finding, lossy, safe
from .nested import nested
from .operations import delete_part, delete_parts, edit_message, is_v2, replace_part, take_out, tool_as_text
from .registration import rule

SWITCH_OFF = "Or leave the session as it is and switch thinking off, or continue with another model."
OTHER_MODEL = "Or continue with another model."
_FIRST = frozenset({"thinking-not-first", "thinking-unsigned", "thinking-lost-on-error"})
_SIGNING = frozenset({"anthropic-messages", "bedrock-converse"})


@rule("thinking-lost-on-error", severity="blocked", safety="lossy", needs="v2")
def find_lost(context: Context) -> Iterator[Finding]:
    """V2 only: V1 leaves errored turns out."""
    if not context.v2 or context.target is None:
        return
    why = "the thinking this call was made with is not sent after an error"
    for message in context.messages:
        tools = list(message.tools())
        if tools and message.is_assistant and _lost(context, message):
            drop = delete_parts(tools, why)
            yield context.finding(
                f"The failed turn {message.id} is sent without its thinking, so its {_calls(tools)} must not be sent"
                " either",
                *_move_error(message),
                lossy("drop", "Remove the failed turn's calls and their results", *drop),
                _as_text(message, message.parts),
                messages=[message],
                parts=tools,
                refusal=context.refusal(messages=[message], parts=message.parts),
                details={"outputs_lost": [tool.id for tool in tools if tool.status == "completed"]},
            )
    for message in context.messages:
        refusal = context.refusal(*_FIRST, "thinking-only-message", messages=[message], parts=message.parts)
        if refusal is not None and _unsigned_by_error(context, message) and not _lost(context, message):
            yield _sent_unsigned(context, message, refusal)
    yield from _lost_but_said(context)


def _unsigned_by_error(context: Context, message: Message) -> bool:
    """A failed turn of generation 1 whose thinking is sent without the signature that it has
    (docs/contract/v2-server.md#d8)."""
    failed = message.generation == 1 and message.error is not None
    return failed and context.same_model(message) and any(map(_signed, message.parts))


def _sent_unsigned(context: Context, message: Message, refusal: Violation) -> Finding:
    thinking = [part for part in message.parts if isinstance(part, ReasoningPart)]
    tools = list(message.tools())
    choices = [*_move_error(message)]
    if _thinking_off(context) or not tools:
        choices += [_drop_reasoning(thinking, "its signature is not sent")] if holds_answer(message) else []
    if tools:
        choices.append(_as_text(message, message.parts))
    return context.finding(
        f"The failed turn {message.id} is sent with its thinking, but without the signature",
        *choices,
        remove_turn(context, message),
        messages=[message],
        parts=[*thinking, *tools],
        refusal=refusal,
        also=OTHER_MODEL,
    )


def _move_error(message: Message) -> Iterator[Choice]:
    """Without ``error`` generation 1 sends the signature again; measured with the real server
    (docs/contract/v2-server.md#d8)."""
    thinking = [part for part in message.parts if isinstance(part, ReasoningPart)]
    metadata = message.data.get("metadata")
    beside = metadata if isinstance(metadata, dict) else {}
    if message.generation != 1 or message.error is None or "error" in beside or not all(map(_signed, thinking)):
        return
    moved = Edit(("metadata", "error"), message.error) if beside else Edit(("metadata",), {"error": message.error})
    label = "Move the error into the row's metadata: the thinking is sent with its signature again, nothing is lost"
    why = "a turn with an error is sent without the signature of its thinking"
    yield safe("move-error", label, edit_message(message, (moved, Edit(("error",), REMOVE)), why))


def _lost_but_said(context: Context) -> Iterator[Finding]:
    """A failed turn whose reasoning still has text keeps its tools (docs/contract/design.md#6); where that is refused,
    this says why and the finding at the same place repairs it."""
    for message, violation, parts in _refused_turns(context):
        signed = [part for part in message.parts if _signed(part)]
        tools = [part for part in parts if isinstance(part, ToolPart)]
        if message.error is None or not signed or not tools or not context.same_model(message):
            continue
        if message.generation == 1:
            continue
        if not _lost(context, message):
            yield context.finding(
                f"The failed turn {message.id} is sent with its thinking as text, without the signature",
                messages=[message],
                parts=[*signed, *tools],
                refusal=violation,
                also=SWITCH_OFF,
            )


@rule("thinking-unsigned", severity="blocked", safety="lossy", needs="unsigned refused")
def find_unsigned(context: Context) -> Iterator[Finding]:
    """Thinking without a signature: refused, all that a message holds, or left out by the client."""
    for message, violation, parts in _refused_turns(context):
        unsigned = _unsigned(context, message, violation, parts)
        if unsigned and not _lost(context, message) and not _unsigned_by_error(context, message):
            yield _tool_turn(context, message, violation, parts, f"{unsigned[0].id} has no signature")
    for message, violation in _reasoning_only(context):
        if _signs(context) and not any(_signed(part) for part in message.parts):
            yield _alone(context, message, violation, "unsigned reasoning is all it holds")
    yield from _left_out(context)


@rule("thinking-not-first", severity="blocked", safety="lossy", needs="refused")
def find_not_first(context: Context) -> Iterator[Finding]:
    """A refused tool turn that begins with something else than its thinking."""
    for message, violation, parts in _refused_turns(context):
        told = _lost(context, message) or _unsigned_by_error(context, message)
        if not told and not _unsigned(context, message, violation, parts):
            yield _tool_turn(context, message, violation, parts, "it does not begin with thinking")


@rule("thinking-only-message", severity="blocked", safety="lossy", needs="hollow refused")
def find_only(context: Context) -> Iterator[Finding]:
    """A message of reasoning and nothing else; unsigned reasoning on a protocol that signs is ``thinking-unsigned``."""
    reason = "reasoning is all it holds"
    for message, violation in _reasoning_only(context):
        told = _unsigned_by_error(context, message)
        if not told and (not _signs(context) or any(_signed(part) for part in message.parts)):
            yield _alone(context, message, violation, reason)
    for message in _harmless(context):
        if not holds_answer(message) and any(_signed(part) for part in message.parts):
            yield _alone(context, message, None, reason)


def _refused_turns(context: Context) -> Iterator[tuple[Message, Violation, list[Part]]]:
    """Messages refused for how their thinking stands, with the parts of the step at fault; each step once."""
    seen: set[tuple[str, ...]] = set()
    for violation in context.violations:
        message = context.messages_by_id.get(violation.message)
        if message is None or not message.is_assistant or _FIRST.isdisjoint(violation.faults):
            continue
        if not holds_answer(message) or any(nested(message, part) for part in message.parts):
            continue
        parts = _step(message, violation.part)
        place = (message.id, *(part.id for part in parts))
        if place not in seen:
            seen.add(place)
            yield message, violation, parts


def _step(message: Message, part_id: str) -> list[Part]:
    """The parts of the attempt that holds a part; V2 does not part its steps."""
    attempts = [] if is_v2(message) else [attempt for step in steps(message) for attempt in step.attempts]
    held = (attempt.parts for attempt in attempts if any(part.id == part_id for part in attempt.parts))
    return next(held, message.parts)


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
    """With thinking on: answers of the model called next on a protocol that signs thinking, of which nothing is
    refused."""
    if context.target is None or not _signs(context) or context.target.thinking == "off":
        return
    for message in context.messages:
        own = message.is_assistant and context.same_model(message)
        sent = own and (message.id in context.sent_messages or _is_dropped(context, message))
        if sent and context.any_refusal(messages=[message], parts=message.parts) is None:
            yield message


def _is_dropped(context: Context, message: Message) -> bool:
    """The V1 client leaves out an answer of unsigned reasoning alone on its way to Bedrock (docs/contract/wire.md#6.9);
    older ones sent a message without content."""
    to_bedrock = context.target is not None and context.target.package == BEDROCK
    failed = message.error is not None and message.error.get("name") != "MessageAbortedError"
    newer = to_bedrock and not sends_unsigned_alone(context.session.version)
    return newer and not is_v2(message) and not failed and not holds_answer(message)


def _left_out(context: Context) -> Iterator[Finding]:
    """Unsigned thinking that the client leaves out by itself: harmless today, refused by clients that send it."""
    for message in _harmless(context):
        unsigned = [part for part in _said(message) if not part.signed]
        if not unsigned or is_v2(message):
            continue
        if not holds_answer(message) and not any(_signed(part) for part in message.parts):
            yield _alone(context, message, None, "unsigned reasoning is all it holds")
            continue
        yield context.finding(
            f"{', '.join(part.id for part in unsigned)} of {message.id} has no signature; the client leaves it out",
            lossy(
                "drop-reasoning",
                "Drop the unsigned reasoning only; signed thinking, texts and calls stay",
                *delete_parts(unsigned, "unsigned thinking is not sent back"),
            ),
            messages=[message],
            parts=unsigned,
            severity="info",
            details={"harmless_for": "client 1.18, which does not send unsigned thinking"},
            mark="left-out",
        )


def _lost(context: Context, message: Message) -> bool:
    target = context.target
    return is_v2(message) and target is not None and loses_tools(message, target.provider, target.model)


def _signs(context: Context) -> bool:
    """The next call's protocol signs thinking."""
    return context.target is not None and context.target.protocol in _SIGNING


def _signed(part: Part) -> bool:
    return isinstance(part, ReasoningPart) and part.signed


def _said(message: Message) -> list[ReasoningPart]:
    """The reasoning that has text."""
    return [part for part in message.parts if isinstance(part, ReasoningPart) and not blank(part.text)]


def _tool_turn(context: Context, message: Message, violation: Violation, parts: Sequence[Part], reason: str) -> Finding:
    tools = [part for part in parts if isinstance(part, ToolPart)]
    reasoning = [part for part in parts if isinstance(part, ReasoningPart)]
    choices = [remove_turn(context, message)]
    unsent = [part for part in reasoning if not part.signed or is_v2(message)]
    if tools:
        choices.insert(0, _as_text(message, parts))
    off = _thinking_off(context) and is_v2(message)
    if unsent and (not tools or off):
        choices.insert(0, _drop_reasoning(unsent, "it cannot be sent as thinking"))
    on = "" if off else " with thinking on"
    return context.finding(
        f"The {_calls(tools) if tools else 'text'} in {message.id} cannot be sent{on}: {reason}",
        *choices,
        messages=[message],
        parts=[*reasoning, *tools],
        refusal=violation,
        also=OTHER_MODEL if off else SWITCH_OFF,
    )


def _drop_reasoning(parts: Sequence[Part], why: str) -> Choice:
    """Enough with thinking off, where a call needs none before it."""
    return lossy("drop-reasoning", "Drop the reasoning; text and calls stay", *delete_parts(parts, why))


def _thinking_off(context: Context) -> bool:
    return context.target is not None and context.target.thinking == "off"


def _as_text(message: Message, parts: Sequence[Part]) -> Choice:
    """The recommended repair: nothing of the calls and results is lost, only the reasoning goes
    (docs/contract/rules.md#6: dropping only the unsigned reasoning is not enough, the call is then refused for lacking
    thinking)."""
    operations = without_thinking(message, parts, "a call without its signed thinking cannot be sent with thinking on")
    return lossy("to-text", "Turn the calls and their results into text and drop the reasoning", *operations)


def without_thinking(message: Message, parts: Sequence[Part], why: str) -> list[Operation]:
    """The reasoning of these parts goes, their calls become text."""
    return [
        replace_part(part, tool_as_text(message, part), why) if isinstance(part, ToolPart) else delete_part(part, why)
        for part in parts
        if isinstance(part, (ToolPart, ReasoningPart))
    ]


def remove_turn(context: Context, message: Message) -> Choice:
    """Takes out the whole answer that a message belongs to."""
    turn = context.turn_of(message)
    answers = [answer for answer in (turn.answers if turn else [message]) if answer.is_assistant]
    gone = [take_out(answer, "its thinking cannot be sent") for answer in answers]
    return lossy("remove-turn", "Remove the whole answer, back to the prompt", *gone)


def _reasoning_only(context: Context) -> Iterator[tuple[Message, Violation]]:
    for message in context.messages if context.violations else ():
        reasons = any(isinstance(part, ReasoningPart) for part in message.parts)
        if message.is_assistant and reasons and not holds_answer(message):
            violation = context.any_refusal(messages=[message], parts=message.parts)
            if violation is not None:
                yield message, violation


def _alone(context: Context, message: Message, violation: Violation | None, reason: str) -> Finding:
    choices = [lossy("remove", "Remove the message: nothing else of it can be sent", take_out(message, reason))]
    said = _said(message)
    if said and message.generation != 1:
        texts = [replace_part(part, {"type": "text", "text": part.text}, reason) for part in said]
        choices.append(lossy("to-text", "Keep the reasoning as ordinary text", *texts))
    harm = "cannot be sent" if violation else "says nothing; this target takes it all the same"
    return context.finding(
        f"The assistant message {message.id} {harm}: {reason}",
        *choices,
        messages=[message],
        parts=[part for part in message.parts if isinstance(part, ReasoningPart)],
        severity="info",
        refusal=violation,
        also=SWITCH_OFF,
    )


def _calls(tools: Sequence[ToolPart]) -> str:
    return f"call of {tools[0].tool}" if len(tools) == 1 else f"{len(tools)} calls"
