"""What the turns of a session are called: the first words of the prompts that begin them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Substr

from sessions_app.domain.rowcodec import decode_value
from sessions_app.models import Message, Part, Session

TITLE_CHARACTERS = 4_000
"""How much of a user's text is read for the turn's title."""


def turn_titles(session: Session, table: str, users: Iterable[str]) -> dict[str, str]:
    """Stored id of a user message that begins a turn -> its first words. What is only synthetic begins none. ``users``:
    the ids of all user messages."""
    if table == Message.Table.SESSION_MESSAGE:
        rows: QuerySet[Message, tuple[Any, ...]] = (
            Message.objects.filter(session=session, table=table, kind="user")
            .order_by("position")
            .values_list("stored_id", "encoding", Substr("data", 1, TITLE_CHARACTERS))
        )
        return {stored_id: _words(text, encoding) for stored_id, encoding, text in rows}
    titles: dict[str, str] = {}
    parts = (
        Part.objects.filter(message__session=session, message__table=table, message__kind="user")
        .order_by("position")
        .values_list("message_stored_id", "kind", "encoding", Substr("data", 1, TITLE_CHARACTERS))
    )
    with_parts: set[str] = set()
    for message, kind, encoding, text in parts:
        with_parts.add(message)
        if kind == "text" and '"synthetic":true' not in text.replace(" ", ""):
            titles.setdefault(message, _words(text, encoding))
        elif kind in ("file", "subtask", "agent"):
            titles.setdefault(message, f"({kind})")
    for stored_id in users:
        if stored_id not in with_parts:
            titles[stored_id] = "(no parts)"
    return titles


def _words(text: str, encoding: str) -> str:
    """The text member of stored JSON, which may have been cut short."""
    try:
        if encoding == "json":
            text = decode_value(text, encoding)
        value = json.loads(text)
        words = value.get("text") if isinstance(value, dict) else None
    except ValueError:
        words = _cut_text(text)
    line = " ".join(str(words or "").split())
    return line[:160] or "(empty)"


def _cut_text(text: str) -> str:
    """The text member of JSON that ends in the middle."""
    _, found, rest = text.partition('"text":')
    if not found:
        return ""
    rest = rest.lstrip()[1:400].rsplit("\\", 1)[0]
    try:
        return str(json.loads(f'"{rest.split(chr(34), 1)[0]}"', strict=False))
    except ValueError:
        return rest
