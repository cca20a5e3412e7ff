"""Random histories in which anything may be damaged, for both dialects."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from sessions_app.domain import dialects, rowdoc
from sessions_app.domain.model import Session
from sessions_app.domain.wire.target import Target
from tests.factories.sessions import (
    BEDROCK,
    CHAT,
    CLAUDE,
    CLAUDE_THINKING,
    GEMINI,
    KIMI,
    RESPONSES,
    T0,
    V1,
    V2,
    aborted,
    finish,
    reasoning,
    start,
    text,
    tool,
)

TARGETS = (CHAT, KIMI, CLAUDE, CLAUDE_THINKING, RESPONSES, GEMINI, BEDROCK)
IDS = st.sampled_from(["call_0", "call_1", "functions.bash:0", "functions_bash.0", "", "toolu_" + "x" * 70])
WORDS = st.sampled_from(["", " ", "hello", "\ud83d", "a\0b", "\U0001f600 done"])
ABORT = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
API = {"name": "APIError", "data": {"message": "prompt is too long: 2 tokens > 1 maximum"}}


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    status = draw(st.sampled_from(["completed", "completed", "error", "running", "pending"]))
    part = tool(draw(IDS), status, draw(st.sampled_from(["bash", "read", "my.tool", ""])))
    if status == "completed":
        part["state"]["output"] = draw(st.text("abc", max_size=3))
    if draw(st.integers(0, 5)) == 0:
        part["state"]["input"] = draw(st.sampled_from(['{"a":1}', "{cut", [1], None, {"p": "\ud83d"}, {"n": 1.0}]))
    if draw(st.integers(0, 8)) == 0:
        part["state"].pop(draw(st.sampled_from(["time", "input", "output", "title"])), None)
    return part


PARTS = st.one_of(
    st.builds(start),
    st.builds(finish),
    st.builds(text, WORDS),
    st.builds(reasoning, WORDS, st.sampled_from([None, "c2ln", ""])),
    st.builds(aborted, IDS),
    tools(),
    st.just({"type": "patch", "hash": "h", "files": []}),
    st.just({"type": "mystery", "x": 1}),
    st.just({"type": "tool_result", "toolUseId": "call_1", "content": "late"}),
    st.just(reasoning("", None, openai={"itemId": "rs_1"})),
)
USER_PARTS = st.one_of(
    st.builds(text, WORDS),
    st.just(text("kept", ignored=True)),
    st.just({"type": "compaction", "auto": True}),
    st.just({"type": "compaction", "auto": True, "tail_start_id": "msg_0001"}),
    st.just({"type": "compaction", "auto": True, "tail_start_id": "msg_gone"}),
    st.just({"type": "file", "mime": "image/png", "url": "data:image/png;base64,%%", "filename": "a.png"}),
)


@st.composite
def v1_sessions(draw: st.DrawFn) -> tuple[Session, Target]:
    target = draw(st.sampled_from(TARGETS))
    history = V1(target)
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            history.user(*draw(st.lists(USER_PARTS, max_size=3)))
            continue
        data: dict[str, Any] = {}
        if draw(st.integers(0, 3)) == 0:
            data["error"] = draw(st.sampled_from([ABORT, API]))
        if draw(st.integers(0, 4)) == 0:
            data |= {"summary": True, "mode": "compaction"}
        if draw(st.integers(0, 6)) == 0:
            data["parentID"] = "msg_gone"
        other = draw(st.sampled_from([None, None, CHAT, CLAUDE]))
        history.assistant(*draw(st.lists(PARTS, max_size=6)), target=other, completed=draw(st.booleans()), **data)
    if draw(st.integers(0, 5)) == 0:
        history.session["revert"] = draw(
            st.sampled_from(['{"messageID":"msg_gone"}', '{"messageID":"msg_0001"}', "{cut"])
        )
    damaged = [part for message in history.messages for part in message["parts"]]
    if damaged and draw(st.integers(0, 6)) == 0:
        draw(st.sampled_from(damaged))["data"] = draw(st.sampled_from(["", "{cut", "[]", "{}"]))
    return history.decoded(), target


@st.composite
def v2_sessions(draw: st.DrawFn) -> tuple[Session, Target]:
    target = draw(st.sampled_from(TARGETS))
    generation = draw(st.sampled_from([1, 2, 3]))
    history = V2(target, generation)
    opening = "pending" if generation == 1 else "streaming"
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            history.user(draw(WORDS))
            continue
        items = []
        for _ in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from(["text", "reasoning", "tool", "tool"]))
            named = {"id": "i"} if generation == 1 else {}
            if kind == "text":
                items.append({"type": "text", "text": draw(WORDS), **named})
            elif kind == "reasoning":
                key = "providerMetadata" if generation == 1 else "state"
                signed = {"signature": "c2ln"} if generation > 1 else {target.provider: {"signature": "c2ln"}}
                state = {key: signed} if draw(st.booleans()) else {}
                items.append(
                    {
                        "type": "reasoning",
                        "text": draw(WORDS),
                        "time": {"created": T0, "completed": T0},
                        **state,
                        **named,
                    }
                )
            else:
                items.append(history.tool(draw(IDS), draw(st.sampled_from(["completed", "error", "running", opening]))))
        failed = {"error": {"type": "unknown", "message": "x"}} if draw(st.integers(0, 3)) == 0 else {}
        history.assistant(*items, **failed)
    return history.decoded(), target


@st.composite
def healthy_sessions(draw: st.DrawFn) -> tuple[Session, Target]:
    """What the client writes when nothing goes wrong."""
    target = draw(st.sampled_from((CHAT, KIMI, CLAUDE)))
    history = V1(target)
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        history.user(draw(st.text("abc", min_size=1, max_size=5)))
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            history.assistant(
                start(),
                text("working"),
                tool(f"call_{number}", input={"command": f"echo {number}"}),
                finish(),
            )
        history.assistant(start(), text("done"), finish("stop"))
    return history.decoded(), target


def again(session: Session) -> Session:
    """The session read back from its row document, as another program would get it."""
    generations = {message.generation for message in session.history("opencode-v2")}
    return dialects.decode(
        rowdoc.parse_value(json.loads(rowdoc.dump(session.rows))),
        generations.pop() if len(generations) == 1 else None,
    )
