"""The payload tab: what a provider would be sent, what it would answer, and which stored part each message comes
from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.verdict import Verdict, Violation
from sessions_app.models import Session
from sessions_app.selectors.payloads import Judged, Payload, PayloadOptions, judged_payload, sent_messages
from sessions_app.selectors.sessions import SessionDetail
from sessions_app.web import present
from sessions_app.web.curl import curl_command, powershell_command
from sessions_app.web.http import VIEW, HtmxRequest, allowed, given_out, load_session, page_number, whole
from sessions_app.web.pager import step_pager
from sessions_app.web.shell import session_shell

PER_PAGE = 50
OPEN_CHARACTERS = 8_000
"""Messages with a violation are open up to this size; others are fetched when opened."""
THINKING = ("auto", "on", "off")


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of the payload: its index, role, what is in it, where it comes from."""

    index: int
    role: str
    kinds: str
    size: int
    origin: str
    violations: tuple[Violation, ...]
    text: str
    """JSON where it is shown at once, "" = fetched when opened."""
    url: str = ""
    """Where the JSON is fetched."""


@require_GET
@allowed(VIEW)
def payload(request: HtmxRequest, session_id: int) -> HttpResponseBase:
    session = load_session(session_id)
    options = _options(request)
    judged = judged_payload(session, options)
    made, found = judged.made, judged.verdict
    if request.GET.get("download") == "1" and made is not None and not made.error:
        return _download(request, session, made)
    wanted = whole(request.GET.get("message"))
    if wanted is not None and made is not None and not made.error and request.htmx:
        return _one_message(request, made, wanted, session_id)
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
        "checks": _checks(found),
        "download": f"?{_query(request, page=None, message=None)}&download=1",
        **(_messages(request, made, found) if made is not None and not made.error else {}),
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


def _query(request: HtmxRequest, **changes: str | None) -> str:
    names = ("protocol", "target", "thinking", "fixes", "summary", "history", "list")
    kept = {name: request.GET[name] for name in names if request.GET.get(name)}
    kept |= {name: value for name, value in changes.items() if value}
    return urlencode({name: value for name, value in kept.items() if changes.get(name, value) is not None})


def _refused_last(detail: SessionDetail, made: Payload | None) -> str:
    """What the provider that is looked at said to the last call, "" where that is another or answered it."""
    if made is None or detail.last_call is None or not detail.last_call.counts:
        return ""
    same = all(detail.row.target.get(name) == getattr(made.target, name) for name in ("protocol", "provider", "model"))
    return detail.last_call.words if same else ""


def _checks(found: Verdict | None) -> list[tuple[present.Look, Violation, bool]]:
    """What fails or may fail, with its look, and whether its words are the provider's own."""
    if found is None:
        return []
    return [
        *((present.CHECK["fails"], violation, True) for violation in found.violations),
        *((present.CHECK["may-fail"], violation, False) for violation in found.warnings),
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
                f"?{_query(request, history=name, page=None, target=None, protocol=None)}",
                name == judged.dialect,
            )
            for name, word in present.HISTORY.items()
            if judged.histories.get(name)
        ],
    }


def _messages(request: HtmxRequest, made: Payload, found: Verdict | None) -> dict[str, Any]:
    sent = sent_messages(made.text)
    violations = (*found.violations, *found.warnings) if found else ()
    by_index: dict[int, list[Violation]] = {}
    for violation in violations:
        index = _index(violation.pointer)
        by_index.setdefault(index if index is not None else -1, []).append(violation)
    pages = max(1, -(-len(sent) // PER_PAGE))
    number = page_number(request.GET)
    first_bad = min((index for index in by_index if index >= 0), default=None)
    if "page" not in request.GET and first_bad is not None:
        number = min(first_bad // PER_PAGE + 1, pages)
    start = (number - 1) * PER_PAGE
    fetched = _query(request, page=None, message=None)
    rows = [
        replace(
            _sent(index, message, made, sent.key, tuple(by_index.get(index, ()))), url=f"?{fetched}&message={index}"
        )
        for index, message in enumerate(sent.window(start, PER_PAGE), start)
    ]
    return {
        "sent": rows,
        "sent_total": len(sent),
        "sent_key": sent.key,
        "pager": step_pager(number, pages, _query(request, page=None), label="Pages of messages"),
        "outer": json.dumps(sent.outer, indent=2, ensure_ascii=False)[:4000] if sent.outer else "",
    }


def _index(pointer: tuple[str | int, ...]) -> int | None:
    return next((step for step in pointer if isinstance(step, int)), None)


def _sent(index: int, message: Any, made: Payload, key: str, violations: tuple[Violation, ...]) -> SentMessage:
    text = json.dumps(message, indent=2, ensure_ascii=False)
    origin, _ = made.provenance.get(f"/{key}/{index}", ("", ""))
    kinds = re.findall(r'"type": "([\w.-]+)"', text[:20_000])
    role = str(message.get("role", message.get("type", ""))) if isinstance(message, dict) else ""
    return SentMessage(
        index=index,
        role=role,
        kinds=", ".join(list(dict.fromkeys(kinds))[:5]),
        size=len(text),
        origin=origin,
        violations=violations,
        text=text if violations and len(text) <= OPEN_CHARACTERS else "",
    )


def _one_message(request: HtmxRequest, made: Payload, index: int, session_id: int) -> HttpResponse:
    sent = sent_messages(made.text)
    if index >= len(sent):
        return HttpResponse("This message is not in the payload any more.", status=404, content_type="text/plain")
    [value] = sent.window(index, 1)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    message = replace(_sent(index, value, made, sent.key, ()), text=text)
    response = render(
        request, "sessions/payload.html#message-json", {"message": message, "session": {"id": session_id}}
    )
    patch_vary_headers(response, ["HX-Request"])
    return response


def _download(request: HtmxRequest, session: Session, made: Payload) -> HttpResponse:
    text = given_out(request, made.text, session)
    response = HttpResponse(text.encode("utf-8", "surrogatepass"), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="payload-{made.target.protocol}.json"'
    return response
