"""A session's rows in stored order, a window of whole turns at a time; and what they weigh."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router

from sessions_app.selectors.outline import Waiting
from sessions_app.selectors.timeline import (
    WINDOW_PARTS,
    MessageBlock,
    PartRow,
    TurnBlock,
    session_outline,
    timeline_window,
)
from sessions_app.selectors.weight import session_weight

from .access import session_for_reading
from .problems import ProblemOut
from .schemas import Id, TimelineOut, WeightOut

router = Router(tags=["sessions"])


@router.get("sessions/{sid}/timeline", response={200: TimelineOut, 404: ProblemOut}, summary="Timeline of a session")
def session_timeline(
    request: HttpRequest,
    sid: Id,
    since: Annotated[int, Query(ge=0, le=2**31, description="index of the first part to show")] = 0,
    limit: Annotated[int, Query(ge=1, le=2000, description="parts, about")] = WINDOW_PARTS,
) -> Any:
    """Turns, messages and parts as stored; go on with ``since`` = ``end`` while ``end`` is below ``of``."""
    session = session_for_reading(request, sid)
    outline = session_outline(session)
    window = timeline_window(session, outline, since=since, limit=limit)
    return {
        "start": window.start,
        "end": window.end,
        "of": window.of,
        "turns": [_turn(turn) for turn in window.turns],
        "waiting": [_waiting(prompt) for prompt in outline.waiting],
    }


@router.get("sessions/{sid}/weight", response={200: WeightOut, 404: ProblemOut}, summary="What a session weighs")
def session_weighed(request: HttpRequest, sid: Id) -> Any:
    """Sizes by turn and by kind, in characters of stored JSON; the heaviest, and what could be taken out."""
    return session_weight(session_for_reading(request, sid)).document()


def _waiting(prompt: Waiting) -> dict[str, Any]:
    delivery = "queue" if prompt.queued else "steer"
    return {"id": prompt.stored_id, "text": prompt.text, "delivery": delivery, "time": prompt.time}


def _turn(turn: TurnBlock) -> dict[str, Any]:
    return {"number": turn.head.number, "messages": [_message(message) for message in turn.messages]}


def _message(message: MessageBlock) -> dict[str, Any]:
    return {
        "id": message.stored_id,
        "kind": message.kind,
        "provider": message.provider,
        "model": message.model,
        "time": message.time,
        "data": message.value,
        "problem": message.problem,
        "parts": [_part(part) for part in message.parts],
        "findings": [fault.key for fault in message.faults],
    }


def _part(part: PartRow) -> dict[str, Any]:
    return {
        "id": part.stored_id,
        "kind": part.kind,
        "tool": part.tool,
        "call_id": part.call_id,
        "status": part.status,
        "size": part.size,
        "data": part.value,
        "problem": part.problem,
        "findings": [fault.key for fault in part.faults],
    }
