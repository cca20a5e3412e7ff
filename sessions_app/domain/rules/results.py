"""Results without a call, and parts in the shape of another product (docs/contract/rules.md#2.18, #2.31)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions_app.domain.jsjson import dumps
from sessions_app.domain.model import Message, OtherPart, Part, ToolPart
from sessions_app.domain.repair import Edit, Operation

from .context import Context
from .finding import Finding, lossy
from .operations import delete_part, edit_part, is_v2, replace_part, started, tool_as_text
from .registration import rule

RESULT_KINDS = frozenset({"tool_result", "tool-result", "function_call_output", "toolResult"})
CALL_KINDS = frozenset(
    {"tool-call", "tool_use", "tool_call", "tool-invocation", "function_call", "dynamic-tool", "toolCall"}
)
_ID_FIELDS = ("toolUseId", "tool_use_id", "tool_call_id", "toolCallId", "call_id", "callID", "id")
_BODY_FIELDS = ("content", "output", "result", "text")


def foreign_call_id(data: dict[str, Any]) -> str:
    """The call id that a foreign result or call names, "" where it names none."""
    named = (data.get(name) for name in _ID_FIELDS)
    return next((value for value in named if isinstance(value, str) and value), "")


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


@rule("orphan-tool-result", severity="blocked", safety="lossy", needs="other-kind refused")
def find_orphan_results(context: Context) -> Iterator[Finding]:
    """Result parts of a foreign kind; V1 and V2 keep a call and its result in one part."""
    calls = {tool.call_id: (message, tool) for message, tool in context.tools if tool.call_id}
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, OtherPart) and part.kind in RESULT_KINDS:
                yield _orphan(context, message, part, calls.get(foreign_call_id(part.data)))
    for violation in context.violations:
        if context.rule in violation.faults and violation.rule != "A1":
            yield from _refused_result(context, violation.message, violation.part)


def _orphan(context: Context, message: Message, part: Part, call: tuple[Message, ToolPart] | None) -> Finding:
    call_id = foreign_call_id(part.data)
    why = f"a result without a call cannot be sent ({call_id or 'no id'})"
    words = f"[Result of a tool call that is not in this session, kept as text by Suture]\n{foreign_text(part.data)}"
    text = replace_part(part, {"type": "text", "text": words}, why)
    choices = [
        lossy("remove", "Remove the result; the rest of the message stays", delete_part(part, why)),
        lossy("to-text", "Turn the result into text of the same message", text),
    ]
    where = "no call with that id is in the session"
    if call is not None:
        owner, tool = call
        where = f"its call is {tool.id} in {owner.id}"
        if _lacks_result(owner, tool):
            back = _reattach(part, owner, tool), delete_part(part, "now with its call")
            choices.insert(0, lossy("reattach", f"Give it back to its call in {owner.id}", *back))
    return context.finding(
        f"The part {part.id} is a result for {call_id or '(no id)'}, but {where}",
        *choices,
        messages=[message],
        parts=[part],
        refusal=context.refusal(messages=[message], parts=[part]),
        details={"call_id": call_id, "kind": part.kind},
    )


def _lacks_result(owner: Message, tool: ToolPart) -> bool:
    """What a call already holds is never overwritten."""
    cut_off = tool.status in ("pending", "running") or (tool.status == "error" and tool.interrupted)
    return cut_off and not is_v2(owner)


def _reattach(part: Part, owner: Message, tool: ToolPart) -> Operation:
    """The result becomes the call's own."""
    failed = part.data.get("isError") is True or part.data.get("is_error") is True
    created = part.row.get("time_created") if part.row else None
    begin = start if (start := started(tool)) is not None else owner.time_created
    end = created if isinstance(created, int) and created >= begin else begin
    edits = [
        Edit(("state", "status"), "error" if failed else "completed"),
        Edit(("state", "time"), {"start": begin, "end": end}),
    ]
    if not isinstance(tool.input, dict):
        edits.append(Edit(("state", "input"), {}))
    edits.append(Edit(("state", "error" if failed else "output"), foreign_text(part.data)))
    if not failed:
        title = tool.state.get("title")
        edits.append(Edit(("state", "title"), title if isinstance(title, str) else tool.tool))
    if not isinstance(tool.state.get("metadata"), dict):
        edits.append(Edit(("state", "metadata"), {}))
    elif tool.interrupted:
        edits.append(Edit(("state", "metadata", "interrupted"), False))
    return edit_part(tool, edits, f"its result was stored apart, in {part.id}")


def _refused_result(context: Context, message_id: str, part_id: str) -> Iterator[Finding]:
    message, part = context.messages_by_id.get(message_id), context.parts_by_id.get(part_id)
    if message is None or (part is not None and part.kind in RESULT_KINDS):
        return
    refusal = context.refusal(messages=[message_id], parts=[part_id])
    if refusal is not None:
        yield context.finding(
            f"A result in {message_id} is sent without the call it belongs to",
            messages=[message_id],
            parts=[part_id],
            refusal=refusal,
            mark=refusal.rule,
        )


@rule("history-shape-foreign", severity="blocked", safety="lossy", needs="other-kind refused")
def find_foreign_shapes(context: Context) -> Iterator[Finding]:
    """Calls in another product's shape, and shapes that only the wire rules see (R13, A2s)."""
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, OtherPart) and part.kind in CALL_KINDS:
                yield _foreign(context, message, part)
    yield from _refused_call(context)
    for violation in context.violations:
        if violation.faults[:1] == (context.rule,):
            yield context.finding(
                f"{violation.message or 'The history'} holds a shape that {violation.position} does not take",
                messages=[violation.message],
                parts=[violation.part],
                refusal=violation,
                mark=violation.position,
            )


def _refused_call(context: Context) -> Iterator[Finding]:
    """A call that the client has no place for in this protocol, such as one the provider itself executed
    (docs/contract/wire.md#6.3)."""
    words, part = context.client_stops, context.stopped_at
    if not isinstance(part, ToolPart) or "media" in words or "URL scheme" in words:
        return
    message = context.messages_by_id.get(part.message_id)
    if message is not None:
        text = replace_part(part, tool_as_text(message, part), words)
        yield context.finding(
            f"The client has no place for the call {part.call_id} of {part.tool} in this request",
            lossy("to-text", "Turn the call and its result into text", text),
            messages=[message],
            parts=[part],
            severity="blocked",
            details={"error": words, "certainty": "measured", "call_id": part.call_id},
            mark="refusal",
        )


def _foreign(context: Context, message: Message, part: Part) -> Finding:
    name = part.data.get("toolName") or part.data.get("name") or "(no name)"
    words = f"[A tool call in a foreign shape, kept as text by Suture]\n{part.raw}"
    text = replace_part(part, {"type": "text", "text": words}, "foreign shape")
    return context.finding(
        f"The part {part.id} is a call of {name} in another product's shape ({part.kind}); the client does not send it",
        lossy("to-text", "Turn it into text, so that the model sees it", text),
        messages=[message],
        parts=[part],
        severity="info",
        details={"kind": part.kind, "call_id": foreign_call_id(part.data)},
        safety="manual",
    )
