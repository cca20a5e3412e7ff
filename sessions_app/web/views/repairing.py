"""Repairing one session: choose, preview what it would do, apply. The same address shows (GET) and does (POST)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from sessions_app.domain.judging import verdict_on
from sessions_app.domain.planning import Preview
from sessions_app.domain.repair import Operation
from sessions_app.domain.rules import REGISTRY, Context, Finding, find_all
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.target import default_target
from sessions_app.models import Session
from sessions_app.ruletexts import rule_title
from sessions_app.services.repairing import (
    Actor,
    Planned,
    RepairOptions,
    repair_apply,
    repair_plan,
    repair_preview,
)
from sessions_app.services.writing import RepairRefused
from sessions_app.web import present
from sessions_app.web.conversation import conversation, payload
from sessions_app.web.diff import Diff, block_diff, row_change_diff
from sessions_app.web.findingcards import ACCEPTS, REJECTS
from sessions_app.web.http import FACE, REPAIR, VIEW, HtmxRequest, actor, allowed, clock, load_session
from sessions_app.web.shell import session_shell

VIEWS = {"conversation": "What the model will see", "rows": "Stored rows", "payload": "Provider payload"}
DIFFS = 100
"""Stored rows whose difference is shown."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the form asks for. ``findings`` are keys; none = everything that ``safety`` allows (or ``rules`` name)."""

    findings: tuple[str, ...]
    rules: tuple[str, ...]
    safety: Literal["safe", "lossy"]
    choices: dict[str, str]
    force: bool

    @classmethod
    def of(cls, query: QueryDict) -> Wish:
        choices = {
            name.removeprefix("choice."): value for name, value in query.items() if name.startswith("choice.") and value
        }
        return cls(
            findings=tuple(key for key in query.getlist("finding") if key)[:200],
            rules=tuple(rule for rule in query.getlist("rule") if rule in REGISTRY),
            safety="lossy" if query.get("safety") == "lossy" else "safe",
            choices=dict(list(choices.items())[:200]),
            force=query.get("force") == "yes",
        )

    def query(self, **more: str) -> str:
        pairs = [("finding", key) for key in self.findings] + [("rule", rule) for rule in self.rules]
        pairs += [(f"choice.{key}", name) for key, name in self.choices.items()]
        pairs += [("safety", self.safety)] if self.safety != "safe" else []
        pairs += [("force", "yes")] if self.force else []
        return urlencode([*pairs, *((name, value) for name, value in more.items() if value)])

    def options(self, session: Session) -> RepairOptions:
        """A wish for single findings restricts the plan to their rules and messages."""
        if not self.findings:
            return RepairOptions(rules=self.rules, safety=self.safety, choices=self.choices)
        stored = list(session.findings.filter(key__in=self.findings).values_list("rule", "messages"))
        rules = tuple(dict.fromkeys([rule for rule, _ in stored] or [key.partition(":")[0] for key in self.findings]))
        messages: tuple[str, ...] = tuple(dict.fromkeys(message for _, named in stored for message in named))
        return RepairOptions(rules=rules, safety=self.safety, choices=self.choices, messages=messages)


@dataclass(frozen=True, slots=True)
class Choosable:
    """A finding with the ways to repair it, and the one that the plan takes ("" = none)."""

    finding: Finding
    title: str
    taken: str
    why_not: str

    @property
    def field(self) -> str:
        return f"choice.{self.finding.key}"


@dataclass(frozen=True, slots=True)
class Change:
    """A protocol's verdict before and after."""

    protocol: str
    own: bool
    before: present.Look
    after: present.Look
    left: tuple[str, ...]
    """Errors that remain after."""

    @property
    def refused_before_and_after(self) -> bool:
        return self.before == self.after == REJECTS


@require_http_methods(["GET", "POST"])
@allowed(VIEW)
def repair(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    if request.method == "POST":
        return _apply(request, session_id)
    return _preview(request, session_id, Wish.of(request.GET))


@allowed(REPAIR)
def _apply(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    wish = Wish.of(request.POST)
    try:
        made = repair_apply(
            session=session,
            options=wish.options(session),
            actor=Actor(actor(request), FACE, request.POST.get("reason", "").strip()[:2000]),
            now=clock(),
            expected_hash=request.POST.get("hash", "")[:64],
            force=wish.force,
        )
    except RepairRefused as refusal:
        return _preview(request, session_id, wish, refusal)
    return redirect(f"{reverse('sessions_app:session', args=[session_id])}?repaired={made.public_id}")


def _preview(request: HtmxRequest, session_id: int, wish: Wish, refused: RepairRefused | None = None) -> HttpResponse:
    session = load_session(session_id)
    shown = request.GET.get("view", "conversation")
    context: dict[str, Any] = {
        "wish": wish,
        "refused": refused,
        "shown": shown if shown in VIEWS else "conversation",
    }
    context["may_repair"] = request.user.has_perm(REPAIR)
    try:
        planned = repair_plan(session=session, options=wish.options(session), now=clock(), force=wish.force)
    except RepairRefused as refusal:
        context["refused"] = refused or refusal
    else:
        preview = repair_preview(planned=planned)
        context |= _planned_context(planned, preview, wish, context["shown"])
    context |= session_shell(request, session_id, "repair")
    return render(request, "sessions/repair.html", context, status=409 if refused else 200)


def _planned_context(planned: Planned, preview: Preview, wish: Wish, shown: str) -> dict[str, Any]:
    plan = planned.plan
    choosable = _choosable(planned, wish)
    changes = list(_verdicts(planned, preview))
    return {
        "planned": planned,
        "plan": plan,
        "preview": preview,
        "steps": [_step(operation) for operation in plan.operations],
        "choosable": choosable,
        "diffs": _diffs(preview, shown),
        "views": [(name, word, wish.query(view=name), name == shown) for name, word in VIEWS.items()],
        "verdicts": changes,
        "still_refused": any(change.own and change.refused_before_and_after for change in changes),
        "left": [finding for finding in preview.findings_after if finding.severity != "info"],
        "lossy": _lossy(choosable),
        "query": wish.query(),
    }


def _choosable(planned: Planned, wish: Wish) -> list[Choosable]:
    """The findings that are asked about, with what the plan does about each."""
    context = Context(planned.decoded, None, planned.facts)
    done, skipped = set(planned.plan.findings), dict(planned.plan.skipped)
    found = []
    for finding in find_all(context, _rules_asked(wish, done | skipped.keys())):
        asked = finding.key in wish.findings if wish.findings else (finding.key in done or finding.key in skipped)
        if not asked or (not wish.findings and finding.severity == "info" and finding.key not in done):
            continue
        found.append(
            Choosable(
                finding,
                rule_title(finding.rule),
                _taken(finding, wish, finding.key in done),
                skipped.get(finding.key, ""),
            )
        )
    return found[:100]


def _rules_asked(wish: Wish, known: Iterable[str]) -> set[str]:
    return {key.partition(":")[0] for key in (wish.findings or known)}


def _taken(finding: Finding, wish: Wish, done: bool) -> str:
    """Name of the choice that the plan takes."""
    named = wish.choices.get(finding.key)
    if named or not done:
        return named or "none"
    usable = [
        choice
        for choice in finding.choices
        if choice.operations and (choice.safety == "safe" or wish.safety == "lossy")
    ]
    return usable[0].name if usable else "none"


def _lossy(choosable: list[Choosable]) -> list[str]:
    """Labels of what the plan drops."""
    return [
        choice.label
        for item in choosable
        for choice in item.finding.choices
        if choice.name == item.taken and choice.safety != "safe"
    ]


def _diffs(preview: Preview, shown: str) -> list[Diff]:
    if shown == "rows":
        return [row_change_diff(change) for change in preview.rows[:DIFFS]]
    before = preview.body_before.body if preview.body_before else None
    after = preview.body_after.body if preview.body_after else None
    if before is None and after is None:
        return []
    if shown == "payload":
        return [block_diff("Request body", "changed", payload(before), payload(after))]
    return [block_diff("The conversation as it is sent", "changed", conversation(before), conversation(after))]


def _verdicts(planned: Planned, preview: Preview) -> Iterable[Change]:
    """Before: as the last scan judged these very rows; after: judged now."""
    own = preview.verdict_before
    if own is None or preview.verdict_after is None:
        return
    accepted = dict(planned.session.verdicts.values_list("protocol", "accepted"))
    for protocol in sorted(PROTOCOLS, key=lambda name: name != own.target.protocol):
        mine = protocol == own.target.protocol
        after = (
            preview.verdict_after
            if mine
            else verdict_on(preview.requests, default_target(preview.after, protocol, "auto"))
        )
        words = (after.refusal,) if after.refusal else tuple(violation.error for violation in after.violations[:3])
        yield Change(
            protocol,
            mine,
            _look(own.accepted if mine else accepted.get(protocol, False)),
            _look(after.accepted),
            words,
        )


def _look(accepted: bool) -> present.Look:
    return ACCEPTS if accepted else REJECTS


def _step(operation: Operation) -> str:
    """ "Delete part prt_1: the reason"."""
    place = operation.part_id or operation.message_id
    done = " ".join(word for word in (operation.action.capitalize(), operation.subject, place) if word)
    return f"{done}: {operation.why}" if operation.why else done
