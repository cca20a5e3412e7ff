"""A provider's line: requests through its official SDK, sent as the very bytes that were shown.

The SDKs' own retries are off (the processor decides, docs/contract/design.md#7), and so are the credentials they would
find by themselves.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sessions_app.domain.jsjson import encode
from sessions_app.domain.processor.events import (
    UNCOUNTED,
    Event,
    Failure,
    StepFinish,
    StreamError,
    StreamFailed,
    Usage,
)
from sessions_app.domain.processor.ports import Connect, Execute, Feed, RequestBody
from sessions_app.domain.wire.names import ProtocolName

from . import anthropic_messages, openai_chat, openai_responses
from .endpoints import Endpoint
from .failures import failure_from, failure_in
from .feed import Cancel, Limits, LiveFeed

SPOKEN: tuple[ProtocolName, ...] = ("anthropic-messages", "openai-chat", "openai-responses")
"""Protocols that requests can be sent in."""

_EVENTS: dict[str, Callable[[Iterable[Any]], Iterator[Event]]] = {
    "anthropic-messages": anthropic_messages.events,
    "openai-chat": openai_chat.events,
    "openai-responses": openai_responses.events,
}


_USAGE: dict[str, Callable[[dict[str, Any]], Usage]] = {
    "anthropic-messages": anthropic_messages.usage_of,
    "openai-chat": openai_chat.usage_of,
    "openai-responses": openai_responses.usage_of,
}


class NotReachable(Exception):
    """Nothing can be sent: no endpoint is configured, no SDK speaks the protocol, or the SDK is not installed. In words
    for the user."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for a request that was accepted: its HTTP status, and the tokens it took."""

    status: int
    usage: Usage


class Line:
    """Requests to one endpoint in one protocol. Raises ``NotReachable``. Use it in a ``with`` block or close it."""

    def __init__(self, endpoint: Endpoint, protocol: ProtocolName, limits: Limits | None = None) -> None:
        self.endpoint, self.protocol = endpoint, protocol
        self.limits = limits or Limits()
        self._client, self._path, self._stream = _client(endpoint, protocol, self.limits)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def send(self, request: bytes) -> Reply:
        """One request that asks for no stream, sent as it is. Some gateways stream all the same: that is an answer too.
        Raises ``StreamFailed`` with what the provider said, and its status."""
        try:
            answered = self._client.post(self._path, content=request, cast_to=_raw_response(), options=_JSON)
            status, text = int(answered.status_code), str(answered.text)
        except Exception as problem:
            raise StreamFailed(failure_from(problem)) from problem
        if text.lstrip().startswith(_SSE):
            return Reply(status, self._streamed(text, status))
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            words = "The provider answered with something that is no JSON object."
            raise StreamFailed(Failure("api", words, status))
        if answer.get("error"):
            raise StreamFailed(failure_in(answer["error"], status))
        usage = answer.get("usage")
        return Reply(status, _USAGE[self.protocol](usage if isinstance(usage, dict) else {}))

    def _streamed(self, text: str, status: int) -> Usage:
        """The tokens that a stream tells of, where it tells; an error inside of it is one of the request's."""
        usage = UNCOUNTED
        try:
            for event in _EVENTS[self.protocol](_chunks(text)):
                if isinstance(event, StepFinish):
                    usage = event.usage
                elif isinstance(event, StreamError):
                    raise StreamFailed(event.failure)
        except StreamFailed as problem:
            raise StreamFailed(replace(problem.failure, status=problem.failure.status or status)) from problem
        return usage

    def stream(self, request: RequestBody) -> SdkStream:
        """Begin a streamed response. Raises what the SDK raises."""
        raw = self._client.post(
            self._path,
            content=encode(dict(request)).encode("utf-8", "surrogatepass"),
            cast_to=object,
            options=_JSON,
            stream=True,
            stream_cls=self._stream,
        )
        return SdkStream(raw, _EVENTS[self.protocol])


_SSE = ("data:", "event:", "id:", "retry:", ":")
"""What a line of server-sent events begins with (a comment with the colon alone)."""


def _raw_response() -> Any:
    """The class of responses as the HTTP library under both SDKs has them: what is not parsed keeps its status."""
    return importlib.import_module("httpx2").Response


def _chunks(text: str) -> Iterator[Any]:
    """The JSON of the events of a stream that was read to its end."""
    for line in text.splitlines():
        name, _, data = line.partition(":")
        if name == "data" and data.strip() not in ("", "[DONE]"):
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(data)


_JSON = {"headers": {"content-type": "application/json"}, "follow_redirects": False}
"""No redirects: a request goes to the host that was shown, or nowhere."""


class SdkStream:
    """Events of a streamed response (``feed.Source``)."""

    def __init__(self, raw: Any, events: Callable[[Iterable[Any]], Iterator[Event]]) -> None:
        self._raw, self._events = raw, events

    def __iter__(self) -> Iterator[Event]:
        try:
            yield from self._events(self._raw)
        except Exception as problem:
            yield StreamError(failure_from(problem))
        finally:
            self._raw.response.close()

    def close(self) -> None:
        """Hang up: closing alone would not wake a thread that waits for bytes."""
        with contextlib.suppress(Exception):
            network = self._raw.response.extensions["network_stream"]
            network.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def connect(
    line: Line, execute: Execute | None = None, cancel: Cancel | None = None, limits: Limits | None = None
) -> Connect:
    """The engine's way to the provider: ``Engine(connect=connect(line, tools))``."""
    stop = cancel or Cancel()

    def open_feed(request: RequestBody) -> Feed:
        return LiveFeed(_Opening(lambda: line.stream(request)), execute, limits or line.limits, stop)

    return open_feed


class _Opening:
    """A source that sends its request in the reader's thread, so that a cancel need not wait for the headers."""

    def __init__(self, open_stream: Callable[[], SdkStream]) -> None:
        self._open = open_stream
        self._stream: SdkStream | None = None
        self._closed = False

    def __iter__(self) -> Iterator[Event]:
        try:
            self._stream = self._open()
        except Exception as problem:
            yield StreamError(failure_from(problem))
            return
        if self._closed:
            self._stream.close()
        yield from self._stream

    def close(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.close()


def _client(endpoint: Endpoint, protocol: ProtocolName, limits: Limits) -> tuple[Any, str, Any]:
    """The SDK's client, the path it posts to, and the class of its streams, whose chunks stay plain JSON."""
    if protocol not in SPOKEN:
        raise NotReachable(f"Requests of {protocol} cannot be sent from here.")
    try:
        if protocol == "anthropic-messages":
            sdk = importlib.import_module("anthropic")
        else:
            sdk = importlib.import_module("openai")
    except ImportError as problem:
        raise NotReachable(
            "The provider's SDK is not installed. Install Suture with its extra providers (make run EXTRAS=providers)."
        ) from problem
    logging.getLogger(sdk.__name__).setLevel(logging.WARNING)  # at debug it writes whole requests
    shared: dict[str, Any] = {
        "api_key": endpoint.key or "none",
        "base_url": endpoint.url,
        "default_headers": dict(endpoint.headers),
        "max_retries": 0,
        "timeout": sdk.Timeout(limits.silence, connect=limits.connect),
    }
    if protocol == "anthropic-messages":
        # The V1 client's base ends with /v1, the SDK's own does not.
        path = "/messages" if endpoint.url.rstrip("/").endswith("/v1") else "/v1/messages"
        shared["default_headers"] = _anthropic_headers(endpoint, sdk.Omit())
        return sdk.Anthropic(**shared), path, sdk.Stream[object]
    path = "/chat/completions" if protocol == "openai-chat" else "/responses"
    client = sdk.OpenAI(**shared)
    client.organization = client.project = None  # the SDK takes them from the environment
    return client, path, sdk.Stream[object]


def _anthropic_headers(endpoint: Endpoint, omit: Any) -> dict[str, Any]:
    """The headers the client sends (docs/contract/wire.md#1), whatever a version of the SDK makes of the key: the rules
    hold for this version."""
    own = {"x-api-key": endpoint.key or "none", "anthropic-version": "2023-06-01"}
    named = {name.lower() for name in endpoint.headers}
    if "authorization" in named:
        return {"anthropic-version": own["anthropic-version"], **endpoint.headers}
    return {**own, "Authorization": omit, **endpoint.headers}
