"""Whether Gemini's generateContent takes a history (wire-rules 4b).

G12 is a consequence of G2; G15 (alternation, unique ids, matching names) is no rule. Both are tested, neither is a
check of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sessions_app.domain.protocols.checking import (
    PAIRING,
    SCHEMA,
    SEMANTIC,
    SIGNATURE,
    Pointer,
    Request,
    RuleFacts,
    Tag,
    objects,
    run,
    text_of,
)
from sessions_app.domain.protocols.gemini import schemas
from sessions_app.domain.wire.lowered import Provenance
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wire.verdict import Violation

_ORPHAN = ("orphan-tool-use", "orphan-tool-result", "compaction-cuts-tool-pair")
_ORDER = ("orphan-tool-result", "role-order", "compaction-cuts-tool-pair")

FACTS: dict[str, RuleFacts] = {
    "G1": RuleFacts("P", "documented", PAIRING, _ORPHAN),
    "G2": RuleFacts("P", "documented", PAIRING, _ORDER),
    "G3": RuleFacts("P", "reported", PAIRING, _ORDER),
    "G4": RuleFacts("P", "documented", SIGNATURE, ("thought-signature-missing",)),
    "G5": RuleFacts("P", "reported", SIGNATURE, ("thought-signature-missing",)),
    "G6": RuleFacts("P", "documented", SCHEMA, ("empty-content",)),
    "G7": RuleFacts("P", "documented", SCHEMA, ("empty-content", "empty-message")),
    "G8": RuleFacts("T", "documented", SEMANTIC, ("assistant-tail",)),
    "G9": RuleFacts("P", "reported", SEMANTIC, ("history-shape-foreign", "media-rejected")),
    "G10": RuleFacts("P", "documented", SCHEMA, ("history-shape-foreign",)),
    "G11": RuleFacts("P", "documented", SCHEMA, ("tool-name-invalid",)),
    "G13": RuleFacts("R", "uncertain", SCHEMA, ("media-rejected", "huge-output")),
    "G14": RuleFacts("R", "documented", SCHEMA),
}

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
_TAIL = "Requests ending with a model turn are not supported."


@dataclass(frozen=True, slots=True)
class Content:
    role: str
    index: int
    parts: list[dict[str, Any]]
    calls: int
    responses: int

    @property
    def pointer(self) -> Pointer:
        return ("contents", self.index)

    @property
    def position(self) -> str:
        return f"contents[{self.index}]"

    def part(self, index: int) -> Pointer:
        return ("contents", self.index, "parts", index)


@dataclass(frozen=True, slots=True)
class View:
    request: Request
    contents: list[Content]

    def neighbour(self, content: Content, step: int) -> Content | None:
        place = content.index + step
        return self.contents[place] if 0 <= place < len(self.contents) else None


def response_counts(view: View) -> Iterator[Violation]:
    """G1: as many responses in the next content as calls in this one."""
    for content in view.contents:
        if not content.calls:
            continue
        after = view.neighbour(content, 1)
        if after is None or after.responses != content.calls:
            error = (
                "Please ensure that the number of function response parts is equal to the number of function call parts"
                " of the function call turn."
            )
            tag: Tag = "T" if after is None else "P"
            first = next(index for index, part in enumerate(content.parts) if "functionCall" in part)
            yield view.request.broken("G1", error, content.position, content.part(first), tag=tag)


def call_order(view: View) -> Iterator[Violation]:
    """G2 (and G12): a call turn stands right behind a user or function-response turn."""
    for content in view.contents:
        before = view.neighbour(content, -1)
        if content.role == "model" and content.calls and (before is None or before.role == "model"):
            error = (
                "Please ensure that function call turn comes immediately after a user turn or after a function response"
                " turn."
            )
            yield view.request.broken("G2", error, content.position, content.pointer)


def response_order(view: View) -> Iterator[Violation]:
    """G3: a response turn stands right behind its call turn."""
    for content in view.contents:
        before = view.neighbour(content, -1)
        if content.responses and (before is None or not before.calls):
            error = "Please ensure that function response turn comes immediately after a function call turn."
            first = next(index for index, part in enumerate(content.parts) if "functionResponse" in part)
            yield view.request.broken("G3", error, content.position, content.part(first))


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
            error = (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
                " work correctly, and missing thought_signature may lead to degraded model performance. Additional"
                f" data, function call `default_api:{name}` , position {content.index + 1}. Please refer to"
                " https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
            yield view.request.broken("G4", error, content.position, content.part(first))
        elif signature not in SENTINELS and not _BASE64.match(str(signature)):
            error = "Thought signature is not valid"
            yield view.request.broken("G5", error, content.position, content.part(first), doubtful=True)


def parts_with_data(view: View) -> Iterator[Violation]:
    """G6: every part holds data; an empty text is none. G7: every content holds parts."""
    for content in view.contents:
        if not content.parts:
            vertex = "vertex" in view.request.target.provider
            error = (
                "Unable to submit request because it must include at least one parts field, which describes the prompt"
                " input."
                if vertex
                else f"* GenerateContentRequest.{content.position}.parts: contents.parts must not be empty."
            )
            yield view.request.broken("G7", error, f"{content.position}.parts", content.pointer)
        for index, part in enumerate(content.parts):
            # Nearly every part is a single member that says something.
            if len(part) == 1 and not DATA.isdisjoint(part) and next(iter(part.values())) not in (None, ""):
                continue
            if not any(part.get(name) not in (None, "") for name in DATA):
                where = f"{content.position}.parts[{index}]"
                error = (
                    f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have one initialized"
                    " field"
                )
                yield view.request.broken("G6", error, f"{where}.data", content.part(index))


def model_tail(view: View) -> Iterator[Violation]:
    """G8 and G9, from Gemini 3.6 on: no model turn at the end, nothing beside function responses."""
    if view.request.model.model_tail or not view.contents:
        return
    last = view.contents[-1]
    if last.role == "model":
        yield view.request.broken("G8", _TAIL, last.position, last.pointer)
    for content in view.contents:
        if not content.responses:
            continue
        for index, part in enumerate(content.parts):
            if "functionResponse" not in part:
                yield view.request.broken("G9", _TAIL, f"{content.position}.parts[{index}]", content.part(index))
                break


def roles(view: View) -> Iterator[Violation]:
    """G10: user or model; none at all only in a request of a single turn."""
    for content in view.contents:
        if content.role not in ("user", "model") and (content.role or len(view.contents) > 1):
            error = "Please use a valid role: user, model."
            yield view.request.broken("G10", error, f"{content.position}.role", content.pointer)


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
            error = (
                "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z,"
                " 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
            )
            doubtful = bool(_NAME.match(name)) and len(name) <= 128
            where = f"{content.position}.parts[{index}]"
            yield view.request.broken("G11", error, where, content.part(index), doubtful=doubtful)


def inline_size(view: View) -> Iterator[Violation]:
    """G13: 20 MB of inline data are documented, more was accepted in a probe: a warning."""
    total = 0
    for content in view.contents:
        for part in content.parts:
            data = part.get("inlineData")
            total += len(text_of(data.get("data"))) if isinstance(data, dict) else 0
    if total > INLINE_LIMIT:
        error = f"Request payload size exceeds the limit: {INLINE_LIMIT} bytes."
        yield view.request.broken("G13", error, "contents", ("contents",), doubtful=True)


def tool_schemas(view: View) -> Iterator[Violation]:
    """G14, where the body carries tools."""
    for pointer, error in schemas.faults(view.request.body):
        yield view.request.broken("G14", error, ".".join(map(str, pointer)), pointer)


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


def check(body: dict[str, Any], target: Target, provenance: Provenance) -> list[Violation]:
    """Every rule the body breaks, what the API would say first coming first; warnings have certainty "uncertain"."""
    request = Request(body, target, provenance, FACTS)
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
