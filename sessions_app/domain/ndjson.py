"""``lower - --ndjson``: one line in, one line out (docs/contract/design.md#8).

A line in is a row document with a ``target``; the line out holds the canonical messages and the bodies of all five
protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from sessions_app.domain import rowdoc
from sessions_app.domain.bodies import written
from sessions_app.domain.dialects import decode
from sessions_app.domain.lowering import lower, lowerer
from sessions_app.domain.model import V1, V2, Session
from sessions_app.domain.near import did_you_mean
from sessions_app.domain.wire.lowered import Lowered, LoweringError
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from sessions_app.domain.wire.target import Target, make_target, parse_target

type Line = dict[str, Any]

_NAMES = (
    *("session", "messages", "parts", "session_message", "session_context_epoch", "project", "projects"),
    *("session_input", "event_sequence", "last_event", "siblings", "lines"),
    *("target", "generation", "as_stored", "cache"),
)
_TARGET_NAMES = ("protocol", "provider", "model", "metadata_key", "thinking")


class LineError(ValueError):
    """The line is no row document with a target; the message says where."""


def lower_line(document: Any) -> Line:
    """The line out for a line in that is read already: ``{"opens_with"?, "canonical", "bodies"}``, or ``{"error":
    {"kind", "message"}}``.

    Never raises for what a line holds. ``document["cache"]`` (``none`` or ``auto``, default ``none``) is the cache
    policy of the V2 client. An openai-chat body of a V2 session has no placeholder system message here: it is what the
    client's protocol module makes of the history alone.
    """
    try:
        _named(document)
        rows = rowdoc.parse_value(document)
        generation = _generation(document)
        session = decode(rows, generation)
        if generation is not None or (not session.history(V1) and "session_message" in document):
            session.dialect = V2
        target = _target(document.get("target"), session)
        repairs = _flag(document, "as_stored") is not True
    except rowdoc.RowDocumentError as error:
        return _error("document", str(error))
    except LineError as error:
        return _error("usage", str(error))
    if generation is None and not session.version:
        # Rows of no client: lowered as they are (docs/contract/design.md#8).
        generation = max((message.generation for message in session.history(V2)), default=1)
    try:
        lowered = lower(session, target, repairs, generation=generation)
    except LoweringError as error:
        return _error(error.kind, error.words)
    cache = document.get("cache", "none")
    if session.dialect == V2:
        bodies = {protocol: _v2_body(lowered, target, protocol, cache) for protocol in PROTOCOLS}
    else:
        bodies = {protocol: _v1_body(session, target, protocol, repairs) for protocol in PROTOCOLS}
    opens_with = lowerer(session).opens_with(session)
    return {**({"opens_with": opens_with} if opens_with else {}), "canonical": lowered.messages, "bodies": bodies}


def _named(document: Any) -> None:
    """A name that looks like one of ours is that one misspelt; others are somebody else's. Raises ``LineError``."""
    target = document.get("target") if isinstance(document, Mapping) else None
    for place, given, names in (("", document, _NAMES), ("target.", target, _TARGET_NAMES)):
        for name in given if isinstance(given, Mapping) else ():
            if name not in names and (meant := did_you_mean(str(name), names)):
                raise LineError(f"{place}{name} is not known{meant}")


def _v2_body(lowered: Lowered, target: Target, protocol: ProtocolName, cache: Any) -> Line:
    package = import_module(f"sessions_app.domain.protocols.{protocol.replace('-', '_')}.v2")
    options: dict[str, Any] = {"placeholder": False} if protocol == "openai-chat" else {}
    try:
        body: Line = package.write(
            lowered, replace(target, protocol=protocol), cache=cache, provenance=False, **options
        ).body
    except LoweringError as error:
        return _error(error.kind, error.words)
    return body


def _v1_body(session: Session, target: Target, protocol: ProtocolName, repairs: bool) -> Line:
    """The V1 client speaks another protocol through another package, which already shows in the canonical messages."""
    aimed = target
    if protocol != target.protocol:
        aimed = make_target(target.provider, target.model, target.thinking, protocol)
    try:
        return written(lower(session, aimed, repairs), session, aimed).body
    except LoweringError as error:
        return _error(error.kind, error.words)


def _target(value: Any, session: Session) -> Target:
    if not isinstance(value, Mapping):
        raise LineError("target: expected an object with provider and model")
    provider, model = _text(value, "provider"), _text(value, "model")
    thinking = value.get("thinking", "auto")
    if thinking not in ("on", "off", "auto"):
        raise LineError(f"target.thinking: expected on, off or auto, got {thinking!r}")
    protocol = value.get("protocol") or make_target(provider, model).protocol
    if protocol not in PROTOCOLS:
        raise LineError(f"target.protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if provider and model and "/" not in provider:
        target = parse_target(f"{protocol}:{provider}/{model}", thinking, session)
    else:
        target = make_target(provider, model, "on" if thinking == "on" else "off", protocol)
    return replace(target, metadata_key=_text(value, "metadata_key", optional=True))


def _text(value: Mapping[str, Any], key: str, *, optional: bool = False) -> str:
    found = value.get(key)
    if found is None and optional:
        return ""
    if not isinstance(found, str):
        raise LineError(f"target.{key}: expected text, got {found!r}")
    return found


def _generation(document: Mapping[str, Any]) -> int | None:
    value = document.get("generation")
    if value is None:
        return None
    if type(value) is int and value in (1, 2, 3):
        return value
    raise LineError(f"generation: expected 1, 2 or 3, got {value!r}")


def _flag(document: Mapping[str, Any], key: str) -> bool:
    value = document.get(key, False)
    if not isinstance(value, bool):
        raise LineError(f"{key}: expected true or false, got {value!r}")
    return value


def _error(kind: str, words: str) -> Line:
    return {"error": {"kind": kind, "message": words}}
