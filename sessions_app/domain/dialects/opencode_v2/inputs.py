"""Prompts that the V2 server admitted and never sent (docs/contract/v2-server.md#order.4)."""

from __future__ import annotations

from sessions_app.domain import jsjson
from sessions_app.domain.model import Message, Row, SessionRows

from .decode import decode_messages


def waiting_prompts(rows: SessionRows, generation: int = 1) -> list[Message]:
    """The prompts that wait, as the user messages they will become, in the order in which they were admitted. Their
    ``row`` is that of ``session_input``; ``data`` holds ``delivery`` beside the prompt ("steer": sent before the next
    prompt; "queue": one by one after its turn).

    A prompt that has a row already is not among them: the server stops at it (docs/contract/v2-server.md#d5).
    """
    sent = {row.get("id") for row in rows.session_message}
    inputs = [row for row in rows.inputs if row.get("promoted_seq") is None and row.get("id") not in sent]
    messages, _ = decode_messages(
        SessionRows(rows.session, session_message=[_as_message(row) for row in inputs]), generation
    )
    return [_waiting(message, row) for message, row in zip(messages, inputs, strict=True)]


def _as_message(row: Row) -> Row:
    data = {"time": {"created": row.get("time_created")}}
    try:
        prompt = jsjson.loads(str(row.get("prompt")))
        text = jsjson.dumps({**data, **prompt}) if isinstance(prompt, dict) else str(row.get("prompt"))
    except ValueError:
        text = str(row.get("prompt"))
    return {"id": row.get("id"), "session_id": row.get("session_id"), "type": "user", "data": text}


def _waiting(message: Message, row: Row) -> Message:
    message.row = row
    message.data = {**message.data, "delivery": row.get("delivery")}
    return message
