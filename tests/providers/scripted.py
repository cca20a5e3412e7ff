"""A provider on loopback that speaks real HTTP and SSE as a script says: cuts, resets, slow bytes, refusals."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


@dataclass(frozen=True)
class Pause:
    """Nothing is sent for so many seconds."""

    seconds: float


class Reset:
    """The connection is reset (RST)."""


class Cut:
    """The connection is closed in the middle of the chunked body."""


type Piece = bytes | Pause | Reset | Cut


@dataclass(frozen=True)
class Answer:
    """One response; pieces are chunks of its body."""

    pieces: tuple[Piece, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)


@dataclass
class Scripted:
    url: str
    answers: list[Answer]
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    sent: int = 0


@contextmanager
def scripted(*answers: Answer) -> Iterator[Scripted]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    served = Scripted(f"http://127.0.0.1:{server.server_port}", list(answers))
    _Handler.served[server.server_port] = served
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: ClassVar[dict[int, Scripted]] = {}

    def do_POST(self) -> None:
        served = self.served[self.server.server_port]  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        served.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        answer = served.answers.pop(0)
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for piece in answer.pieces:
                self._send(piece, served)
        except _Ended:
            return
        except OSError:
            served.hung_up.set()
            return
        with contextlib.suppress(OSError):
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, piece: Piece, served: Scripted) -> None:
        if isinstance(piece, bytes):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            served.sent += 1
        elif isinstance(piece, Pause):
            deadline = time.monotonic() + piece.seconds
            self.connection.settimeout(0.02)
            while time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    if self.connection.recv(1) == b"":
                        served.hung_up.set()
                        raise _Ended
            self.connection.settimeout(None)
        elif isinstance(piece, Reset):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            raise _Ended
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
            raise _Ended

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


class _Ended(Exception):
    pass


def sse(event: str, **fields: Any) -> bytes:
    """An event of Anthropic's or of Responses."""
    return f"event: {event}\ndata: {json.dumps({'type': event, **fields})}\n\n".encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """A chunk of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return (
        b"data: "
        + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice], **more}).encode()
        + b"\n\n"
    )


DONE = b"data: [DONE]\n\n"


def chat_text(*words: str) -> tuple[bytes, ...]:
    return (chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words))


def chat_call(call_id: str, name: str, *pieces: str) -> tuple[bytes, ...]:
    def entry(**fields: Any) -> bytes:
        return chunk({"tool_calls": [{"index": 0, **fields}]})

    first = entry(id=call_id, type="function", function={"name": name, "arguments": ""})
    return (first, *(entry(function={"arguments": piece}) for piece in pieces))


def chat_end(reason: str = "stop") -> tuple[bytes, ...]:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    return (chunk({}, reason), b'data: {"choices":[],"usage":' + json.dumps(usage).encode() + b"}\n\n", DONE)


def anthropic(*blocks: tuple[bytes, ...], reason: str = "end_turn") -> tuple[bytes, ...]:
    usage = {
        "input_tokens": 50,
        "output_tokens": 1,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 5,
    }
    return (
        sse("message_start", message={"id": "m", "role": "assistant", "content": [], "usage": usage}),
        b": ping\n\n",
        *(piece for block in blocks for piece in block),
        sse("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 9}),
        sse("message_stop"),
    )


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> tuple[bytes, ...]:
    return (
        sse("content_block_start", index=index, content_block=start),
        *(sse("content_block_delta", index=index, delta=delta) for delta in deltas),
        sse("content_block_stop", index=index),
    )


def responses(*items: tuple[bytes, ...], incomplete: str = "") -> tuple[bytes, ...]:
    usage = {"input_tokens": 80, "output_tokens": 12, "input_tokens_details": {"cached_tokens": 20}}
    response = {
        "id": "r",
        "usage": usage,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
    }
    kind = "response.incomplete" if incomplete else "response.completed"
    return (
        sse("response.created", response={"id": "r"}),
        *(piece for item in items for piece in item),
        sse(kind, response=response),
    )


def response_text(item_id: str, *words: str) -> tuple[bytes, ...]:
    item = {"id": item_id, "type": "message", "role": "assistant", "content": []}
    return (
        sse("response.output_item.added", output_index=0, item=item),
        *(sse("response.output_text.delta", item_id=item_id, delta=word) for word in words),
        sse("response.output_item.done", output_index=0, item=item),
    )


def response_call(item_id: str, call_id: str, name: str, text: str) -> tuple[bytes, ...]:
    item = {"id": item_id, "type": "function_call", "call_id": call_id, "name": name, "arguments": ""}
    return (
        sse("response.output_item.added", output_index=1, item=item),
        *(sse("response.function_call_arguments.delta", item_id=item_id, delta=half) for half in (text[:5], text[5:])),
        sse("response.output_item.done", output_index=1, item={**item, "arguments": text}),
    )
