"""The payload tab: what a provider would be sent, what it would answer, and which stored part each message comes
from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.verdict import Verdict, Violation
from sessions_app.models import Session
from sessions_app.selectors.payloads import Judged, Payload, PayloadOptions, judged_payload, pointer, sent_messages
from sessions_app.selectors.sessions import SessionDetail
from sessions_app.web import present
from sessions_app.web.addresses import address
from sessions_app.web.curl import curl_command, powershell_command
from sessions_app.web.http import VIEW, HtmxRequest, allowed, given_out, load_session, whole
from sessions_app.web.reader import REST, Head, Piece, answer, reader
from sessions_app.web.shell import session_shell

THINKING = ("auto", "on", "off")


class Check(NamedTuple):
    """A rule that fails or may, whether its words are the provider's own, and where its place in the body is shown."""

    look: present.Look
    violation: Violation
    quoted: bool
    url: str


class SentBody:
    """A request body: its messages, and its other members beside them."""

    def __init__(self, made: Payload, found: Verdict | None) -> None:
        self._sent, self._provenance = sent_messages(made.text), made.provenance
        self.noun = self._sent.key or "messages"
        self.rest = "The rest of the request body" if self._sent.outer else ""
        self._violations: dict[int, list[Violation]] = {}
        for violation in (*found.violations, *found.warnings) if found else ():
            index = next((one for one in violation.pointer if isinstance(one, int)), -1)
            self._violations.setdefault(index, []).append(violation)
        self.first = min((index for index in self._violations if index >= 0), default=0)

    def __len__(self) -> int:
        return len(self._sent)

    def heads(self, start: int, count: int) -> list[Head]:
        return [self._head(index, value) for index, value in enumerate(self._sent.window(start, count), start)]

    def _head(self, index: int, message: Any) -> Head:
        text = json.dumps(message, ensure_ascii=False)
        kinds = re.findall(r'"type": "([\w.-]+)"', text[:20_000])
        role = str(message.get("role", message.get("type", ""))) if isinstance(message, dict) else ""
        violations = tuple(self._violations.get(index, ()))
        return Head(f"{self.noun}[{index}]", role, ", ".join(list(dict.fromkeys(kinds))[:5]), len(text), violations)

    def pieces(self, index: int) -> list[Piece]:
        if index == REST:
            return [Piece("", self._sent.outer)] if self._sent.outer else []
        place = f"/{self._sent.key}/{index}"
        return [Piece(place, value, self.origin(place)) for value in self._sent.window(index, 1)]

    def holding(self, words: list[str]) -> Iterator[int]:
        yield REST
        yield from self._sent.holding(words)

    def entry_of(self, pointer: str) -> int | None:
        key, _, inside = pointer.removeprefix("/").partition("/")
        if key != self._sent.key:
            return REST if key in self._sent.outer else None
        index = whole(inside.partition("/")[0])
        return index if index is not None and index < len(self) else None

    def origin(self, pointer: str) -> str:
        while pointer:
            if pointer in self._provenance:
                message, part = self._provenance[pointer]
                return part or message
            pointer = pointer.rpartition("/")[0]
        return ""


@require_GET
@allowed(VIEW)
def payload(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    options = _options(request)
    judged = judged_payload(session, options)
    made, found = judged.made, judged.verdict
    if request.GET.get("download") == "1" and made is not None and not made.error:
        return _download(request, session, made)
    body = SentBody(made, found) if made is not None and not made.error else None
    kept = _kept(request)
    partial = answer(request, body, kept, session_id) if body is not None else None
    if partial is not None:
        return partial
    shell = session_shell(request, session_id, "payload")
    context = shell | {
        "problem": judged.problem,
        "made": made,
        "verdict": found,
        "said": _refused_last(shell["detail"], made),
        "options": options,
        "thinking_choices": THINKING,
        "switches": _switches(request, options, judged),
        "target_value": options.target,
        "checks": _checks(found, body, kept),
        "download": f"?{_query(request)}&download=1",
        "reader": reader(request, body, kept, session_id) if body is not None else None,
    }
    if made is not None:
        context["file_name"] = f"payload-{made.target.protocol}.json"
        context["curl"] = curl_command(made.target, context["file_name"])
        context["powershell"] = powershell_command(made.target, context["file_name"])
        context["target_value"] = f"{made.target.protocol}:{made.target.provider}/{made.target.model}"
    return render(request, "sessions/payload.html", context)


def _options(request: HtmxRequest) -> PayloadOptions:
    target = request.GET.get("target", "").strip()[:300]
    protocol = request.GET.get("protocol", "")
    if not target and protocol in PROTOCOLS:
        target = protocol
    thinking = request.GET.get("thinking", "auto")
    thinking = thinking if thinking in THINKING else "auto"
    history = request.GET.get("history", "")
    return PayloadOptions(
        target,
        cast('Literal["on", "off", "auto"]', thinking),
        as_stored=request.GET.get("fixes") != "on",
        history=history if history in present.HISTORY else "",
        summary=request.GET.get("summary") == "1",
    )


def _kept(request: HtmxRequest) -> dict[str, str]:
    """What the address says of the request that is shown; the rest of it is the reader's."""
    names = ("protocol", "target", "thinking", "fixes", "summary", "history", "list")
    return {name: request.GET[name] for name in names if request.GET.get(name)}


def _query(request: HtmxRequest, **changes: str | None) -> str:
    kept: dict[str, str | None] = {**_kept(request), **changes}
    return urlencode({name: value for name, value in kept.items() if value})


def _refused_last(detail: SessionDetail, made: Payload | None) -> str:
    """What the provider that is looked at said to the last call, "" where that is another or answered it."""
    if made is None or detail.last_call is None or not detail.last_call.counts:
        return ""
    same = all(detail.row.target.get(name) == getattr(made.target, name) for name in ("protocol", "provider", "model"))
    return detail.last_call.words if same else ""


def _checks(found: Verdict | None, body: SentBody | None, kept: Mapping[str, str]) -> list[Check]:
    """What fails or may fail."""
    if found is None:
        return []

    def where(violation: Violation) -> str:
        at = pointer(violation.pointer)
        there = body is not None and body.entry_of(at) is not None
        return f"{address({**kept, 'at': at})}#place" if there else ""

    return [
        *(Check(present.CHECK["fails"], violation, True, where(violation)) for violation in found.violations),
        *(Check(present.CHECK["may-fail"], violation, False, where(violation)) for violation in found.warnings),
    ]


def _switches(request: HtmxRequest, options: PayloadOptions, judged: Judged) -> dict[str, list[present.Segment]]:
    made = judged.made
    current = made.target.protocol if made else options.target
    summarised = options.summary or (made is not None and made.opens_with == "compaction")
    return {
        "requests": [
            present.Segment("Summary, sent first", f"?{_query(request, summary='1')}", options.summary),
            present.Segment("The turn behind it", f"?{_query(request, summary=None)}", not options.summary),
        ]
        if summarised
        else [],
        "protocols": [
            present.Segment(word, f"?{_query(request, protocol=name, target=None)}", name == current)
            for name, word in present.PROTOCOL.items()
        ],
        "fixes": [
            present.Segment("As sent today", f"?{_query(request, fixes=None)}", options.as_stored),
            present.Segment("With Suture’s lowering fixes", f"?{_query(request, fixes='on')}", not options.as_stored),
        ],
        "histories": [
            present.Segment(
                f"{judged.histories[name]} messages of {word}",
                f"?{_query(request, history=name, target=None, protocol=None)}",
                name == judged.dialect,
            )
            for name, word in present.HISTORY.items()
            if judged.histories.get(name)
        ],
    }


def _download(request: HtmxRequest, session: Session, made: Payload) -> HttpResponse:
    text = given_out(request, made.text, session)
    response = HttpResponse(text.encode("utf-8", "surrogatepass"), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="payload-{made.target.protocol}.json"'
    return response
