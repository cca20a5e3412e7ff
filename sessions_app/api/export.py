"""A session handed back in every form (docs/handing-back.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.domain.secrets import masked
from sessions_app.domain.wish import Wish, choices_named
from sessions_app.downloads import attachment
from sessions_app.services.audit import audit_record
from sessions_app.services.handback.forms import HANDBACK, Form
from sessions_app.services.handback.handing import HandBackRefused, HandOptions, session_handed
from sessions_app.services.handback.storewide import WholeForm, source_handed
from sessions_app.services.refusals import repair_answer

from .access import found, session_for_reading, sources
from .auth import REPAIR, actor, require
from .masking import may_reveal
from .problems import Problem, ProblemOut
from .schemas import Id, Safety, Thinking, Words


class ChosenIn(Schema):
    """Which repairs are in the file."""

    repaired: bool = Field(True, description="as it is after the repair, else as stored")
    safety: Safety = Field("safe", description="how far the repair in it may go")
    rule: list[Words] = Field([], description="only findings of these rules", max_length=100)
    finding: list[Words] = Field([], description="only these findings, by key", max_length=200)
    choice: list[Words] = Field([], description="KEY=NAME: a finding key or a rule, and the choice", max_length=200)
    target: Words = Field("", description="PROTOCOL[:PROVIDER/MODEL]; the session's own where left out")
    thinking: Thinking = "auto"

    def wish(self) -> Wish:
        """Raises ``WishError``."""
        return Wish.of(
            rules=self.rule,
            findings=self.finding,
            choices=choices_named(self.choice),
            safety=self.safety,
            target=self.target,
            thinking=self.thinking,
        )


router = Router(tags=["export"])

_FILES = {
    "responses": {
        200: {
            "description": "The file. What whoever gets it has to know is in `X-Suture-Note`, a sentence each.",
            "headers": {
                name: {"description": words, "schema": {"type": "string"}}
                for name, words in (
                    ("Suture-Health", "blocked, at-risk, healthy or unreadable: of what is in the file"),
                    ("Suture-Repairs", "rules whose findings were repaired in it, a comma between two"),
                    ("Suture-Left", "what is still wrong in it"),
                    ("X-Suture-Note", "what whoever gets it has to know"),
                )
            },
            "content": {
                "application/json": {"schema": {}},
                "application/sql": {"schema": {"type": "string"}},
                "text/markdown": {"schema": {"type": "string"}},
                "application/zip": {"schema": {"type": "string", "format": "binary"}},
                "application/gzip": {"schema": {"type": "string", "format": "binary"}},
                "application/vnd.sqlite3": {"schema": {"type": "string", "format": "binary"}},
            },
        }
    }
}


@router.get(
    "sessions/{sid}/export",
    response={404: ProblemOut, 409: ProblemOut, 422: ProblemOut, 503: ProblemOut},
    summary="Hand a session back",
    openapi_extra=_FILES,
)
def session_export(
    request: HttpRequest,
    sid: Id,
    chosen: Query[ChosenIn],
    form: Annotated[Form, Query(alias="as")] = "rows",
    ids: Annotated[
        Literal["fresh", "same"], Query(description="of an export: same = delete the session first")
    ] = "fresh",
    children: Annotated[bool, Query(description="an export with the subagents' sessions, as a zip")] = False,
) -> HttpResponseBase:
    """``rows``: every row as stored, Suture's own lossless document. ``export``: what ``opencode import`` takes, under
    fresh ids. ``patch``: SQL for ``sqlite3 opencode.db < patch.sql`` that repairs the session in one transaction, and
    changes nothing where a row is not what it was; ``undo`` takes it back. ``database``, ``tree``: a copy of the whole
    store with this session repaired; log-ins are blanked. ``report``: Markdown for a ticket. ``bundle``: the rows with
    every text masked. For callers who may not repair, what looks like a key is masked in ``rows``, ``export`` and
    ``report``; the forms that are written back whole are refused.

    ``Suture-Health`` says whether the session in the file is still blocked, ``Suture-Repairs`` for which repairs it was
    made, ``Suture-Left`` what is still wrong. A patch for an upload is against the upload as it was, and holds what was
    repaired in Suture's copy too."""
    session = session_for_reading(request, sid)
    now = timezone.now()
    options = HandOptions(
        repaired=chosen.repaired, fresh=ids == "fresh", children=children, masked=not may_reveal(request)
    )
    with (
        _refusing(),
        session_handed(session=session, form=form, options=options, wish=chosen.wish(), now=now) as made,
    ):
        response = attachment(made)
        words = masked(HANDBACK[form].words(made.outlook))
    _recorded(request, now, form, "session", session.pk, session=session.stored_id, words=words)
    return response


@router.get(
    "sources/{number}/export",
    response={404: ProblemOut, 409: ProblemOut, 422: ProblemOut, 503: ProblemOut},
    summary="Hand a whole source back",
    openapi_extra=_FILES,
)
def source_export(
    request: HttpRequest,
    number: Id,
    chosen: Query[ChosenIn],
    form: Annotated[WholeForm, Query(alias="as")] = "database",
) -> HttpResponseBase:
    """All sessions of a source repaired in one copy of its store (``database``, ``tree``), or in one ``patch`` with its
    ``undo``. The headers are those of a session's export; the worst session counts. These forms are written back, so
    keys in them are not masked: it is for callers who may repair."""
    require(request, REPAIR)
    source = found(sources(request), pk=number)
    now = timezone.now()
    options = HandOptions(repaired=chosen.repaired)
    with _refusing(), source_handed(source=source, form=form, options=options, wish=chosen.wish(), now=now) as made:
        response = attachment(made)
        words = masked(HANDBACK[form].words(made.outlook))
    _recorded(request, now, form, "source", source.pk, name=source.name, words=words)
    return response


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except HandBackRefused as refusal:
        raise Problem(repair_answer(refusal.kind).status, refusal.words, kind=refusal.kind) from refusal


def _recorded(request: HttpRequest, now: datetime, form: str, kind: str, number: int, **facts: Any) -> None:
    audit_record(
        action="export.made", actor=actor(request), face="api", now=now, subject=(kind, number), form=form, **facts
    )
