"""What a part holds, fetched when it is opened: bodies, stored text, images as data."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST

from sessions_app.domain.secrets import masked
from sessions_app.models import Part
from sessions_app.selectors.timeline import part_value
from sessions_app.services.audit import audit_record
from sessions_app.web.addresses import address
from sessions_app.web.http import (
    FACE,
    REPAIR,
    VIEW,
    HtmxRequest,
    actor,
    allowed,
    clock,
    given_out,
    wants_partial,
    whole,
)
from sessions_app.web.partcards import is_image, part_files
from sessions_app.web.text import highlighted, masked_html, plain

STEP_LINES = 400
SHOWN_CHARACTERS = 200_000
"""Characters of a body that one answer shows; the rest is a download."""
IMAGE_BYTES = 8 * 1024 * 1024
SAFE_IMAGES = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Image types that are shown, with how their bytes begin. SVG is markup and is never shown."""


def _part(part_id: int) -> Part:
    found = Part.objects.select_related("message", "session").filter(pk=part_id).first()
    if found is None:
        raise Http404("This part is not stored any more. Load the session again.")
    return found


@require_GET
@allowed(VIEW)
def body(request: HtmxRequest, part_id: int) -> HttpResponseBase:
    """One body of a part, ``show`` = text, input, output, error or raw; ``lines`` says how many are wanted."""
    part = _part(part_id)
    lines = min(whole(request.GET.get("lines")) or STEP_LINES, 1_000_000)
    return _body(request, part, request.GET.get("show", "raw"), lines)


@require_POST
@allowed(REPAIR)
def reveal(request: HtmxRequest, part_id: int) -> HttpResponseBase:
    """The same body with what looks like a key left readable; who looked is kept."""
    part = _part(part_id)
    response = _body(request, part, request.POST.get("show", "raw"), 1_000_000, revealed=True)
    audit_record(
        action="secret.revealed", actor=actor(request), now=clock(), face=FACE, subject=("session", part.session_id),
        session=part.session.stored_id, part=part.stored_id,
    )  # fmt: skip
    response["Cache-Control"] = "no-store"
    return response


def _body(request: HtmxRequest, part: Part, name: str, wanted: int, revealed: bool = False) -> HttpResponseBase:
    text, as_json = _text(part, name)
    lines = text.split("\n")
    shown = "\n".join(lines[:wanted])[:SHOWN_CHARACTERS]
    context = {
        "revealed": revealed,
        "masks": not revealed and masked(shown) != shown,
        "section": "sessions",
        "part": part,
        "name": name,
        "shown": _shown(shown, as_json, revealed),
        "total_lines": len(lines),
        "total_characters": len(text),
        "complete": len(shown) == len(text),
        "more": _more(part, name, wanted, len(lines)),
    }
    partial = bool(request.htmx) and not request.htmx.boosted
    response = render(request, "sessions/body.html#body" if partial else "sessions/body.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _shown(text: str, as_json: bool, revealed: bool) -> SafeString:
    """Escaped; what looks like a key is masked, except for who asked to see it, which is audited."""
    if revealed:
        return escape(plain(text))
    return highlighted(text) if as_json else masked_html(plain(text))


def _more(part: Part, name: str, wanted: int, total: int) -> list[tuple[str, str]]:
    """Where more lines are, and the words for them."""
    if total <= wanted:
        return []
    base = reverse("sessions_app:part-body", args=[part.pk])
    steps = ((wanted + STEP_LINES, f"Show {STEP_LINES} more lines"), (total, "Show all"))
    return [(base + address({"show": name, "lines": lines}), words) for lines, words in steps]


def _text(part: Part, name: str) -> tuple[str, bool]:
    """The text of a body, and whether it is JSON."""
    value, stored, _ = part_value(part)
    state = value.get("state") if value else None
    state = state if isinstance(state, dict) else {}
    held: Any = None
    match name:
        case "text":
            held = (value or {}).get("text")
        case "input" | "error":
            held = state.get(name, (value or {}).get(name))
        case "output":
            held = state.get("output", state.get("content"))
        case "raw":
            return _pretty(stored), True
        case _:
            raise Http404("A part has no such body.")
    if isinstance(held, str):
        return plain(held), False
    if held is None:
        raise Http404("This part holds no such body.")
    return json.dumps(held, ensure_ascii=False, indent=2), True


def _pretty(stored: str) -> str:
    """Stored JSON with line breaks for reading; text that is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(stored), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return stored


@require_GET
@allowed(VIEW)
def raw(request: HtmxRequest, part_id: int) -> HttpResponseBase:
    """The part's page: its stored text; ``download=1`` gives it byte for byte to who may see keys."""
    part = _part(part_id)
    value, stored, problem = part_value(part)
    if request.GET.get("download") == "1":
        text = given_out(request, stored, part.session)
        response = HttpResponse(text.encode("utf-8", "surrogatepass"), content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="part-{part.pk}.json"'
        response["X-Content-Type-Options"] = "nosniff"
        return response
    context = {
        "section": "sessions",
        "part": part,
        "session_name": part.session.title or part.session.stored_id,
        "problem": problem,
        "text": (_pretty(stored) if value is not None else stored)[:SHOWN_CHARACTERS],
        "cut": len(stored) > SHOWN_CHARACTERS,
    }
    return render(request, "sessions/part.html", context)


@require_GET
@allowed(VIEW)
def image(request: HtmxRequest, part_id: int, index: int) -> HttpResponseBase:
    """An image of a part, as data in the page and only after it was asked for."""
    value, _, _ = part_value(_part(part_id))
    files = part_files(value or {})
    if index >= len(files) or not is_image(files[index]):
        raise Http404("This part holds no such image.")
    file = files[index]
    data, problem = _image_data(str(file["mime"]), str(file["url"]))
    name = str(file.get("filename") or "image")
    context = {
        "section": "sessions",
        "part_id": part_id,
        "data": data,
        "problem": problem,
        "file_name": name,
        "mime": file["mime"],
    }
    context["size"] = len(data) * 3 // 4
    partial = bool(request.htmx) and not wants_partial(request, "main")
    return render(request, "sessions/image.html#image" if partial else "sessions/image.html", context)


def _image_data(mime: str, url: str) -> tuple[str, str]:
    """Base64 of an image that may be shown, else why not. Only whole, small images whose bytes are what they say."""
    mime = mime.split(";")[0].strip().lower()
    if mime not in SAFE_IMAGES:
        return "", f"Images of type {mime} are not shown."
    payload = "".join(url.partition(",")[2].split())
    if len(payload) * 3 // 4 > IMAGE_BYTES:
        return "", f"The image is larger than {IMAGE_BYTES // 1024 // 1024} MB and is not shown."
    try:
        content = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return "", "The image's data does not decode."
    if not content.startswith(SAFE_IMAGES[mime]):
        return "", f"The data is not what its type says ({mime})."
    return f"data:{mime};base64,{payload}", ""
