"""A file handed back as an HTTP response, for pages and API alike."""

from __future__ import annotations

from django.http import FileResponse, HttpResponse, HttpResponseBase

from sessions_app.services.handback.handing import Handed


def attachment(made: Handed) -> HttpResponseBase:
    """The file as an attachment; headers say what is in it. To be called while the hand-back is open; a file may be
    gone from its folder afterwards, the open handle keeps its content."""
    response: HttpResponseBase
    if made.path is None:
        response = HttpResponse(made.data, content_type=made.content_type)
        response["Content-Disposition"] = f'attachment; filename="{made.name}"'
    else:
        response = FileResponse(
            made.path.open("rb"), as_attachment=True, filename=made.name, content_type=made.content_type
        )
    response["X-Content-Type-Options"] = "nosniff"
    response["X-Suture-Note"] = _plain(" ".join(made.notes))
    response["Suture-Health"] = made.outlook.health
    response["Suture-Repairs"] = ", ".join(made.outlook.rules)
    response["Suture-Left"] = _plain("; ".join(made.outlook.left))
    return response


def _plain(words: str) -> str:
    """What a header takes: one line of ASCII."""
    return " ".join(words.split()).encode("ascii", "replace").decode()[:4000]
