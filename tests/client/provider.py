"""A scripted provider on loopback: judges each request strictly and answers in the provider's own stream format."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.client.strict import anthropic_error, chat_error, responses_error

ANSWER = "All right, going on."


@dataclass
class Request:
    """A request that the client made: ``error`` is what it was refused with, None where it was answered."""

    path: str
    body: dict[str, Any]
    error: str | None

    @property
    def is_turn(self) -> bool:
        """A turn of the session: the client also asks for titles, which come without tools."""
        return bool(self.body.get("tools"))


@dataclass
class Provider:
    url: str
    requests: list[Request] = field(default_factory=list)

    def turns(self) -> list[Request]:
        return [request for request in self.requests if request.is_turn]


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that lives as long as the block; ``url`` is its base for every protocol."""
    with serving(_Handler, _Handler.served, lambda address: Provider(url=f"{address}/v1")) as served:
        yield served


@contextmanager
def serving[T](handler: type[BaseHTTPRequestHandler], served: dict[int, T], made: Callable[[str], T]) -> Iterator[T]:
    """A server on loopback that lives as long as the block. ``made`` gets its address; what it makes is in ``served``
    by the server's port, where the handler finds it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    served[server.server_port] = kept = made(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        del served[server.server_port]


class _Handler(BaseHTTPRequestHandler):
    served: ClassVar[dict[int, Provider]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        chat = self.path.endswith("/chat/completions")
        responses = self.path.endswith("/responses")
        error = chat_error(body) if chat else responses_error(body) if responses else anthropic_error(body)
        self.served[self.server.server_port].requests.append(Request(self.path, body, error))  # type: ignore[attr-defined]
        if error:
            self._refuse(error, chat or responses)
        else:
            events = _chat_events if chat else _responses_events if responses else _anthropic_events
            self._stream(events(body["model"]))

    def _refuse(self, error: str, chat: bool) -> None:
        fault: dict[str, Any] = {"type": "invalid_request_error", "message": error}
        document = (
            {"error": {**fault, "param": "messages", "code": None}} if chat else {"type": "error", "error": fault}
        )
        payload = json.dumps(document).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _stream(self, lines: Iterator[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for line in lines:
            self.wfile.write(line.encode() + b"\n\n")
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the requests are kept in ``Provider.requests``."""


def _chat_events(model: str) -> Iterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        document = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}
        return "data: " + json.dumps({**document, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    yield chunk({"content": ANSWER})
    yield chunk({}, "stop", usage={"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105})
    yield "data: [DONE]"


def _anthropic_events(model: str) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: " + json.dumps({"type": kind, **fields})

    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    usage = {"input_tokens": 100, "output_tokens": 1}
    yield event("message_start", message={**start, "stop_reason": None, "stop_sequence": None, "usage": usage})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": ANSWER})
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 5})
    yield event("message_stop")


def _responses_events(model: str) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: " + json.dumps({"type": kind, **fields})

    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    response = {"id": "resp_1", "object": "response", "created_at": 0, "model": model}
    usage = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105}
    yield event("response.created", response={**response, "status": "in_progress", "output": []})
    yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "content": []})
    yield event("response.content_part.added", **place, part={**part, "text": ""})
    yield event("response.output_text.delta", **place, delta=ANSWER)
    yield event("response.output_text.done", **place, text=ANSWER)
    yield event("response.content_part.done", **place, part=part)
    done = {**item, "status": "completed", "content": [part]}
    yield event("response.output_item.done", output_index=0, item=done)
    yield event("response.completed", response={**response, "status": "completed", "output": [done], "usage": usage})
