"""Results without a call, and parts in the shape of another product (rules 2.18, 2.31)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Message, OtherPart, Part, ToolPart
from sessions_app.domain.repair import Edit, Operation

from .base import Choice, Context, Finding, Rule
from .ops import delete_part, edit_part, is_v2, replace_part, tool_as_text

RESULT_KINDS = frozenset({"tool_result", "tool-result", "function_call_output", "toolResult"})
CALL_KINDS = frozenset(
    {"tool-call", "tool_use", "tool_call", "tool-invocation", "function_call", "dynamic-tool", "toolCall"}
)
_ID_FIELDS = ("toolUseId", "tool_use_id", "tool_call_id", "toolCallId", "call_id", "callID", "id")
_BODY_FIELDS = ("content", "output", "result", "text")


def foreign_call_id(data: dict[str, Any]) -> str:
    """The call id that a foreign result or call names, "" where it names none."""
    for name in _ID_FIELDS:
        value = data.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def foreign_text(data: dict[str, Any]) -> str:
    """What a foreign result says, in words."""
    for name in _BODY_FIELDS:
        value = data.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            texts = [item.get("text") for item in value if isinstance(item, dict)]
            if texts and all(isinstance(text, str) for text in texts):
                return "\n".join(str(text) for text in texts)
        if value is not None:
            return dumps(value)
    return ""


def find_orphan_results(context: Context) -> Iterator[Finding]:
    """Result parts of a foreign kind; V1 and V2 keep a call and its result in one part."""
    calls = {tool.call_id: (message, tool) for message, tool in context.tools if tool.call_id}
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, OtherPart) and part.kind in RESULT_KINDS:
                yield _orphan(context, message, part, calls.get(foreign_call_id(part.data)))
    for violation in context.violations:
        if "orphan-tool-result" in violation.faults and violation.rule not in ("A1",):
            yield from _refused_result(context, violation.message, violation.part)


def _orphan(context: Context, message: Message, part: Part, call: tuple[Message, ToolPart] | None) -> Finding:
    call_id = foreign_call_id(part.data)
    severity, details = context.severity("at-risk", "orphan-tool-result", messages=(message.id,), parts=(part.id,))
    why = f"a result without a call cannot be sent ({call_id or 'no id'})"
    remove = Choice("remove", "Remove the result; the rest of the message stays", "lossy", (delete_part(part, why),))
    text = {
        "type": "text",
        "text": (
            f"[Result of a tool call that is not in this session, kept as text by Suture]\n{foreign_text(part.data)}"
        ),
    }
    to_text = Choice(
        "to-text", "Turn the result into text of the same message", "lossy", (replace_part(part, text, why),)
    )
    choices: tuple[Choice, ...] = (remove, to_text)
    if call is not None:
        attach = _reattach(part, *call)
        if attach:
            label = f"Give it back to its call in {call[0].id}"
            choices = (
                Choice("reattach", label, "lossy", (*attach, delete_part(part, "now with its call"))),
                *choices,
            )
    where = f"its call is {call[1].id} in {call[0].id}" if call else "no call with that id is in the session"
    return Finding(
        "orphan-tool-result",
        severity,
        "lossy",
        (message.id,),
        (part.id,),
        f"The part {part.id} is a result for {call_id or '(no id)'}, but {where}",
        {"call_id": call_id, "kind": part.kind, **details},
        choices,
    )


def _reattach(part: Part, owner: Message, tool: ToolPart) -> tuple[Operation, ...]:
    """The result becomes the call's own where that call has none; what a call already holds is never overwritten."""
    if is_v2(owner) or (
        tool.status not in ("pending", "running") and not (tool.status == "error" and tool.interrupted)
    ):
        return ()
    text = foreign_text(part.data)
    failed = part.data.get("isError") is True or part.data.get("is_error") is True
    time = tool.state.get("time")
    start = time.get("start") if isinstance(time, dict) else None
    created = part.row.get("time_created") if part.row else None
    begin = start if isinstance(start, int) else owner.time_created
    end = created if isinstance(created, int) and created >= begin else begin
    edits = [
        Edit(("state", "status"), "error" if failed else "completed"),
        Edit(("state", "time"), {"start": begin, "end": end}),
    ]
    if not isinstance(tool.input, dict):
        edits.append(Edit(("state", "input"), {}))
    edits.append(Edit(("state", "error" if failed else "output"), text))
    if not failed:
        edits.append(
            Edit(
                ("state", "title"),
                tool.state.get("title") if isinstance(tool.state.get("title"), str) else tool.tool,
            )
        )
    if not isinstance(tool.state.get("metadata"), dict):
        edits.append(Edit(("state", "metadata"), {}))
    elif tool.interrupted:
        edits.append(Edit(("state", "metadata", "interrupted"), False))
    return (edit_part(tool, edits, f"its result was stored apart, in {part.id}"),)


def _refused_result(context: Context, message_id: str, part_id: str) -> Iterator[Finding]:
    message = context.messages_by_id.get(message_id)
    part = context.parts_by_id.get(part_id) if part_id else None
    if message is None or (part is not None and part.kind in RESULT_KINDS):
        return
    violation = context.refusal("orphan-tool-result", messages=(message_id,), parts=(part_id,) if part_id else ())
    if violation is None:
        return
    yield Finding(
        "orphan-tool-result",
        "blocked",
        "manual",
        (message_id,),
        (part_id,) if part_id else (),
        f"A result in {message_id} is sent without the call it belongs to",
        {
            "error": violation.error,
            "wire_rule": violation.rule,
            "position": violation.position,
            "certainty": violation.certainty,
        },
        mark=violation.rule,
    )


def find_foreign_shapes(context: Context) -> Iterator[Finding]:
    """Calls in another product's shape, and shapes that only the wire rules see (R13, A2s)."""
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, OtherPart) and part.kind in CALL_KINDS:
                yield _foreign(message, part)
    yield from _refused_call(context)
    for violation in context.violations:
        if violation.faults[:1] == ("history-shape-foreign",):
            yield Finding(
                "history-shape-foreign",
                "blocked",
                "manual",
                (violation.message,) if violation.message else (),
                (violation.part,) if violation.part else (),
                f"{violation.message or 'The history'} holds a shape that {violation.position} does not take",
                {
                    "error": violation.error,
                    "wire_rule": violation.rule,
                    "position": violation.position,
                    "certainty": violation.certainty,
                },
                mark=violation.position,
            )


def _refused_call(context: Context) -> Iterator[Finding]:
    """A call that the client has no place for in this protocol, such as one the provider itself executed (wire-rules
    6.3)."""
    verdict = context.verdict
    words = verdict.refusal if verdict else ""
    part = context.parts_by_id.get(verdict.details.get("part", "")) if verdict and words else None
    if not isinstance(part, ToolPart) or part.fault is not None or "media" in words or "URL scheme" in words:
        return
    message = context.messages_by_id.get(part.message_id)
    if message is None:
        return
    text = replace_part(part, tool_as_text(message, part), words)
    yield Finding(
        "history-shape-foreign",
        "blocked",
        "lossy",
        (part.message_id,),
        (part.id,),
        f"The client has no place for the call {part.call_id} of {part.tool} in this request",
        {"error": words, "certainty": "measured", "call_id": part.call_id},
        (Choice("to-text", "Turn the call and its result into text", "lossy", (text,)),),
        mark="refusal",
    )


def _foreign(message: Message, part: Part) -> Finding:
    name = part.data.get("toolName") or part.data.get("name") or "(no name)"
    text = {"type": "text", "text": f"[A tool call in a foreign shape, kept as text by Suture]\n{part.raw}"}
    return Finding(
        "history-shape-foreign",
        "info",
        "manual",
        (message.id,),
        (part.id,),
        f"The part {part.id} is a call of {name} in another product's shape ({part.kind}); the client does not send it",
        {"kind": part.kind, "call_id": foreign_call_id(part.data)},
        (
            Choice(
                "to-text",
                "Turn it into text, so that the model sees it",
                "lossy",
                (replace_part(part, text, "foreign shape"),),
            ),
        ),
    )


RULES = (
    Rule(
        "orphan-tool-result",
        "A result without a call",
        "blocked",
        "lossy",
        what="A tool result is stored whose call is not right before it, or not in the session at all.",
        rejected=(
            'Anthropic: "unexpected `tool_use_id` found in `tool_result` blocks"; OpenAI: "messages with role \'tool\''
            " must be a response to a preceeding message with 'tool_calls'\"; Responses: \"No tool call found for"
            ' function call output"; Gemini: "function call turn comes immediately after a user turn".'
        ),
        why="A plugin wrote a result of its own, a cut removed the call, or another tool kept the two apart.",
        repair=(
            "Where the call exists and has no result, the result goes back to it. Otherwise the result is removed or"
            " turned into plain text of the same message. A call with made-up arguments is never invented."
        ),
        order=90,
        find=find_orphan_results,
    ),
    Rule(
        "history-shape-foreign",
        "A shape from another product",
        "blocked",
        "lossy",
        what=(
            "Parts or metadata were written by another provider, product or SDK version, in a shape this client does"
            " not know."
        ),
        rejected=(
            "OpenAI Responses, for example: \"Invalid 'input[x].content': array too long\"; other servers in their own"
            " words."
        ),
        why="A proxy, a plugin or an import wrote rows of its own kind.",
        repair="Nothing is done by default; a foreign call can be turned into text if you ask for it.",
        order=920,
        find=find_foreign_shapes,
    ),
)
