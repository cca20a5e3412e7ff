"""What the upgrade to 2.x would do to a source's sessions."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.access import found, sources
from sessions_app.api.auth import VIEW, require
from sessions_app.api.paging import PageNumber, PageOut, PerPage, page_of
from sessions_app.api.problems import Problem
from sessions_app.api.repairs import ERRORS
from sessions_app.api.schemas import Id
from sessions_app.models import Session
from sessions_app.services.refusals import store_answer
from sessions_app.services.upgrading import source_upgrade
from sessions_app.stores.base import StoreError

router = Router(tags=["stores"])


class LossOut(Schema):
    """What is dropped or altered. ``ids``: messages and parts, none for the session's own row. ``mended``: the safe
    repairs take it away, made before."""

    kind: str
    effect: str = Field(description="dropped or altered")
    summary: str
    ids: list[str]
    advice: str
    mended: bool


class UpgradeOut(Schema):
    """One session. ``state``: kept, loses, left-behind (its store was upgraded, and its client does not read it any
    more), upgraded, unreadable (``why`` says it)."""

    session: int
    id: str
    title: str
    state: str
    why: str
    losses: list[LossOut]


class UpgradesOut(PageOut):
    items: list[UpgradeOut]


@router.get("sources/{number}/upgrade-check", response={200: UpgradesOut, **ERRORS}, summary="Check before 2.x")
def source_upgrade_check(request: HttpRequest, number: Id, page: PageNumber = 1, per_page: PerPage = 50) -> Any:
    """What opencode 2.x, which takes old sessions over once, would drop or alter; the last used first. Read in the
    source of 2.x, not measured. Nothing is written."""
    require(request, VIEW)
    source = found(sources(request), pk=number)
    stored = Session.objects.filter(source=source, missing_since=None).order_by("-time_updated", "-id")
    answer = page_of(request, stored, page, per_page, lambda row: (row.pk, row.stored_id))
    try:
        checked = source_upgrade(source=source, session_ids=[one for _, one in answer["items"]], now=timezone.now())
    except StoreError as problem:
        words = f"{problem.words} {problem.next_step}".strip()
        raise Problem(store_answer(problem.kind).status, words, kind="store") from problem
    items = zip(answer["items"], checked, strict=True)
    return answer | {"items": [{"session": pk, **one.document()} for (pk, _), one in items]}
