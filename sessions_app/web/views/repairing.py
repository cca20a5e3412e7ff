"""Repairing one session: choose, preview what it would do, apply. The same address shows (GET) and does (POST)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods

from sessions_app.domain.places import Places, in_words
from sessions_app.domain.repair import Operation
from sessions_app.domain.rules import Finding
from sessions_app.domain.wish import NOTHING, Wish, WishError
from sessions_app.kept import Kept
from sessions_app.ruletexts import rule_kind
from sessions_app.services.actor import Actor
from sessions_app.services.repair.apply import repair_apply
from sessions_app.services.repair.bench import Bench, session_bench
from sessions_app.services.repair.refusal import RepairRefused
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.conversation import conversation, payload
from sessions_app.web.diff import Diff, block_diff, row_change_diff
from sessions_app.web.findingcards import ACCEPTS, REFUSES
from sessions_app.web.http import (
    FACE,
    REPAIR,
    VIEW,
    HtmxRequest,
    actor,
    allowed,
    clock,
    listed_in,
    load_session,
    told_at,
)
from sessions_app.web.outcome import refused_outcome
from sessions_app.web.shell import session_shell
from sessions_app.web.waycards import way_box

VIEWS = {"conversation": "What the model will see", "rows": "Stored rows", "payload": "Provider payload"}
DIFFS = 100
"""Stored rows whose difference is shown."""
_ROW = re.compile(r"^(?:part|message|session_message) (?=\S+ )")
"""The table before a row's id: its place says what it is."""
_NAMED: Kept[Hashable, Mapping[str, str]] = Kept(50_000, lambda names: 1 + len(names))
_DIFFS: Kept[Hashable, list[Diff]] = Kept(32_000_000, lambda diffs: sum(diff.size for diff in diffs))


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

    url = ""
    more = 0

    @property
    def looks(self) -> tuple[present.Look, ...]:
        return self.before, self.after

    @property
    def words(self) -> tuple[str, ...]:
        return self.left

    @property
    def refused_before_and_after(self) -> bool:
        return self.before == self.after == REFUSES


@require_http_methods(["GET", "POST"])
@allowed(VIEW)
def repair(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    try:
        wish = wish_asked(request.POST if request.method == "POST" else request.GET)
    except WishError as problem:
        return _page(request, session_id, {"wish": Wish(), "refused": RepairRefused("wish", str(problem))}, 422)
    if request.method == "POST" and "preview" in request.POST:
        here = reverse("sessions_app:repair", args=[session_id])
        return redirect(f"{here}?{wish_query(wish, list=listed_in(request))}")
    if request.method == "POST":
        return _apply(request, session_id, wish)
    return _preview(request, session_id, wish)


def wish_asked(query: QueryDict) -> Wish:
    """What the form asks for. Raises ``WishError``."""
    named = ((name, query.get(name, "")) for name in query if name.startswith("choice."))
    choices = [(name.removeprefix("choice."), value) for name, value in named if value]
    return Wish.of(
        findings=[key for key in query.getlist("finding") if key][:200],
        rules=[rule for rule in query.getlist("rule") if rule],
        safety=query.get("safety") or "safe",
        choices=dict(choices[:200]),
        force=query.get("force") == "yes",
    )


def wish_query(wish: Wish, **more: str) -> str:
    """The wish as the form sends it."""
    pairs = [("finding", key) for key in wish.findings] + [("rule", rule) for rule in wish.rules]
    pairs += [(f"choice.{key}", name) for key, name in wish.choices.items()]
    pairs += [("safety", wish.safety)] if wish.safety != "safe" else []
    pairs += [("force", "yes")] if wish.force else []
    return urlencode([*pairs, *((name, value) for name, value in more.items() if value)])


@allowed(REPAIR)
def _apply(request: HtmxRequest, session_id: int, wish: Wish) -> HttpResponseBase:
    try:
        made = repair_apply(
            session=load_session(session_id),
            wish=wish,
            actor=Actor(actor(request), FACE, request.POST.get("reason", "").strip()[:2000]),
            now=clock(),
            expected_hash=request.POST.get("hash", "")[:64],
        )
    except RepairRefused as refusal:
        return _preview(request, session_id, wish, refusal)
    here = reverse("sessions_app:session", args=[session_id]) + address({"list": listed_in(request)})
    return redirect(told_at(request, here, made.public_id))


@require_GET
@allowed(VIEW)
def ways(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    """The ways to repair one finding, for a card that is on the page already."""
    session = load_session(session_id)
    box = way_box(session, request.GET.get("finding", "")[:255], clock())
    may = request.user.has_perm(REPAIR)
    context = {"box": box, "session": session, "may": may, "list": listed_in(request)}
    return render(request, "sessions/_ways.html", context)


def _preview(request: HtmxRequest, session_id: int, wish: Wish, refused: RepairRefused | None = None) -> HttpResponse:
    shown = request.GET.get("view", "conversation")
    shown = shown if shown in VIEWS else "conversation"
    listed = listed_in(request)
    context: dict[str, Any] = {"wish": wish, "refused": refused, "shown": shown}
    try:
        with session_bench(session=load_session(session_id), wish=wish, now=clock()) as bench:
            context |= _planned_context(bench, shown, listed)
            context["refused"] = _in_places(refused, Places(bench.decoded)) if refused else None
    except RepairRefused as refusal:
        context["refused"] = refused or refusal
    return _page(request, session_id, context, 409 if refused else 200)


def _in_places(refused: RepairRefused, places: Places) -> RepairRefused:
    """What changed meanwhile, with places for the ids of rows."""
    rows = [_ROW.sub("", one) for one in refused.changed]
    said = ["".join(word.text for word in in_words(one, places.named_in(one))) for one in rows]
    return RepairRefused(refused.kind, refused.words, said, refused.cause)


def _page(request: HtmxRequest, session_id: int, context: dict[str, Any], status: int) -> HttpResponse:
    listed, wish, refused = listed_in(request), context["wish"], context["refused"]
    context["may_repair"] = request.user.has_perm(REPAIR)
    levels = (("safe", "All safe"), ("lossy", "Also what drops something"))
    told = request.method == "POST"
    context["planned"] = context.get("planned", {}) | {
        "levels": [
            present.Segment(word, address({"safety": name, "list": listed}), not wish.named and wish.safety == name)
            for name, word in levels
        ],
        "refused": "" if told else "Nothing to do." if refused and refused.kind == "nothing" else "Not applied.",
    }
    context = session_shell(request, session_id, "repair") | context
    if refused and told:
        context["outcome"] = refused_outcome(refused)
    return render(request, "sessions/repair.html", context, status=status)


def _planned_context(bench: Bench, shown: str, listed: str) -> dict[str, Any]:
    plan, wish = bench.plan, bench.wish
    choosable = _choosable(bench)
    changes = list(_verdicts(bench))
    steps = [_step(operation) for operation in plan.operations]
    names = _named(bench, steps, choosable)

    def asked(**more: str) -> str:
        return f"?{wish_query(wish, **more, list=listed)}"

    return {
        "planned": {
            "refusal": bench.refusal,
            "warning": bench.warning,
            "handback": asked(),
            "force_url": asked(force="yes"),
        },
        "plan": plan,
        "asking": {"findings": choosable, "names": names, "view": shown, "list": listed},
        "diffs": _diffs(bench, shown),
        "views": [present.Segment(word, asked(view=name), name == shown) for name, word in VIEWS.items()],
        "after": {
            "plan": plan,
            "verdicts": changes,
            "still_refused": any(change.own and change.refused_before_and_after for change in changes),
            "left": [finding for finding in bench.preview.findings_after if finding.severity != "info"],
            "steps": steps,
            "names": names,
            "list": listed,
            "lossy": _lossy(choosable),
            "lossy_url": address({"safety": "lossy", "list": listed}) if wish.safety == "safe" else "",
        },
    }


def _named(bench: Bench, steps: list[str], choosable: list[Choosable]) -> Mapping[str, str]:
    """The places of what the page's sentences name by id."""
    labels = [choice.label for item in choosable for choice in item.finding.choices]
    texts = (*steps, *labels, *(item.finding.summary for item in choosable))

    def made() -> Mapping[str, str]:
        return Places(bench.decoded).named_in(*texts)

    return made() if bench.key is None else _NAMED.made((bench.key, bench.held), made)


def _choosable(bench: Bench) -> list[Choosable]:
    """The findings that are asked about, with what the plan does about each."""
    wish, taken, skipped = bench.wish, bench.proposal.taken, dict(bench.plan.skipped)
    found = []
    for finding in bench.proposal.found:
        key = finding.key
        asked = key in wish.findings if wish.findings else (key in taken or key in skipped)
        if not asked or (not wish.findings and finding.severity == "info" and key not in taken):
            continue
        choice = wish.choices.get(key) or taken.get(key, NOTHING)
        found.append(Choosable(finding, rule_kind(finding.rule), choice, skipped.get(key, "")))
    return found[:100]


def _lossy(choosable: list[Choosable]) -> list[str]:
    """Labels of what the plan drops."""
    return [
        choice.label
        for item in choosable
        for choice in item.finding.choices
        if choice.name == item.taken and choice.safety != "safe"
    ]


def _diffs(bench: Bench, shown: str) -> list[Diff]:
    if bench.key is None:
        return _made_diffs(bench, shown)
    return _DIFFS.made((bench.key, bench.held, shown), lambda: _made_diffs(bench, shown))


def _made_diffs(bench: Bench, shown: str) -> list[Diff]:
    if shown == "rows":
        places = Places(bench.decoded)
        return [
            row_change_diff(change, str(places.of(str(change.key.get("id", ""))) or ""))
            for change in bench.plan.changes[:DIFFS]
        ]
    before, after = (body.body if body else None for body in bench.bodies)
    if before is None and after is None:
        return []
    if shown == "payload":
        return [block_diff("Request body", "changed", payload(before), payload(after))]
    return [block_diff("The conversation as it is sent", "changed", conversation(before), conversation(after))]


def _verdicts(bench: Bench) -> Iterable[Change]:
    before = bench.accepted_before
    for place, (protocol, after) in enumerate(bench.verdicts_after.items()):
        words = (after.refusal,) if after.refusal else tuple(violation.error for violation in after.violations[:3])
        takes = bool(bench.preview.accepted_after) if place == 0 else after.accepted
        yield Change(protocol, place == 0, _look(before.get(protocol, False)), _look(takes), words)


def _look(accepted: bool) -> present.Look:
    return ACCEPTS if accepted else REFUSES


def _step(operation: Operation) -> str:
    """ "Remove prt_1: the reason"; ids become places where it is shown."""
    place = operation.part_id or operation.message_id or f"the {operation.subject}"
    done = f"{_DOES[operation.action]} {place}"
    return f"{done}: {operation.why}" if operation.why else done


_DOES = {"delete": "Remove", "replace": "Change", "insert": "Add to"}
