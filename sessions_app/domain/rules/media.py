"""Images and documents that a provider or the client itself refuses (docs/contract/rules.md#2.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.lastcalls import LastCall
from sessions_app.domain.model import FilePart, Message, Part, ToolPart
from sessions_app.domain.protocols.media import IMAGES, MIB, DataUrl, data_url, sniff, takes_image
from sessions_app.domain.repair import REMOVE, Edit, JsonPath, Operation
from sessions_app.domain.wire.verdict import Violation

from .context import Context, recorded, stored_error
from .finding import Choice, Finding, lossy, safe
from .operations import edit_message, edit_part, is_v2, replace_part
from .registration import rule

SMALLEST_LIMIT = 5 * MIB
"""Base64 characters that the strictest routes take (Bedrock, Vertex; A27)."""
MAX_EDGE = 8000
MANY_IMAGES = 20
"""With more images in one request their largest side is 2000 pixels (A26)."""
COUNT_LIMIT = 50
"""Images in one request that the strictest known routes take (docs/contract/rules.md#2.3)."""
_COUNTED = re.compile(r"request contains \d+ images, exceeding the maximum of (\d+)")
_TEXT_TYPES = ("text/", "application/x-directory", "application/json")


@dataclass(frozen=True, slots=True)
class Media:
    """One stored file. ``path`` leads to it inside the part's (or V2 user message's) data."""

    path: JsonPath
    mime: str
    url: str
    name: str
    raw_base64: bool = False

    @property
    def data(self) -> DataUrl | None:
        """Its declared type and base64 text, where it is stored and not only named by an address."""
        return DataUrl(self.mime, self.url) if self.raw_base64 else data_url(self.url)


@dataclass(frozen=True, slots=True)
class _Problem:
    """What is wrong with a file. ``relabel`` is the type its bytes have, where only its label is wrong."""

    media: Media
    reason: str
    relabel: str = ""

    @property
    def details(self) -> dict[str, Any]:
        file = self.media
        return {"name": file.name, "mime": file.mime, "size": len(file.url), "reason": self.reason}


def media_of(message: Message, part: Part) -> list[Media]:
    """The files of a part: a user's file, the attachments of a result."""
    if isinstance(part, FilePart):
        return [Media((), part.mime, part.url, part.filename or "file")]
    if isinstance(part, ToolPart) and (part.attached or is_v2(message)):
        name, key = ("content", "uri") if is_v2(message) else ("attachments", "url")
        stored = part.state.get(name)
        return [_media(("state", name, index), entry, key) for index, entry in _files(stored)]
    return []


def _files(stored: Any) -> list[tuple[int, dict[str, Any]]]:
    entries = stored if isinstance(stored, list) else []
    return [
        (index, entry)
        for index, entry in enumerate(entries)
        if isinstance(entry, dict) and entry.get("type", "file") == "file"
    ]


def _media(path: JsonPath, entry: dict[str, Any], key: str) -> Media:
    raw = key not in entry and isinstance(entry.get("data"), str)
    url = entry.get("data") if raw else entry.get(key)
    name = entry.get("filename") or entry.get("name") or "file"
    mime = entry.get("mime")
    return Media(path, mime if isinstance(mime, str) else "", url if isinstance(url, str) else "", str(name), raw)


@rule("media-rejected", severity="blocked", safety="lossy", needs="file attached")
def find(context: Context) -> Iterator[Finding]:
    """Files at fault, a message part at a time; then more images than a request may hold."""
    yield from _stored(context)
    yield from _too_many(context)


def _stored(context: Context) -> Iterator[Finding]:
    for message in context.messages:
        for part in message.parts:
            files = media_of(message, part)
            if files:
                yield from _judge(context, message, part, files)
        if is_v2(message) and message.is_user:
            stored = message.data.get("files")
            entries = enumerate(stored if isinstance(stored, list) else [])
            files = [_media(("files", index), entry, "uri") for index, entry in entries if isinstance(entry, dict)]
            if files:
                yield from _judge(context, message, None, files)


def _judge(context: Context, message: Message, part: Part | None, files: list[Media]) -> Iterator[Finding]:
    refusal = context.refusal(messages=[message], parts=[part] if part else [])
    words = context.client_stops
    speaks = context.target.protocol if context.target else ""
    problems = [problem for file in files if (problem := _problem(file, part, words, speaks)) is not None]
    problems += _documents(context, part, files, problems)
    words = words if _client_stops(context, message, part, words) else ""
    call = None if refusal or words else _refused_last(context, message, part)
    if not problems and (refusal or words or call):
        said = refusal.error if refusal else words or (call.words if call else "")
        problems = [_Problem(file, said) for file in files]
    if not problems:
        return
    choices = [_remove(message, part, problems)]
    if all(problem.relabel for problem in problems):
        choices.insert(0, _relabel(message, part, problems))
    older = refusal is not None and "many-image" in refusal.error and not _among_oldest(context, refusal)
    names = ", ".join(f"{problem.media.name} ({problem.media.mime})" for problem in problems)
    stopped = {"error": words, "certainty": "measured"} if words and not refusal else recorded(call) if call else {}
    yield context.finding(
        f"{names} in {message.id}: {problems[0].reason}",
        *([] if older else choices),
        messages=[message],
        parts=[part] if part else [],
        severity="blocked" if words else call.severity if call else "at-risk",
        refusal=refusal,
        details={"files": [problem.details for problem in problems], **stopped},
        also="It may stay once the older images are gone." if older else "",
    )


def _refused_last(context: Context, message: Message, part: Part | None) -> LastCall | None:
    """The stored refusal that means this file: it points here, or points nowhere and this is the one file that is
    sent."""
    for call in context.refused_last():
        places = {(place.message, place.part) for place in call.places}
        if places & {(message.id, part.id if part else ""), (message.id, "")}:
            return call
        if not places and part and [one.id for _, one in _sent_files(context)] == [part.id]:
            return call
    return None


def _sent_files(context: Context) -> list[tuple[Message, Part]]:
    return [(message, part) for message, part in _sent_media(context) if media_of(message, part)]


def _documents(context: Context, part: Part | None, files: list[Media], problems: list[_Problem]) -> list[_Problem]:
    """Documents inside a function's output, which the Responses API refuses (docs/contract/rules.md#2.3)."""
    target = context.target
    if target is None or target.protocol != "openai-responses" or not isinstance(part, ToolPart):
        return []
    found = {problem.media.path for problem in problems}
    return [
        _Problem(file, "OpenAI Responses takes no PDF in the output of a call")
        for file in files
        if file.mime == "application/pdf" and file.path not in found and part.id in context.sent_parts
    ]


def _among_oldest(context: Context, violation: Violation) -> bool:
    """Of the images that are too large for a request of more than 20, the oldest go until 20 are left (A26)."""
    images = sum(len(_images(message, part)) for message, part in _sent_media(context))
    excess = images - MANY_IMAGES
    large = list(dict.fromkeys(one.part for one in context.violations if "many-image" in one.error))
    return violation.part in large[:excess]


def _sent_media(context: Context) -> Iterator[tuple[Message, Part]]:
    for message in context.messages:
        for part in message.parts:
            if part.id in context.sent_parts:
                yield message, part


def _images(message: Message, part: Part) -> list[Media]:
    return [file for file in media_of(message, part) if file.mime.startswith("image/")]


def _too_many(context: Context) -> Iterator[Finding]:
    """More images than a provider takes in one request; some take 50 (docs/contract/rules.md#2.3). Certain only where
    the session recorded it."""
    words, limit = "", COUNT_LIMIT
    for message in context.messages:
        found = _COUNTED.search(stored_error(message))
        if found:
            words, limit = found.group(), int(found.group(1))
    held = [(message, part, images) for message, part in _sent_media(context) if (images := _images(message, part))]
    count = sum(len(images) for _, _, images in held)
    if count <= limit:
        return
    gone: list[tuple[Message, Part, list[Media]]] = []
    for one in held:
        if sum(len(images) for *_, images in gone) < count - limit:
            gone.append(one)
    notes = [_noted(message, part, _too_much(images, limit)) for message, part, images in gone]
    yield context.finding(
        f"The history holds {count} images; some providers take {limit} in one request",
        lossy("oldest", "Replace the oldest images by text notes", *notes),
        messages=dict.fromkeys(message.id for message, *_ in gone),
        parts=[part for _, part, _ in gone],
        severity="blocked" if words else "info",
        details={"count": count, "limit": limit, **({"error": words, "certainty": "reported"} if words else {})},
        mark="count",
    )


def _too_much(images: list[Media], limit: int) -> list[_Problem]:
    return [_Problem(file, f"a request may hold {limit} images") for file in images]


def _client_stops(context: Context, message: Message, part: Part | None, words: str) -> bool:
    """The client itself cannot send a file of this part (docs/contract/wire.md#6.3, #f6)."""
    if not words or not any(
        word in words
        for word in ("media", "mime type", "audio format", "functionality not supported", "URL scheme", "data URL")
    ):
        return False
    details = context.verdict.details if context.verdict else {}
    return details.get("part") == part.id if part and details.get("part") else details.get("message") == message.id


def _problem(file: Media, part: Part | None, words: str, speaks: str) -> _Problem | None:
    """``words``: why the client cannot send the session; ``speaks``: the protocol of its target."""
    data = file.data
    if words and isinstance(part, (FilePart, ToolPart)) and _stops(file, data, words):
        return _Problem(file, words)
    if data is None or file.mime.startswith(_TEXT_TYPES):
        return None
    if not (file.mime.startswith("image/") or data.mime.startswith("image/") or file.mime == "application/pdf"):
        return None
    real = sniff(_packed(data))
    if not real.valid:
        return _Problem(file, "its base64 data cannot be decoded" if data.data else "it is empty")
    if real.encoded > SMALLEST_LIMIT and real.mime in IMAGES:
        reason = (
            f"its base64 data has {real.encoded} bytes; the limit is 5 MB on Bedrock and Vertex, 10 MB at Anthropic"
        )
        return _Problem(file, reason) if real.encoded > 2 * SMALLEST_LIMIT else None
    if max(real.width, real.height) > MAX_EDGE:
        return _Problem(file, f"it is {real.width} x {real.height} pixels; the limit is {MAX_EDGE} on a side")
    return _misshapen(file, data, real.mime) or _mislabelled(file, data, real.mime, isinstance(part, FilePart), speaks)


def _misshapen(file: Media, data: DataUrl, real: str) -> _Problem | None:
    """A file whose data URL is written in a way that providers do not read."""
    if real and not file.raw_base64 and file.url.partition(",")[0].lower() != f"data:{data.mime};base64":
        return _Problem(file, "its data URL has more than a type and base64", real)
    if real and _packed(data) != data.data:
        return _Problem(file, "its base64 text is broken into lines", real)
    return None


def _mislabelled(file: Media, data: DataUrl, real: str, by_url: bool, speaks: str) -> _Problem | None:
    """A file whose bytes are not of its declared type (of the data URL for a user's file: that one is sent)."""
    declared = data.mime if by_url else file.mime
    if not real and declared in IMAGES:
        return _Problem(file, f"it is labelled {declared}, and its bytes are those of no image")
    if declared.startswith("image/") and declared != "image/*" and not takes_image(speaks, declared):
        takers = "only Gemini takes" if takes_image("gemini", declared) else "no provider takes"
        return _Problem(file, f"{declared} is a type {takers}", real if real in IMAGES else "")
    if real and declared not in (real, "image/*"):
        allowed = real in IMAGES or real == "application/pdf"
        return _Problem(file, f"it is labelled {declared} but is {real}", real if allowed else "")
    return None


def _packed(data: DataUrl) -> str:
    """The base64 text without the white space that broke it into lines."""
    return "".join(data.data.split())


def _stops(file: Media, data: DataUrl | None, words: str) -> bool:
    """The client's own words name this file's type or the scheme of its address (docs/contract/wire.md#f6)."""
    if "mime type: " in words:
        return f"mime type: {file.mime}," in words
    if "functionality not supported" in words:
        return bool(file.mime) and file.mime in words
    return "URL scheme" in words and data is None and file.url.partition(":")[0] + ":" in words


def _remove(message: Message, part: Part | None, problems: list[_Problem]) -> Choice:
    label = "Replace by a text note that names file, type, size and reason"
    return lossy("note", label, _noted(message, part, problems))


def note(file: Media, reason: str) -> str:
    """The text that stands where a file stood."""
    return f"[Removed by Suture: {file.name}, {file.mime}, {len(file.url)} characters of data: {reason}]"


def _noted(message: Message, part: Part | None, problems: list[_Problem]) -> Operation:
    why = "the provider refuses this file"
    noted = {problem.media.path: note(problem.media, problem.reason) for problem in problems}
    notes = "\n".join(note(problem.media, problem.reason) for problem in problems)
    if isinstance(part, FilePart):
        return replace_part(part, {"type": "text", "text": notes, "synthetic": True}, why)
    if part is not None and is_v2(message):
        return edit_part(part, [Edit(path, {"type": "text", "text": text}) for path, text in noted.items()], why)
    # From behind, so that every index still means what it meant.
    gone = [Edit(path, REMOVE) for path in sorted(noted, key=_index, reverse=True)]
    if part is None:
        return edit_message(message, (*gone, Edit(("text",), _below(message.data.get("text"), notes))), why)
    output = part.data.get("state", {}).get("output")
    return edit_part(part, (*gone, Edit(("state", "output"), _below(output, notes))), why)


def _below(text: Any, notes: str) -> str:
    return f"{text}\n\n{notes}" if isinstance(text, str) and text else notes


def _index(path: JsonPath) -> int:
    return path[-1] if path and isinstance(path[-1], int) else 0


def _relabel(message: Message, part: Part | None, problems: list[_Problem]) -> Choice:
    edits: list[Edit] = []
    for problem in problems:
        file = problem.media
        edits.append(Edit((*file.path, "mime"), problem.relabel))
        data = file.data
        if data is None:
            continue
        text = _packed(data)
        if file.raw_base64:
            edits += [Edit((*file.path, "data"), text)] if text != data.data else []
        elif file.url != (url := f"data:{problem.relabel};base64,{text}"):
            edits.append(Edit((*file.path, "uri" if is_v2(message) else "url"), url))
    why = "only the label is wrong"
    operation = edit_part(part, edits, why) if part else edit_message(message, edits, why)
    return safe("relabel", f"Write the type its bytes have ({problems[0].relabel})", operation)
