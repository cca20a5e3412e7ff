"""Calls and results of openai-chat (O1 to O4, O18), in the words of the server at hand (S3, S6, S8, S11, S22)."""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.domain.protocols.openai_chat.view import Call, Message, Turn, View
from sessions_app.domain.protocols.traits import needs
from sessions_app.domain.wire.verdict import Tag, Violation


@needs("unpaired", "repeated-id", "own-fields", "server", "odd-id")
def unanswered_calls(view: View) -> Iterator[Violation]:
    """O1: the run of tool messages right behind an assistant message answers each of its calls."""
    for turn in view.turns:
        answered = {message.call_id for message in turn.results}
        missing = [call for call in turn.assistant.calls if call.id not in answered]
        if missing and "S11" not in view.profile.rules:
            yield _unanswered(view, turn, missing)


def _unanswered(view: View, turn: Turn, missing: list[Call]) -> Violation:
    place = turn.assistant.index
    names = ", ".join(dict.fromkeys(call.id for call in missing))
    tag: Tag = "T" if turn.after is None else "P"
    if view.profile.measured_words:
        return view.request.broken("O1", f"message[{place}]", missing[0].pointer, "measured", tag=tag, ids=names)
    code = next((own for own in ("S3", "S8", "S22") if own in view.profile.rules), "O1")
    position = f"messages.[{turn.after.index if turn.after else place}].role"
    return view.request.broken(code, position, missing[0].pointer, tag=tag, ids=names)


@needs("unpaired", "repeated-id", "own-fields", "server", "odd-id")
def stray_results(view: View) -> Iterator[Violation]:
    """O2 and O3: a tool message stands in the run behind a call, and names one of its ids."""
    in_turn = {message.index for turn in view.turns for message in turn.results}
    for message in view.messages:
        if message.role == "tool" and message.index not in in_turn:
            yield view.request.broken("O2", f"messages.[{message.index}].role", message.pointer)
    if "S12" in view.profile.rules:
        return
    for turn in view.turns:
        known = {call.id for call in turn.assistant.calls}
        for message in turn.results:
            if message.call_id not in known:
                yield _unknown(view, message)


def _unknown(view: View, message: Message) -> Violation:
    position = f"messages.[{message.index}].tool_call_id"
    if "S6" in view.profile.rules:
        return view.request.broken("S6", position, message.pointer)
    return view.request.broken("O3", position, message.pointer, id=message.call_id)


@needs("own-fields")
def empty_calls(view: View) -> Iterator[Violation]:
    """O4: ``tool_calls`` is absent or holds something."""
    for message in view.assistants:
        if message.data.get("tool_calls") == []:
            where = f"messages[{message.index}].tool_calls"
            yield view.request.broken("O4", where, (*message.pointer, "tool_calls"))


@needs("repeated-id", "own-fields", "server", "odd-id")
def repeated_calls(view: View) -> Iterator[Violation]:
    """O18: no id twice within one assistant message. Across messages only servers that look at the whole request
    refuse."""
    first: dict[str, int] = {}
    for message in view.assistants:
        here: set[str] = set()
        told: set[str] = set()
        for call in message.calls:
            if call.id in here and call.id not in told:
                told.add(call.id)
                yield _duplicate(view, call, ("duplicate-call-id-in-message", "call-id-charset"))
            elif call.id in first and call.id not in here:
                yield from _again(view, call, first[call.id])
            here.add(call.id)
        for name in here:
            first.setdefault(name, message.index)


def _duplicate(view: View, call: Call, faults: tuple[str, ...]) -> Violation:
    return view.request.broken("O18", f"message[{call.message}]", call.pointer, faults=faults, id=call.id)


def _again(view: View, call: Call, earlier: int) -> Iterator[Violation]:
    if view.profile.whole_request_ids:
        yield _duplicate(view, call, ("duplicate-call-id-across-turns", "call-id-charset"))
    elif not view.profile.pairs_by_position:
        where = f"message[{call.message}]"
        yield view.request.broken("O18", where, call.pointer, "again", doubtful=True, id=call.id, earlier=earlier)
