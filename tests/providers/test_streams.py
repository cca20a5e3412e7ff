"""The official SDKs against a scripted provider on loopback: what is stored after real streams, good and broken."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from sessions_app.domain.processor import (
    Dialogue,
    Engine,
    RetryPolicy,
    Speaker,
    Surroundings,
    ToolOutput,
    ToolSpec,
    V1Shape,
)
from sessions_app.domain.processor.ports import Retrying, Status
from sessions_app.domain.wire.target import Target, make_target
from sessions_app.providers import Cancel, Endpoint, Limits, Line, connect
from tests.processor.surroundings import MemoryStore
from tests.providers.scripted import (
    DONE,
    Answer,
    Cut,
    Pause,
    Piece,
    Reset,
    Scripted,
    anthropic,
    block,
    chat_call,
    chat_end,
    chat_text,
    chunk,
    response_call,
    response_text,
    responses,
    scripted,
    sse,
)

CHAT = make_target("acme", "model-1", protocol="openai-chat")
CLAUDE = make_target("acme", "claude-1", "off", "anthropic-messages")
RESPONSES = make_target("openai", "gpt-1", protocol="openai-responses")
KEYS = {"openai-chat": "", "anthropic-messages": "anthropic", "openai-responses": "openai"}


class Agent:
    """A dialogue through the SDK of a target, with a clock that does not wait."""

    def __init__(self, served: Scripted, target: Target, limits: Limits | None = None, **policy: int) -> None:
        self.store, self.cancel, self.target = MemoryStore(), Cancel(), target
        self.statuses: list[Status] = []
        self.waits: list[int] = []
        self.ran: list[tuple[str, Any]] = []
        base = served.url if target.protocol == "anthropic-messages" else f"{served.url}/v1"
        self.limits = limits or Limits(silence=5)
        self.line = Line(Endpoint(target.provider, base, "secret-key"), target.protocol, self.limits)
        around = Surroundings(
            clock=lambda: time.time_ns() // 1_000_000,
            sleep=self.waits.append,
            tails=(f"{number:014d}" for number in itertools.count()).__next__,
            aborted=self.cancel,
            publish=self.statuses.append,
        )
        engine = Engine(
            self.store,
            connect(self.line, self.tool, self.cancel),
            around,
            RetryPolicy(tries=3, **policy),
        )
        self.dialogue = Dialogue(
            engine,
            V1Shape(KEYS[target.protocol]),
            target,
            Speaker(target.provider, target.model),
            system="You are.",
            tools=(ToolSpec("bash", "Runs a command"),),
        )

    def tool(self, name: str, given: dict[str, Any]) -> ToolOutput:
        self.ran.append((name, given))
        return ToolOutput(f"ran {given.get('command')}")

    def ask(self) -> Any:
        with self.line:
            return self.dialogue.ask("do it")

    @property
    def error(self) -> dict[str, Any]:
        return self.store.last()["error"]

    def texts(self) -> list[str]:
        return [part["text"] for part in self.store.parts("text")]


def answer(*pieces: Piece, **fields: Any) -> Answer:
    return Answer(pieces, **fields)


def refusal(status: int, body: Any, **headers: str) -> Answer:
    named = (("content-type", "application/json"), *((k.replace("_", "-"), v) for k, v in headers.items()))
    return Answer((json.dumps(body).encode(),), status, named)


CHAT_REPLY = answer(*chat_text("hel", "lo"), *chat_end())
CLAUDE_REPLY = answer(*anthropic(block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hello"})))
RESPONSES_REPLY = answer(*responses(response_text("msg_1", "hel", "lo")))
REPLIES = [(CHAT, CHAT_REPLY), (CLAUDE, CLAUDE_REPLY), (RESPONSES, RESPONSES_REPLY)]
EACH = pytest.mark.parametrize(("target", "reply"), REPLIES, ids=["chat", "anthropic", "responses"])


@EACH
def test_a_plain_reply_is_stored_with_its_tokens(target: Target, reply: Answer) -> None:
    with scripted(reply) as served:
        agent = Agent(served, target)
        agent.ask()

    assert agent.texts() == ["hello"]
    assert agent.store.last()["finish"] == "stop"
    assert (
        agent.store.last()["tokens"]
        == {
            "openai-chat": {
                "total": 107,
                "input": 60,
                "output": 5,
                "reasoning": 2,
                "cache": {"write": 0, "read": 40},
            },
            "anthropic-messages": {
                "total": 94,
                "input": 50,
                "output": 9,
                "reasoning": 0,
                "cache": {"write": 5, "read": 30},
            },
            "openai-responses": {
                "total": 92,
                "input": 60,
                "output": 12,
                "reasoning": 0,
                "cache": {"write": 0, "read": 20},
            },
        }[target.protocol]
    )


def test_each_api_is_asked_at_its_own_path_with_its_own_key_and_tools() -> None:
    seen = []
    for target, reply in REPLIES:
        with scripted(reply) as served:
            Agent(served, target).ask()
        [(path, headers, body)] = served.requests
        request = json.loads(body)
        seen.append((path, headers.get("authorization"), headers.get("x-api-key"), request["stream"]))
        assert request["model"] == target.model
        assert "bash" in json.dumps(request["tools"])
        assert "You are." in json.dumps(request)

    assert seen == [
        ("/v1/chat/completions", "Bearer secret-key", None, True),
        ("/v1/messages", None, "secret-key", True),
        ("/v1/responses", "Bearer secret-key", None, True),
    ]


def test_an_anthropic_base_url_that_ends_with_v1_as_the_clients_does_works_too() -> None:
    with (
        scripted(CLAUDE_REPLY) as served,
        Line(Endpoint("a", f"{served.url}/v1", "k"), "anthropic-messages") as line,
    ):
        list(line.stream({"messages": []}))

    assert served.requests[0][0] == "/v1/messages"


@pytest.mark.parametrize(
    ("target", "first", "second"),
    [
        (
            CHAT,
            answer(*chat_call("call_1", "bash", '{"comm', 'and":"ls"}'), *chat_end("tool_calls")),
            CHAT_REPLY,
        ),
        (
            CLAUDE,
            answer(
                *anthropic(
                    block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look"}),
                    block(
                        1,
                        {"type": "tool_use", "id": "call_1", "name": "bash", "input": {}},
                        {"type": "input_json_delta", "partial_json": ""},
                        {"type": "input_json_delta", "partial_json": '{"command":'},
                        {"type": "input_json_delta", "partial_json": '"ls"}'},
                    ),
                    reason="tool_use",
                )
            ),
            CLAUDE_REPLY,
        ),
        (
            RESPONSES,
            answer(*responses(response_call("fc_1", "call_1", "bash", '{"command":"ls"}'))),
            RESPONSES_REPLY,
        ),
    ],
    ids=["chat", "anthropic", "responses"],
)
def test_a_tool_is_run_and_its_result_sent_back(target: Target, first: Answer, second: Answer) -> None:
    with scripted(first, second) as served:
        agent = Agent(served, target)
        agent.ask()

    assert agent.ran == [("bash", {"command": "ls"})]
    [tool] = agent.store.parts("tool")
    assert (tool["callID"], tool["state"]["status"], tool["state"]["output"]) == (
        "call_1",
        "completed",
        "ran ls",
    )
    assert "ran ls" in served.requests[1][2].decode()
    assert [message.get("finish") for message in agent.store.messages()] == [None, "tool-calls", "stop"]
    assert agent.store.violations(target) == []


def test_signed_thinking_comes_back_to_anthropic_byte_for_byte() -> None:
    thinking = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "thinking_delta", "thinking": "m"},
        {"type": "signature_delta", "signature": "Eq=="},
    )
    use = block(
        1,
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"command":"ls"}'},
    )
    redacted = block(2, {"type": "redacted_thinking", "data": "R=="})
    target = make_target("acme", "claude-1", "on", "anthropic-messages")
    with scripted(answer(*anthropic(thinking, redacted, use, reason="tool_use")), CLAUDE_REPLY) as served:
        agent = Agent(served, target)
        agent.ask()

    request = json.loads(served.requests[1][2])
    assistant = request["messages"][1]["content"]
    assert assistant[0] == {"type": "thinking", "thinking": "hmm", "signature": "Eq=="}
    assert assistant[1] == {"type": "redacted_thinking", "data": "R=="}
    assert request["thinking"]["type"] == "enabled"
    assert agent.store.violations(target) == []


def test_encrypted_reasoning_comes_back_to_responses() -> None:
    item = {"id": "rs_1", "type": "reasoning", "summary": []}
    reasoning = (
        sse("response.output_item.added", item=item),
        sse("response.reasoning_summary_text.delta", item_id="rs_1", delta="thought"),
        sse("response.output_item.done", item={**item, "encrypted_content": "gAAA"}),
    )
    call = response_call("fc_1", "call_1", "bash", '{"command":"ls"}')
    with scripted(answer(*responses(reasoning, call)), RESPONSES_REPLY) as served:
        agent = Agent(served, RESPONSES)
        agent.ask()

    sent = json.loads(served.requests[1][2])["input"]
    assert {
        "type": "reasoning",
        "encrypted_content": "gAAA",
        "summary": [{"type": "summary_text", "text": "thought"}],
    }.items() <= next(item for item in sent if item.get("type") == "reasoning").items()


def test_chat_reasoning_is_kept_apart_from_text() -> None:
    pieces = (
        chunk({"reasoning_content": "hm"}),
        chunk({"reasoning_content": "m"}),
        *chat_text("so"),
        *chat_end(),
    )
    with scripted(answer(*pieces)) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert [part["text"] for part in agent.store.parts("reasoning")] == ["hmm"]
    assert agent.texts() == ["so"]


BROKEN: dict[str, tuple[Target, Answer]] = {
    "chat: server error in the stream": (
        CHAT,
        answer(*chat_text("one"), b'data: {"error":{"message":"boom","type":"server_error"}}\n\n'),
    ),
    "chat: cut": (CHAT, answer(*chat_text("one"), Cut())),
    "chat: ends without an end": (CHAT, answer(*chat_text("one"))),
    "chat: reset": (CHAT, answer(*chat_text("one"), Pause(0.05), Reset())),
    "chat: not JSON": (CHAT, answer(*chat_text("one"), b'data: {"choices": [{"del\n\n')),
    "chat: network_error": (CHAT, answer(*chat_text("one"), *chat_end("network_error"))),
    "chat: 429": (
        CHAT,
        refusal(429, {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}),
    ),
    "chat: 500 without JSON": (CHAT, answer(b"<html>bad gateway</html>", status=502, headers=())),
    "anthropic: overloaded in the stream": (
        CLAUDE,
        answer(
            *anthropic(block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "one"}))[:4],
            sse("error", error={"type": "overloaded_error", "message": "Overloaded"}),
        ),
    ),
    "anthropic: 529": (
        CLAUDE,
        refusal(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ),
    "anthropic: cut": (
        CLAUDE,
        answer(
            *anthropic(block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "one"}))[:4],
            Cut(),
        ),
    ),
    "anthropic: reset": (CLAUDE, answer(*anthropic()[:1], Pause(0.05), Reset())),
    "anthropic: ends without an end": (CLAUDE, answer(*anthropic()[:2])),
    "anthropic: not JSON": (CLAUDE, answer(b'event: message_start\ndata: {"type":\n\n')),
    "responses: failed": (
        RESPONSES,
        answer(
            *response_text("msg_1", "one"),
            sse("response.failed", response={"error": {"code": "server_error", "message": "boom"}}),
        ),
    ),
    "responses: error event": (
        RESPONSES,
        answer(sse("response.created"), sse("error", code="rate_limit_exceeded", message="slow")),
    ),
    "responses: cut": (RESPONSES, answer(sse("response.created"), Cut())),
    "responses: ends without an end": (RESPONSES, answer(*response_text("msg_1", "one"))),
    "responses: 503": (
        RESPONSES,
        refusal(503, {"error": {"message": "unavailable", "type": "server_error"}}),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_response_is_retried_and_leaves_nothing(name: str) -> None:
    target, first = BROKEN[name]
    with scripted(first, {target.protocol: reply for target, reply in REPLIES}[target.protocol]) as served:
        agent = Agent(served, target)
        agent.ask()

    assert len(served.requests) == 2, agent.store.last()
    assert agent.texts() == ["hello"]
    assert len(agent.store.parts("step-start")) == 1
    assert "error" not in agent.store.last()
    assert agent.waits == [2000]


def test_a_gzip_body_that_is_cut_or_broken_is_retried() -> None:
    whole = gzip.compress(b"".join((*chat_text("x" * 500), *chat_end())))
    zipped = (("content-type", "text/event-stream"), ("content-encoding", "gzip"))
    broken = whole[:20] + b"\xff" * 40
    with scripted(Answer((whole[:40], Cut()), headers=zipped), Answer((broken,), headers=zipped), CHAT_REPLY) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert len(served.requests) == 3
    assert agent.texts() == ["hello"]
    assert agent.waits == [2000, 4000]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"retry_after": "7"}, 7000), ({"retry_after_ms": "1234"}, 1234), ({"retry_after": "soon"}, 2000)],
)
def test_a_429_is_waited_out_as_its_headers_ask(headers: dict[str, str], wait: int) -> None:
    slow = refusal(429, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, **headers)
    with scripted(slow, CLAUDE_REPLY) as served:
        agent = Agent(served, CLAUDE)
        agent.ask()

    assert agent.waits == [wait]
    assert isinstance(agent.statuses[1], Retrying)


@pytest.mark.parametrize(
    ("target", "status", "body", "name"),
    [
        (
            CLAUDE,
            400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "messages.1: bad"}},
            "APIError",
        ),
        (
            CLAUDE,
            401,
            {"type": "error", "error": {"type": "authentication_error", "message": "bad key"}},
            "ProviderAuthError",
        ),
        (
            CLAUDE,
            400,
            {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"},
            },
            "ContextOverflowError",
        ),
        (CHAT, 400, {"error": {"message": "no", "code": "context_length_exceeded"}}, "ContextOverflowError"),
        (RESPONSES, 404, {"error": {"message": "Item with id 'rs_1' not found."}}, "APIError"),
        (CHAT, 400, {"error": "plain words"}, "APIError"),
        (CHAT, 422, [{"loc": "body"}], "APIError"),
    ],
)
def test_a_refusal_is_not_retried_and_its_words_are_kept(target: Target, status: int, body: Any, name: str) -> None:
    with scripted(refusal(status, body)) as served:
        agent = Agent(served, target)
        agent.ask()

    assert len(served.requests) == 1
    assert agent.error["name"] == name
    words = json.dumps(body)
    assert agent.error["data"]["message"] in words or agent.error["data"]["message"] == words
    assert agent.waits == []


def test_the_sdk_itself_never_retries_and_the_key_is_kept_nowhere() -> None:
    with scripted(
        *[refusal(500, {"error": {"message": "boom", "type": "server_error"}}, set_cookie="a=b")] * 3
    ) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert len(served.requests) == 3
    stored = json.dumps(agent.store.messages())
    assert "secret-key" not in stored and "set-cookie" not in stored
    assert "secret-key" not in repr(agent.line.endpoint)


def test_a_cut_after_a_tool_ran_ends_the_turn_and_the_tool_is_not_run_again() -> None:
    pieces = (*chat_call("call_1", "bash", '{"command":"ls"}'), Pause(0.1), Cut())
    with scripted(answer(*pieces), CHAT_REPLY) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert len(served.requests) == 1
    assert agent.ran == [("bash", {"command": "ls"})]
    assert agent.store.parts("tool")[0]["state"]["status"] == "completed"
    assert agent.error["name"] == "APIError"
    assert not any(isinstance(status, Retrying) for status in agent.statuses)


def test_a_network_error_finish_behind_a_tool_that_ran_stops_after_one_call() -> None:
    pieces = (*chat_call("call_1", "bash", '{"command":"ls"}'), *chat_end("network_error"))
    with scripted(answer(*pieces), CHAT_REPLY) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert len(served.requests) == 1
    assert agent.ran == [("bash", {"command": "ls"})]
    assert agent.store.parts("tool")[0]["state"]["status"] == "completed"
    assert "error" in agent.store.last() and "finish" not in agent.store.last()
    assert not any(isinstance(status, Retrying) for status in agent.statuses)


def test_arguments_that_a_length_limit_cut_are_never_run() -> None:
    with scripted(answer(*chat_call("call_1", "bash", '{"command":"rm -rf /tmp/'), *chat_end("length"))) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert agent.ran == []
    [tool] = agent.store.parts("tool")
    assert tool["state"]["metadata"]["interrupted"] is True
    assert agent.store.last()["finish"] == "length"


def test_silence_before_the_headers_or_within_the_stream_is_a_time_out_that_is_retried() -> None:
    silent = Answer((*chat_text("one"), Pause(1.5)))
    with scripted(silent, CHAT_REPLY) as served:
        agent = Agent(served, CHAT, Limits(silence=0.3))
        agent.ask()

    assert agent.texts() == ["hello"]
    assert len(served.requests) == 2


def test_slow_bytes_arrive_whole() -> None:
    whole = b"".join((*chat_text("hel", "lo"), *chat_end()))
    pieces: list[Piece] = []
    for start in range(0, len(whole), 37):
        pieces += [whole[start : start + 37], Pause(0.01)]
    with scripted(answer(*pieces)) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert agent.texts() == ["hello"]


def test_a_response_that_never_ends_is_given_up() -> None:
    dribble = [piece for _ in range(100) for piece in (chunk({"content": "x"}), Pause(0.05))]
    with scripted(answer(*dribble), CHAT_REPLY) as served:
        agent = Agent(served, CHAT, Limits(response=0.4))
        agent.ask()

    assert agent.texts() == ["hello"]


def test_a_cancel_hangs_up_at_once_and_the_turn_is_aborted() -> None:
    with scripted(answer(*chat_text("half"), Pause(20))) as served:
        agent = Agent(served, CHAT, Limits(silence=30))
        threading.Timer(0.3, agent.cancel.set).start()
        started = time.monotonic()
        agent.ask()
        took = time.monotonic() - started
        assert served.hung_up.wait(3)

    assert took < 3
    assert agent.texts() == ["half"]
    assert agent.error["name"] == "MessageAbortedError"


def test_a_slow_store_holds_the_provider_back() -> None:
    class Slow(MemoryStore):
        then = -1

        def write(self, writes: Any) -> None:
            super().write(writes)
            if self.then < 0 and self.parts("text"):
                time.sleep(0.6)
                self.then = served.sent

    piece = chunk({"content": "x" * 60_000})
    with scripted(answer(*[piece] * 300, *chat_end())) as served:
        agent = Agent(served, CHAT, Limits(ahead=8))
        store = agent.store = Slow()
        engine = replace(agent.dialogue.engine, store=store, every=100)
        agent.dialogue = replace(agent.dialogue, engine=engine)
        agent.ask()

    assert 0 < store.then < 300
    assert len(agent.texts()[0]) == 300 * 60_000


def test_two_tools_run_at_the_same_time_and_each_has_its_limit() -> None:
    both = threading.Barrier(2, timeout=3)

    class Parallel(Agent):
        def tool(self, name: str, given: dict[str, Any]) -> ToolOutput:
            if given["command"] == "stuck":
                time.sleep(1.5)
            else:
                both.wait()
            return ToolOutput("met")

    def entry(index: int, command: str) -> bytes:
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        return chunk({"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]})

    pieces = (entry(0, "a"), entry(1, "b"), entry(2, "stuck"), *chat_end("tool_calls"))
    with scripted(answer(*pieces), CHAT_REPLY) as served:
        agent = Parallel(served, CHAT, Limits(tool=0.7))
        agent.ask()

    states = [part["state"] for part in agent.store.parts("tool")]
    assert [state["status"] for state in states] == ["completed", "completed", "error"]
    assert "did not end within 0.7 seconds" in states[2]["error"]
    assert agent.store.violations() == []


def test_an_unreachable_host_is_a_connection_failure() -> None:
    with scripted() as served:
        url = served.url
    agent = Agent(Scripted(url, []), CHAT)
    agent.ask()

    assert agent.waits == [2000, 4000]
    assert agent.error["data"]["isRetryable"] is True


def test_a_redirect_is_not_followed() -> None:
    moved = Answer((b"",), 307, (("location", "http://127.0.0.1:9/elsewhere"),))
    with scripted(moved) as served:
        agent = Agent(served, CHAT)
        agent.ask()

    assert len(served.requests) == 1
    assert "error" in agent.store.last()


def test_done_ends_a_chat_stream_even_if_the_server_keeps_the_line_open() -> None:
    with scripted(answer(*chat_text("hello"), chunk({}, "stop"), DONE, Pause(5))) as served:
        agent = Agent(served, CHAT)
        started = time.monotonic()
        agent.ask()

    assert agent.texts() == ["hello"]
    assert time.monotonic() - started < 3
