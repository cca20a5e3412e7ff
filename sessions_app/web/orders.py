"""The timeline's two other orders as cards: as sent to the session's own target, and after the proposed repair."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.models import Session
from sessions_app.selectors.orders import Order, OrderRow, repaired_order, session_sent_order
from sessions_app.selectors.payloads import NoTarget
from sessions_app.selectors.timeline import PartRow
from sessions_app.services.repair.bench import session_bench
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.web.partcards import OPEN_CHARACTERS, part_card

from . import present
from .addresses import address
from .http import whole
from .pager import step_pager
from .text import plain, summary_line

ORDERS = ("sent", "repaired")
HEADINGS = {"sent": "Conversation as it is sent", "repaired": "Conversation after the repair"}
NOTHING = {"sent": "Nothing can be sent", "repaired": "Nothing to compare"}
PAGE = 200
"""Rows of one page."""

STATES: dict[str, present.Look] = {
    "merged": present.Look("order", "Merged into the message before", "repaired"),
    "added": present.Look("plus", "Added by the client", "twin"),
    "not-sent": present.Look("close", "Not sent", "unknown"),
    "removed": present.Look("close", "Removed by the repair", "blocked"),
    "changed": present.Look("refresh", "Changed by the repair", "repaired"),
    "inserted": present.Look("plus", "Added by the repair", "healthy"),
}
_BLOCKS = {
    "tool-call": present.Look("tool", "Tool call", "tool"),
    "tool-result": present.Look("tool", "Tool result", "tool"),
    "media": present.Look("file", "File", "text"),
    "message": present.Look("part", "Message", "text"),
}


@dataclass(frozen=True, slots=True)
class OrderCard:
    """A row: look, its label where it is not simply sent or kept, what it says, and the stored place it leads back
    to."""

    row: OrderRow
    look: present.Look
    label: present.Look | None
    line: str
    text: str


@dataclass(frozen=True, slots=True)
class OrderGroup:
    """Rows of one message; ``index`` is its position in the request, None for what is in none."""

    index: int | None
    role: str
    cards: tuple[OrderCard, ...]
    number: int
    """On its page, from 1."""
    sent: bool
    """The order is that of the request."""

    @property
    def css(self) -> str:
        return "message-left-out" if self.sent and self.index is None else ""

    @property
    def label(self) -> str:
        return f"Sent message {self.index}" if self.index is not None else f"Stored message {self.number}"

    @property
    def look(self) -> present.Look:
        """Whose the message is."""
        return present.role(self.role or "message")


def order_segments(session_id: int, target: Mapping[str, Any], current: str, listed: str) -> list[present.Segment]:
    """The ways to order a timeline, as links."""
    provider = present.PROTOCOL.get(target.get("protocol", ""), target.get("protocol")) or "its provider"
    stored = reverse("sessions_app:session", args=[session_id])
    return [
        present.Segment("As stored", stored + address({"list": listed}), not current),
        *(
            present.Segment(word, address({"order": order, "list": listed}), order == current)
            for order, word in (("sent", f"As sent to {provider}"), ("repaired", "After proposed repair"))
        ),
    ]


def order_context(request: HttpRequest, session: Session, order: str, now: datetime) -> dict[str, Any]:
    """Context of the other orders' page. ``problem`` says in words why there is nothing to show."""
    context: dict[str, Any] = {
        "order": order,
        "problem": "",
        "groups": (),
        "order_total": 0,
        "heading": HEADINGS[order],
        "nothing_title": NOTHING[order],
    }
    try:
        made = _sent(session, context) if order == "sent" else _repaired(session, now, context)
    except NoTarget as problem:
        return context | {"problem": str(problem)}
    except LoweringError as refusal:
        return context | {"problem": f"The client cannot build a request: {refusal.words}"}
    except RepairRefused as refusal:
        return context | {"problem": refusal.words}
    if made is None:
        return context
    number, pages = _page(request, made)
    rows = made.rows[(number - 1) * PAGE : number * PAGE]
    base = urlencode({"order": order} | ({"list": request.GET["list"][:2000]} if request.GET.get("list") else {}))
    labels = [(STATES[state], count) for state, count in made.counts.items() if state in STATES]
    return context | {
        "groups": tuple(_groups(rows, order == "sent")),
        "order_total": len(made.rows),
        "labels": labels,
        "bookkeeping": made.bookkeeping,
        "pager": step_pager(number, pages, base, label="Pages of the conversation"),
    }


def _sent(session: Session, context: dict[str, Any]) -> Order:
    sent = session_sent_order(session)
    context["target"] = sent.target
    return sent.order


def _repaired(session: Session, now: datetime, context: dict[str, Any]) -> Order | None:
    with session_bench(session=session, now=now) as bench:
        context["plan"] = bench.plan
        if bench.refusal or not bench.plan.changes:
            context["problem"] = bench.refusal or "No safe repair would change anything in this session."
            return None
        return repaired_order(bench.decoded, bench.after)


def _page(request: HttpRequest, made: Order) -> tuple[int, int]:
    """The page asked for, else the one with the place asked for, else the one where the first difference is."""
    pages = max(1, -(-len(made.rows) // PAGE))
    asked = whole(request.GET.get("page"))
    if asked:
        return asked, pages
    at = made.place(request.GET.get("at", "")) if request.GET.get("at") else None
    if at is None:
        at = made.first("removed", "changed", "inserted") if "kept" in made.counts else 0
    return at // PAGE + 1, pages


def _groups(rows: Iterable[OrderRow], sent: bool) -> Iterator[OrderGroup]:
    def home(row: OrderRow) -> tuple[int | None, str]:
        return row.index, "" if row.index is not None else row.message

    for number, ((index, _), members) in enumerate(groupby(rows, key=home), 1):
        mine = list(members)
        yield OrderGroup(index, mine[0].role, tuple(_card(row) for row in mine), number, sent)


def _card(row: OrderRow) -> OrderCard:
    label = STATES.get(row.state)
    if row.state in ("sent", "merged", "added"):
        look = _BLOCKS.get(row.kind) or present.kind(row.kind, row.role)
        line, text = _said(row)
        return OrderCard(row, look, label, line, text)
    stored = PartRow(None, row.at, row.kind, row.tool, row.call_id, row.status, 0, row.value or None, row.problem)
    card = part_card(stored, row.role)
    return OrderCard(row, card.look, label, card.line, card.text)


def _said(row: OrderRow) -> tuple[str, str]:
    """One line, or a text, of a block as it is sent."""
    value = row.value
    if row.kind in ("text", "reasoning") and isinstance(value.get("text"), str):
        return "", _shortened(value["text"])
    if row.kind == "tool-call":
        return summary_line(_json(value.get("input")), 200), ""
    if row.kind == "tool-result":
        result = value.get("result")
        held = result.get("value") if isinstance(result, dict) else result
        return "", _shortened(held if isinstance(held, str) else _json(held))
    if row.kind == "message":
        content = value.get("content")
        return "", _shortened(content if isinstance(content, str) else _json(value))
    return summary_line(_json({name: item for name, item in value.items() if name != "data"}), 200), ""


def _shortened(text: str) -> str:
    lines = plain(text[: OPEN_CHARACTERS * 2]).split("\n")
    shown = "\n".join(lines[:12])[:1_500]
    return shown if len(shown) >= len(text) else f"{shown}…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)
