"""What a session's client would send, as bytes: one payload, or a line each for thousands of sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec
from django.db.models import QuerySet

from sessions_app.domain import bodies, dialects, jsjson, lowering
from sessions_app.domain import model as domain
from sessions_app.domain.judging import summary_verdict, verdict
from sessions_app.domain.lowering.summary_request import summary_request
from sessions_app.domain.secrets import masked_deeply
from sessions_app.domain.wire.lowered import LoweringError
from sessions_app.domain.wire.target import Target, infer_target, parse_target
from sessions_app.domain.wire.verdict import Verdict
from sessions_app.kept import Kept
from sessions_app.models import Session

from .keeping import SessionKey, kept_of
from .rows import session_rows

type Thinking = Literal["on", "off", "auto"]

KEPT_CHARACTERS = 64_000_000
"""Of all payloads that a process keeps."""
LISTS = ("messages", "input", "contents")
"""What a request body calls the list of its messages, by protocol."""


class NoTarget(Exception):
    """No target was named, and the session names no model that could be one; or what was named is none."""


@dataclass(frozen=True, slots=True)
class Payload:
    """``text`` is the JSON of the body (or of the canonical messages), byte for byte as the client would send it.

    ``provenance`` maps JSON pointers of messages and their items to (message id, part id). Where no request can be
    made, ``error`` says why.
    """

    target: Target
    text: str = ""
    verified: bool = True
    provenance: dict[str, tuple[str, str]] = field(default_factory=dict)
    error: dict[str, str] | None = None
    opens_with: str = ""
    """The task ("compaction", "subtask") that the client runs before the turn's request; "" = none."""


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages of a request body, each decoded when it is asked for. ``key``: what the body calls their list ("" =
    it has none); ``outer``: its other members."""

    key: str
    outer: Mapping[str, Any]
    _held: list[Any]

    def __len__(self) -> int:
        return len(self._held)

    def window(self, start: int, count: int) -> list[Any]:
        """Values of some of them."""
        return [_loaded(held) for held in self._held[start : start + count]]

    def holding(self, words: list[str]) -> Iterator[int]:
        """Those in whose JSON all of these may stand (ASCII, lower case)."""
        wanted = [word.encode() for word in words]
        for index, held in enumerate(self._held):
            text = bytes(held).lower() if isinstance(held, msgspec.Raw) else None
            if text is None or all(word in text for word in wanted):
                yield index


def sent_messages(text: str) -> SentMessages:
    """The messages of the body that ``text`` is the JSON of."""
    try:
        body: dict[str, Any] = msgspec.json.decode(text.encode(), type=dict[str, msgspec.Raw])
        key = next((name for name in LISTS if name in body and bytes(memoryview(body[name])[:1]) == b"["), "")
        sent = msgspec.json.decode(body[key], type=list[msgspec.Raw]) if key else []
    except msgspec.DecodeError:  # half of a surrogate pair, which the client sends as it is
        body = json.loads(text)
        key = next((name for name in LISTS if isinstance(body.get(name), list)), "")
        sent = body.get(key, [])
    return SentMessages(key, {name: _loaded(held) for name, held in body.items() if name != key}, sent)


def _loaded(held: Any) -> Any:
    return json.loads(bytes(held)) if isinstance(held, msgspec.Raw) else held


@dataclass(frozen=True, slots=True)
class PayloadOptions:
    """``target`` is PROTOCOL[:PROVIDER/MODEL], "" = the session's own; ``as_stored`` leaves the two fixes of the
    lowering off."""

    target: str = ""
    thinking: Thinking = "auto"
    as_stored: bool = False
    canonical: bool = False
    summary: bool = False
    """The summary request, which comes first where a compaction is pending, in place of the turn's."""
    redact: bool = False
    """Mask what looks like a key; the payload is then no longer what the client would send."""
    history: str = ""
    """Of a session with two histories: the dialect of the one that is lowered; "" = the one its client uses."""


def chosen_target(session: domain.Session, target: str, thinking: Thinking) -> Target:
    """The target that was named, else the session's own. Raises ``NoTarget`` in words."""
    try:
        found = parse_target(target, thinking, session) if target else infer_target(session, thinking)
    except ValueError as problem:
        raise NoTarget(str(problem)) from problem
    if found is None:
        raise NoTarget("This session names no model; name a target as PROTOCOL:PROVIDER/MODEL.")
    return found


def payload(session: Session, options: PayloadOptions) -> Payload:
    """The payload of an imported session. Raises ``NoTarget``."""
    return lowered_payload(dialects.decode(session_rows(session)), options)


@dataclass(frozen=True, slots=True)
class Judged:
    """A payload and what its provider would answer; both None where ``problem`` says why there is none.

    ``dialect`` is that of the history, ``histories`` counts the messages of each that the session has.
    """

    dialect: str
    histories: Mapping[str, int]
    made: Payload | None = None
    verdict: Verdict | None = None
    problem: str = ""


def _cost(judged: Judged) -> int:
    return 1_000 + (0 if judged.made is None else len(judged.made.text) + 300 * len(judged.made.provenance))


_KEPT: Kept[SessionKey, Judged] = Kept(KEPT_CHARACTERS, _cost)


def judged_payload(session: Session, options: PayloadOptions) -> Judged:
    """The payload of an imported session with its verdict, kept for the next look."""
    asked = (options, session.source.input)
    return kept_of(_KEPT, session, asked, lambda: _judged(dialects.decode(session_rows(session)), options))


def _judged(decoded: domain.Session, options: PayloadOptions) -> Judged:
    decoded = dialects.reading(decoded, options.history)
    histories = {name: len(messages) for name, messages in decoded.histories.items()}
    try:
        made = lowered_payload(decoded, options)
    except NoTarget as refusal:
        return Judged(decoded.dialect, histories, problem=str(refusal))
    if options.summary:
        found = summary_verdict(decoded, made.target)
    else:
        found = verdict(decoded, made.target, repairs=not options.as_stored)
    return Judged(decoded.dialect, histories, made, found)


def lowered_payload(decoded: domain.Session, options: PayloadOptions) -> Payload:
    decoded = dialects.reading(decoded, options.history)
    target = chosen_target(decoded, options.target, options.thinking)
    opens_with = lowering.lowerer(decoded).opens_with(decoded) or ""
    try:
        if options.summary:
            lowered = summary_request(decoded)
        else:
            lowered = lowering.lower(decoded, target, repairs=not options.as_stored)
        if options.canonical:
            return Payload(target, _text(lowered.messages, options), opens_with=opens_with)
        body = bodies.written(lowered, decoded, target)
    except LoweringError as refusal:
        return Payload(target, error={"kind": refusal.kind, "message": refusal.words}, opens_with=opens_with)
    places = {pointer(path): (origin.message, origin.part) for path, origin in body.provenance.items()}
    return Payload(target, _text(body.body, options), body.verified, places, opens_with=opens_with)


def _text(value: Any, options: PayloadOptions) -> str:
    return jsjson.dumps(masked_deeply(jsjson.to_js(value)) if options.redact else value)


def payload_lines(sessions: QuerySet[Session], options: PayloadOptions) -> Iterator[str]:
    """A line of JSON per session, one session in memory at a time; a session that fails says so in its line and the
    next goes on."""
    for number in list(sessions.values_list("pk", flat=True)):
        session = Session.objects.select_related("source").filter(pk=number).first()
        if session is not None:
            yield _line(session, options)


def _line(session: Session, options: PayloadOptions) -> str:
    head: dict[str, Any] = {"id": session.pk, "session": session.stored_id, "source": session.source_id}
    if session.imported_at is None:
        return (
            jsjson.dumps({**head, "error": {"kind": "not-imported", "message": "Its rows have not been read yet."}})
            + "\n"
        )
    try:
        made = payload(session, options)
    except NoTarget as problem:
        return jsjson.dumps({**head, "error": {"kind": "no-target", "message": str(problem)}}) + "\n"
    head["target"] = {
        name: value
        for name, value in asdict(made.target).items()
        if name in ("protocol", "provider", "model", "thinking")
    }
    if made.opens_with:
        head["opens_with"] = made.opens_with
    if made.error is not None:
        return jsjson.dumps({**head, "error": made.error}) + "\n"
    # The body goes in as text: decoding and encoding it again could change what the client would send.
    name = "canonical" if options.canonical else "body"
    return f'{jsjson.dumps(head)[:-1]},"verified":{"true" if made.verified else "false"},"{name}":{made.text}}}\n'


def pointer(path: tuple[str | int, ...]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
