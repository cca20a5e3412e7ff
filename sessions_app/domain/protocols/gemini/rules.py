"""Whether Gemini's generateContent takes a history (docs/contract/wire.md#4b).

G12 is a consequence of G2; G15 (alternation, unique ids, matching names) is no rule. Both are tested, neither is a
check of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sessions_app.domain.protocols.checking import Pointer, Request, objects, run, text_of
from sessions_app.domain.protocols.gemini import schemas
from sessions_app.domain.protocols.gemini.table import TABLE
from sessions_app.domain.protocols.traits import Check, Traits, needs, outlined
from sessions_app.domain.wire.lowered import Provenance
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Tag, Violation

DATA = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
SENTINELS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
INLINE_LIMIT = 20 * 1024 * 1024
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}\Z")


@dataclass(frozen=True, slots=True)
class Content:
    """One member of ``contents``, with the number of calls and responses among its parts."""

    role: str
    index: int
    parts: list[dict[str, Any]]
    calls: int
    responses: int

    @property
    def pointer(self) -> Pointer:
        """Its path in the body."""
        return ("contents", self.index)

    @property
    def position(self) -> str:
        """As the API writes it."""
        return f"contents[{self.index}]"

    def part(self, index: int) -> Pointer:
        """The path of one of its parts."""
        return ("contents", self.index, "parts", index)


@dataclass(frozen=True, slots=True)
class View:
    """What the checks look at."""

    request: Request
    contents: list[Content]

    def neighbour(self, content: Content, step: int) -> Content | None:
        """The content ``step`` places further, None beyond either end."""
        place = content.index + step
        return self.contents[place] if 0 <= place < len(self.contents) else None


@needs("unpaired", "server", "content-result", "apart")
def response_counts(view: View) -> Iterator[Violation]:
    """G1: as many responses in the next content as calls in this one."""
    for content in view.contents:
        if not content.calls:
            continue
        after = view.neighbour(content, 1)
        if after is None or after.responses != content.calls:
            tag: Tag = "T" if after is None else "P"
            first = next(index for index, part in enumerate(content.parts) if "functionCall" in part)
            yield view.request.broken("G1", content.position, content.part(first), tag=tag)


@needs("starts-odd", "calls-in-a-row", "server", "unpaired")
def call_order(view: View) -> Iterator[Violation]:
    """G2 (and G12): a call turn stands right behind a user or function-response turn."""
    for content in view.contents:
        before = view.neighbour(content, -1)
        if content.role == "model" and content.calls and (before is None or before.role == "model"):
            yield view.request.broken("G2", content.position, content.pointer)


@needs("unpaired", "server", "content-result", "apart")
def response_order(view: View) -> Iterator[Violation]:
    """G3: a response turn stands right behind its call turn."""
    for content in view.contents:
        before = view.neighbour(content, -1)
        if content.responses and (before is None or not before.calls):
            first = next(index for index, part in enumerate(content.parts) if "functionResponse" in part)
            yield view.request.broken("G3", content.position, content.part(first))


@needs("signed-calls")
@outlined
def thought_signatures(view: View) -> Iterator[Violation]:
    """G4: in the current turn the first call of each step is signed. G5: what stands there could be a signature (a
    warning)."""
    if not view.request.model.signed_calls:
        return
    start = max(
        (content.index for content in view.contents if content.role == "user" and not content.responses),
        default=-1,
    )
    for content in view.contents[start + 1 :]:
        first = next((index for index, part in enumerate(content.parts) if "functionCall" in part), None)
        if first is None:
            continue
        part = content.parts[first]
        signature = part.get("thoughtSignature")
        if not signature:
            call = part["functionCall"]
            name = text_of(call.get("name")) if isinstance(call, dict) else ""
            number = content.index + 1
            yield view.request.broken("G4", content.position, content.part(first), name=name, number=number)
        elif signature not in SENTINELS and not _BASE64.match(str(signature)):
            yield view.request.broken("G5", content.position, content.part(first), doubtful=True)


@needs("empty-text", "blank-text", "textless", "media", "content-result")
def parts_with_data(view: View) -> Iterator[Violation]:
    """G6: every part holds data; an empty text is none. G7: every content holds parts."""
    for content in view.contents:
        if not content.parts:
            say = "vertex" if "vertex" in view.request.target.provider else ""
            yield view.request.broken("G7", f"{content.position}.parts", content.pointer, say)
        for index, part in enumerate(content.parts):
            # Nearly every part is a single member that says something.
            if len(part) == 1 and not DATA.isdisjoint(part) and next(iter(part.values())) not in (None, ""):
                continue
            if not any(part.get(name) not in (None, "") for name in DATA):
                where = f"{content.position}.parts[{index}].data"
                yield view.request.broken("G6", where, content.part(index))


@needs("ends-odd", "empty-text", "content-result", "media")
def model_tail(view: View) -> Iterator[Violation]:
    """G8 and G9, from Gemini 3.6 on: no model turn at the end, nothing beside function responses."""
    if view.request.model.model_tail or not view.contents:
        return
    last = view.contents[-1]
    if last.role == "model":
        yield view.request.broken("G8", last.position, last.pointer)
    for content in view.contents:
        if not content.responses:
            continue
        for index, part in enumerate(content.parts):
            if "functionResponse" not in part:
                yield view.request.broken("G9", f"{content.position}.parts[{index}]", content.part(index))
                break


@needs()
def roles(view: View) -> Iterator[Violation]:
    """G10: user or model; none at all only in a request of a single turn."""
    for content in view.contents:
        if content.role not in ("user", "model") and (content.role or len(view.contents) > 1):
            yield view.request.broken("G10", f"{content.position}.role", content.pointer)


@needs("odd-name", "server")
def names(view: View) -> Iterator[Violation]:
    """G11: names of calls and responses. 64 characters were the limit, 128 are; between them a warning."""
    for content in view.contents:
        for index, part in enumerate(content.parts):
            member = part.get("functionCall") or part.get("functionResponse")
            if not isinstance(member, dict):
                continue
            name = text_of(member.get("name"))
            if _NAME.match(name) and len(name) <= 64:
                continue
            doubtful = bool(_NAME.match(name)) and len(name) <= 128
            where = f"{content.position}.parts[{index}]"
            yield view.request.broken("G11", where, content.part(index), doubtful=doubtful)


@needs("media", "content-result")
def inline_size(view: View) -> Iterator[Violation]:
    """G13: 20 MB of inline data are documented, more was accepted in a probe: a warning."""
    total = 0
    for content in view.contents:
        for part in content.parts:
            data = part.get("inlineData")
            total += len(text_of(data.get("data"))) if isinstance(data, dict) else 0
    if total > INLINE_LIMIT:
        yield view.request.broken("G13", "contents", ("contents",), doubtful=True, limit=INLINE_LIMIT)


@needs("parameters")
def tool_schemas(view: View) -> Iterator[Violation]:
    """G14, where the body carries tools."""
    for pointer, say, name in schemas.faults(view.request.body):
        yield view.request.broken("G14", ".".join(map(str, pointer)), pointer, say, name=name)


CHECKS = (
    roles,
    parts_with_data,
    names,
    tool_schemas,
    inline_size,
    model_tail,
    response_counts,
    call_order,
    response_order,
    thought_signatures,
)


BODY: Final = frozenset({"media", "content-result", "thought-signature", "server"})
"""Where the writer may refuse, or something is left to the server (``not_checkable``)."""


def checks(target: Target) -> tuple[Check, ...]:
    """What runs for this target."""
    return CHECKS


def check(
    body: dict[str, Any], target: Target, provenance: Provenance, traits: Traits | None = None
) -> list[Violation]:
    """Every rule the body breaks, what the API would say first coming first; warnings have certainty "uncertain"."""
    request = Request(body, target, provenance, TABLE, traits=traits)
    contents = [_content(index, data) for index, data in enumerate(request.list_of("contents"))]
    return run(request, View(request, contents), CHECKS)


def _content(index: int, data: dict[str, Any]) -> Content:
    parts = objects(data.get("parts"))
    calls = responses = 0
    for part in parts:
        calls += "functionCall" in part
        responses += "functionResponse" in part
    return Content(text_of(data.get("role")), index, parts, calls, responses)


def not_checkable(body: dict[str, Any], target: Target) -> tuple[str, ...]:
    """Whether a thought signature is genuine and of this route (G5) only the server knows."""
    for content in objects(body.get("contents")):
        if any("thoughtSignature" in part for part in objects(content.get("parts"))):
            return ("G5",)
    return ()
