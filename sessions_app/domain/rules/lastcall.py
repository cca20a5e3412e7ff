"""The refusal that the session itself stores is evidence (docs/contract/rules.md#2.38)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sessions_app.domain.lastcalls import LastCall
from sessions_app.domain.model import Message, ReasoningPart, ToolPart
from sessions_app.domain.repair import REMOVE, Edit, Operation

from .context import Context, recorded
from .finding import Choice, Finding, lossy
from .lastreadable import spared
from .operations import delete_message, edit_message, is_v2, replace_part, tool_as_text
from .registration import rule
from .thinking import without_thinking

CODE: Final = "last-call-refused"
_RANK = {"blocked": 0, "at-risk": 1, "info": 2}
_KINDS = {
    "limit": "a limit of the provider",
    "billing": "credit or plan",
    "login": "the key or the login",
    "network": "the connection or the provider's servers",
    "model": "the choice of model",
}
_REFUSED = "the provider refused this at the last call"
_WHY = "the refusal it stores is settled"
_KEPT = "the refusal it stores is evidence"


@rule(CODE, severity="blocked", safety="manual", needs="failed")
def find(context: Context) -> Iterator[Finding]:
    """The last word of the provider was no, and nothing was answered since."""
    for call in context.last_calls:
        dropped = drop(call)
        choices = [replace(one, operations=(*one.operations, *dropped)) for one in _as_text(context, call)]
        if dropped:
            choices.append(lossy("drop", "Drop the stored refusal only; what it speaks of stays as it is", *dropped))
        yield context.finding(
            _summary(call),
            *choices,
            messages=dict.fromkeys([*(place.message for place in call.places), call.rows[0].id]),
            parts=dict.fromkeys(place.part for place in call.places if place.part),
            severity=call.severity,
            details=_details(call),
            also=call.next,
            safety=None if len(choices) > 1 and call.severity == "blocked" else "manual",
        )


def _summary(call: LastCall) -> str:
    who = call.speaker or "The provider"
    again = f", {len(call.rows)} times in a row" if len(call.rows) > 1 else ""
    said = f": “{call.words}”"
    if call.about == "history":
        doubt = f" ({call.doubt})" if call.doubt else ""
        return f"{who} refused the last call{again}{said}{doubt}"
    if call.about == "generic":
        return f"{who} refused the last call{again} and does not say why{said}"
    what = "a setting of the request" if call.about == "setting" else _KINDS.get(call.kind, "something else")
    return f"The last call failed{again} for {what}, no fault of the history{said}"


def _details(call: LastCall) -> dict[str, Any]:
    place = call.places[0] if call.places else None
    return {
        **recorded(call),
        "words": call.words,
        "class": call.about,
        "kind": call.kind,
        "rules": list(call.faults),
        "wire_rules": list(place.rules) if place else [],
        "position": place.position if place else "",
        "by": place.by if place else "",
        "model": call.speaker,
        "rows": [row.id for row in call.rows],
    }


def drop(call: LastCall) -> list[Operation]:
    """Takes the stored refusal away: an empty V1 row goes; a V2 row stays and keeps the words in its metadata. A row
    that holds an answer too, or is a summary, is left to other rules."""
    return [_dropped(row) for row in call.rows if not row.parts and not row.data.get("summary") and row.is_assistant]


def _dropped(row: Message) -> Operation:
    if not is_v2(row):
        return delete_message(row, _WHY)
    error = row.data["error"]
    held = isinstance(row.data.get("metadata"), dict)
    kept = Edit(("metadata", "error"), error) if held else Edit(("metadata",), {"error": error})
    return edit_message(row, (kept, Edit(("error",), REMOVE)), _WHY)


def _as_text(context: Context, call: LastCall) -> Iterator[Choice]:
    """Where it points at calls or thinking that no other rule finds fault with: the way that every provider takes."""
    if call.about != "history":
        return
    at = [context.parts_by_id.get(part) for part in dict.fromkeys(place.part for place in call.places)]
    tools = [part for part in at if isinstance(part, ToolPart)]
    thinking = dict.fromkeys(part.message_id for part in at if isinstance(part, ReasoningPart))
    if thinking:
        messages = [context.messages_by_id[message] for message in thinking]
        operations = [one for message in messages for one in without_thinking(message, message.parts, _REFUSED)]
        yield lossy("to-text", "Turn its calls and their results into text and drop the reasoning", *operations)
    elif tools:
        texts = [
            replace_part(tool, tool_as_text(context.messages_by_id[tool.message_id], tool), _REFUSED) for tool in tools
        ]
        yield lossy("to-text", "Turn the call and its result into text", *texts)


# What the stored refusal does to the findings of other rules


def wanted(context: Context, rules: Collection[str]) -> Collection[str]:
    """The rules to look with so that ``rules`` find everything: the ways out of a stored refusal are those of its
    cause."""
    if CODE not in rules:
        return rules
    return {*rules, *(fault for call in context.last_calls for fault in call.faults)}


def with_evidence(context: Context, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, weighed by what providers last said: what is refused counts as such, its repair settles the stored
    refusal as well, the finding of the refusal offers the repairs of its cause, and nothing else takes the newest row
    that holds it."""
    found = list(findings)
    for call in context.last_calls:
        causes = _causes(call, found)
        if causes:
            settled = drop(call)
            for at in causes:
                found[at] = _settling(_raised(found[at], call), settled)
            found = [_offering(one, call, found[causes[0]]) for one in found]
        settling = {found[at].key for at in causes} | {one.key for one in found if one.rule == CODE}
        for row in _kept(call):
            left = (one if one.key in settling else _sparing(one, call, row) for one in found)
            found = [one for one in left if one is not None]
    return found


def _kept(call: LastCall) -> list[Message]:
    """The rows that no other repair takes: the newest, as evidence; all, where the history is not at fault, since they
    are nothing to be repaired. Summaries are left to their own rules."""
    rows = call.rows if call.about == "not-history" else call.rows[:1]
    return [row for row in rows if not row.data.get("summary")]


def _sparing(finding: Finding, call: LastCall, row: Message) -> Finding | None:
    if finding.rule != "empty-message" or row.id not in finding.messages:
        return spared(finding, row.id, _KEPT)
    if call.about != "history":
        return None  # the finding of the refusal says all there is to it
    summary = f"{finding.summary} (kept: {_KEPT})"
    return replace(finding, severity="info", safety="manual", choices=(), summary=summary)


def _causes(call: LastCall, findings: Sequence[Finding]) -> list[int]:
    """Places in ``findings`` of those that the stored refusal can come from: at the very part it points at, else in its
    message, else those that are refused anyway."""
    if call.about != "history":
        return []
    fitting = [at for at, finding in enumerate(findings) if finding.rule in call.faults]
    parts = {place.part for place in call.places if place.part}
    messages = {place.message for place in call.places}
    ways: tuple[Callable[[Finding], bool], ...] = (
        lambda one: one.details.get("error") == call.text or not parts.isdisjoint(one.parts),
        lambda one: not messages.isdisjoint(one.messages),
        lambda one: one.severity != "info",
    )
    found = ([at for at in fitting if way(findings[at])] for way in ways)
    return next((some for some in found if some), [])


def _raised(finding: Finding, call: LastCall) -> Finding:
    """As grave as the stored refusal says, with its words, where that points right at it."""
    parts = {place.part for place in call.places if place.part}
    if _RANK[finding.severity] <= _RANK[call.severity] or (parts and parts.isdisjoint(finding.parts)):
        return finding
    return replace(finding, severity=call.severity, offered=False, details={**finding.details, **recorded(call)})


def _settling(finding: Finding, settled: Sequence[Operation]) -> Finding:
    return replace(finding, choices=tuple(_also(choice, settled) for choice in finding.choices))


def _also(choice: Choice, settled: Sequence[Operation]) -> Choice:
    """The choice with these operations too, but for rows that it takes anyway."""
    touched = {one.message_id for one in choice.operations}
    more = [one for one in settled if one.message_id not in touched]
    return replace(choice, operations=(*choice.operations, *more)) if touched and more else choice


def _offering(finding: Finding, call: LastCall, cause: Finding) -> Finding:
    """The finding of the refusal, with the choices of its cause in front of its own; open, since the cause is repaired
    where it is not left alone on request."""
    if finding.rule != CODE or finding.details.get("error") != call.text or not cause.choices:
        return finding
    own = [choice for choice in finding.choices if choice.name == "drop"]
    details = {**finding.details, "cause": cause.rule}
    return replace(finding, choices=(*cause.choices, *own), safety=cause.safety, details=details, offered=True)
