"""What a user message's files become (docs/contract/formats.md#b3): by generation, since each has its own rules."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from sessions_app.domain import jsjson

from .fileurl import local_path

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
DIRECTORY = "application/x-directory"


def first(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Generation 1: every file is media, its URI as it is."""
    return [_with_names({"type": "media", "mediaType": file["mime"], "data": file["uri"]}, file) for file in files]


def second(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Generation 2: plain text and directories become text, four kinds of image media, and the rest goes."""
    parts: list[dict[str, Any]] = []
    for file in files:
        mime = file["mime"]
        if mime == "text/plain":
            parts.append(_text(_named(file, "file", "inline attachment"), file, always=True))
        elif mime == DIRECTORY:
            parts.append(_text(_named(file, "directory", "directory"), file, always=False))
        elif mime in IMAGES:
            parts.append(_with_names({"type": "media", "mediaType": mime, "data": file["data"]}, file))
    return parts


def third(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Generation 3: as 2, with PDFs as media, local paths named, own separators, and repeated mentions of an image
    collapsed."""
    parts: list[dict[str, Any]] = []
    collapse = sum(map(_mentioned_image, files)) > 1
    seen: set[tuple[str, str]] = set()
    for file in files:
        if collapse and _mentioned_image(file):
            same = (_sameness(file), file["data"])
            if same in seen:
                continue
            seen.add(same)
        parts += _third(file)
    return parts


def _third(file: dict[str, Any]) -> list[dict[str, Any]]:
    mime = file["mime"]
    path = _path(file)
    if mime == "text/plain":
        part = _text(_named(file, "file", "inline attachment"), file, always=True)
    elif mime == DIRECTORY:
        heading = _named(file, "directory", "directory") if path is None else f"Attached directory: {path}"
        part = _text(heading, file, always=False)
    elif mime in IMAGES or mime == "application/pdf":
        source = {"type": "base64", "data": file["data"], "mediaType": mime}
        media = _with_names({"type": "media", "media": {"source": source}}, file)
        return [media] if path is None else [{"type": "text", "text": f"Attached file: {path}"}, media]
    else:
        return []
    part["text"] = "\n\n" + part["text"]
    return [part]


def _path(file: dict[str, Any]) -> str | None:
    source = file["source"]
    return local_path(source["uri"]) if source["type"] == "uri" else None


def _named(file: dict[str, Any], what: str, otherwise: str) -> str:
    name = file.get("name")
    if name is None:
        source = file["source"]
        name = source["uri"] if source["type"] == "uri" else otherwise
    return f"Attached {what}: {name}"


def _text(heading: str, file: dict[str, Any], *, always: bool) -> dict[str, Any]:
    """A text attachment; ``always`` keeps the blank line before a content that is empty."""
    lines = [heading]
    if "description" in file:
        lines.append(f"Description: {file['description']}")
    if always or file["data"]:
        # One U+FFFD per maximal bad subpart and a kept byte order mark, as the client's runtime decodes
        # (docs/contract/formats.md#b6).
        lines += ("", b64decode(file["data"]).decode("utf-8", "replace"))
    source = file["source"]
    origin = {"type": "uri", "uri": source["uri"]} if source["type"] == "uri" else {"type": "inline"}
    attachment: dict[str, Any] = {
        "source": origin,
        **{key: file[key] for key in ("name", "description") if key in file},
    }
    return {"type": "text", "text": "\n".join(lines), "metadata": {"attachment": attachment}}


def _with_names(part: dict[str, Any], file: dict[str, Any]) -> dict[str, Any]:
    if "name" in file:
        part["filename"] = file["name"]
    if "description" in file:
        part["metadata"] = {"description": file["description"]}
    return part


def _mentioned_image(file: dict[str, Any]) -> bool:
    mention = file.get("mention")
    return (
        file["mime"] in IMAGES and file["source"]["type"] == "inline" and mention is not None and mention["text"] != ""
    )


def _sameness(file: dict[str, Any]) -> str:
    return jsjson.dumps([file["mime"], file.get("name"), file.get("description"), file["mention"]["text"]])
