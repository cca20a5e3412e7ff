"""The target of the next call: protocol, provider, model, thinking (docs/contract/design.md#target)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sessions_app.domain.knownmodels import UNKNOWN, By, KnownModel
from sessions_app.domain.model import Message, ReasoningPart, Session
from sessions_app.domain.near import unknown
from sessions_app.domain.wire.names import PROTOCOLS, ProtocolName
from sessions_app.domain.wire.providers import DEFAULT_PACKAGE, OLDER_ANTHROPIC, route

type Thinking = Literal["on", "off", "auto"]


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What the client's configuration says about a model (docs/contract/wire.md#6.1.9, #f4, #f12).

    ``input`` lists input modalities; None = unknown, then what such a model usually reads is assumed
    (``v1_prompt.assumed_input``). ``interleaved`` is the ``capabilities.interleaved.field`` of the client's model
    configuration. ``by`` says whose word it is: the client's configuration, or somebody's.
    """

    input: tuple[str, ...] | None = None
    interleaved: str | None = None
    by: By = ""


@dataclass(frozen=True, slots=True)
class Target:
    """``package`` is the AI SDK package the V1 client uses for the provider (``@ai-sdk/anthropic`` ...); ``profile``
    names the strict server profile of openai-chat, or the older server of anthropic-messages ("" = none);
    ``metadata_key`` is V2's provider metadata key ("" = the provider id)."""

    protocol: ProtocolName
    provider: str
    model: str
    thinking: Literal["on", "off"] = "off"
    package: str = ""
    profile: str = ""
    metadata_key: str = ""
    capabilities: ModelCapabilities = ModelCapabilities()


@lru_cache(maxsize=1024)
def make_target(
    provider: str,
    model: str,
    thinking: Literal["on", "off"] = "off",
    protocol: ProtocolName | None = None,
    base_url: str = "",
    known: KnownModel = UNKNOWN,
) -> Target:
    """The target for ``provider/model``, with package and profile from what is ``known`` of it, else from the provider
    table; another ``protocol`` than the provider's own gets that protocol's usual package. ``base_url`` recognises a
    server whose provider id says nothing."""
    way = route(provider, model, base_url or known.base_url, known.package, known.completions)
    wire = protocol or way.protocol
    package = way.package if wire == way.protocol else DEFAULT_PACKAGE[wire]
    profile = "" if way.profile == OLDER_ANTHROPIC and wire != "anthropic-messages" else way.profile
    capabilities = ModelCapabilities(known.input, known.interleaved, known.by)
    return Target(wire, provider, model, thinking, package, profile, capabilities=capabilities)


def session_model_target(
    session: Session,
    provider: str,
    model: str,
    thinking: Literal["on", "off"],
    protocol: ProtocolName | None = None,
    base_url: str = "",
) -> Target:
    """``make_target`` with what is known of the model where the session lies."""
    return make_target(provider, model, thinking, protocol, base_url, session.rows.models.of(provider, model))


def parse_target(text: str, thinking: Thinking = "auto", session: Session | None = None, base_url: str = "") -> Target:
    """Reads ``PROTOCOL[:PROVIDER/MODEL]`` (docs/commands.md), split at the first ':' and the first '/'.

    Without a model it is the session's own. Thinking ``auto`` is on where that model's own turns in ``session`` carry
    reasoning. Raises ``ValueError`` with words for the user when the protocol is unknown or no model can be told.
    """
    name, colon, rest = text.strip().partition(":")
    protocol = _protocol(name)
    if not colon:
        if session is None:
            return make_target("", "", "on" if thinking == "on" else "off", protocol, base_url)
        return default_target(session, protocol, thinking)
    provider, slash, model = rest.partition("/")
    if not slash or not provider or not model:
        raise ValueError(f"After the colon a target names PROVIDER/MODEL, as in {protocol}:acme/model-1; got {rest!r}")
    on = _thinking(session, provider, model, thinking)
    if session is None:
        return make_target(provider, model, on, protocol, base_url)
    return session_model_target(session, provider, model, on, protocol, base_url)


def infer_target(session: Session, thinking: Thinking = "auto", base_url: str = "") -> Target | None:
    """The session's own target: the model of its last user message, else of its last assistant
    (docs/contract/design.md#target); None where no message and no session row names a model."""
    provider, model = _own_model(session)
    if not provider and not model:
        return None
    on = _thinking(session, provider, model, thinking)
    return session_model_target(session, provider, model, on, base_url=base_url)


def default_target(session: Session, protocol: ProtocolName, thinking: Thinking = "auto") -> Target:
    """The session's own model, spoken to in ``protocol``: what verdicts of the other protocols are judged for."""
    provider, model = _own_model(session)
    return session_model_target(session, provider, model, _thinking(session, provider, model, thinking), protocol)


def default_targets(session: Session, thinking: Thinking = "auto") -> dict[ProtocolName, Target]:
    """``default_target`` of every protocol, the messages looked at once."""
    provider, model = _own_model(session)
    on = _thinking(session, provider, model, thinking)
    return {protocol: session_model_target(session, provider, model, on, protocol) for protocol in PROTOCOLS}


def _protocol(name: str) -> ProtocolName:
    for protocol in PROTOCOLS:
        if protocol == name:
            return protocol
    raise ValueError(unknown("protocol", name, PROTOCOLS))


def _own_model(session: Session) -> tuple[str, str]:
    """V1 user rows name their model; V2 user rows do not, so there the last assistant or model switch speaks."""
    made: tuple[str, str] = ("", "")
    for message in reversed(session.messages):
        named = (message.provider, message.model)
        if message.is_user and any(named):
            return named
        if not any(made) and message.kind in ("assistant", "model-switched"):
            made = named
    return made if any(made) else _session_model(session)


def _session_model(session: Session) -> tuple[str, str]:
    """The model column of the session row (docs/contract/formats.md#a3), for a session without a single message that
    names one."""
    stored = session.rows.session.get("model")
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except ValueError:
            return "", ""
    if not isinstance(stored, dict):
        return "", ""
    provider, model = stored.get("providerID"), stored.get("id", stored.get("modelID"))
    return provider if isinstance(provider, str) else "", model if isinstance(model, str) else ""


def _thinking(session: Session | None, provider: str, model: str, asked: Thinking) -> Literal["on", "off"]:
    if asked != "auto":
        return asked
    if session is None:
        return "off"
    carries = any(_made_by(message, provider, model) and _reasons(message) for message in session.messages)
    return "on" if carries else "off"


def _made_by(message: Message, provider: str, model: str) -> bool:
    return message.is_assistant and message.provider == provider and message.model == model


def _reasons(message: Message) -> bool:
    return any(isinstance(part, ReasoningPart) for part in message.parts)
