"""Small histories for rule tests: V1 and V2 sessions from a few words, and what repair makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain.model import Session
from sessions_app.domain.repair import Plan, inverted
from sessions_app.domain.rules import Context, Facts, Finding, find_all
from sessions_app.domain.scan import SessionScan, scan
from sessions_app.domain.wire.target import Target, make_target
from sessions_app.domain.wish import Wish

T0 = 1_700_000_000_000

CLAUDE = make_target("anthropic", "claude-sonnet-4-5", "off")
CLAUDE_THINKING = make_target("anthropic", "claude-sonnet-4-5", "on")
KIMI = make_target("moonshot", "kimi-x")
CHAT = make_target("acme", "model-1")
RESPONSES = make_target("openai", "gpt-5")
GEMINI = make_target("google", "gemini-3-pro")
BEDROCK = make_target("amazon-bedrock", "anthropic.claude-sonnet-4-5")


def text(value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def reasoning(value: str, signature: str | None = None, **metadata: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"type": "reasoning", "text": value, "time": {"start": T0, "end": T0}}
    if signature is not None:
        metadata["anthropic"] = {"signature": signature}
    return {**data, "metadata": metadata} if metadata else data


def start() -> dict[str, Any]:
    return {"type": "step-start"}


def finish(reason: str = "tool-calls", **tokens: int) -> dict[str, Any]:
    counts = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}, **tokens}
    return {"type": "step-finish", "reason": reason, "cost": 0, "tokens": counts}


def tool(call_id: str, status: str = "completed", name: str = "bash", **state: Any) -> dict[str, Any]:
    """A V1 tool part with the fields its status needs; ``state`` overrides them."""
    fields: dict[str, Any] = {"status": status, "input": {"command": "ls"}}
    time = {"start": T0, "end": T0 + 1}
    if status == "completed":
        fields |= {"output": "done", "title": name, "metadata": {}, "time": time}
    elif status == "error":
        fields |= {"error": "failed", "time": time}
    elif status == "running":
        fields |= {"time": {"start": T0}}
    else:
        fields |= {"input": {}, "raw": ""}
    return {"type": "tool", "tool": name, "callID": call_id, "state": {**fields, **state}}


def aborted(call_id: str, name: str = "unknown") -> dict[str, Any]:
    """What abort clean-up leaves of a call whose arguments never arrived."""
    return tool(
        call_id,
        "error",
        name,
        input={},
        raw="",
        error="Tool execution aborted",
        metadata={"interrupted": True},
    )


class V1:
    """A V1 session that grows message by message; ids and times ascend."""

    def __init__(self, target: Target = CHAT, **session: Any) -> None:
        self.target = target
        self.session = {
            "id": "ses_t",
            "project_id": "p",
            "directory": "/d",
            "title": "t",
            "version": "1.18.33",
            **session,
        }
        self.messages: list[dict[str, Any]] = []

    def user(self, *parts: Any, **data: Any) -> V1:
        model = {"providerID": self.target.provider, "modelID": self.target.model}
        return self._add({"role": "user", "agent": "build", "model": model, **data}, parts)

    def assistant(self, *parts: Any, target: Target | None = None, completed: bool = True, **data: Any) -> V1:
        made_by = target or self.target
        time = self._now
        base = {
            "role": "assistant",
            "parentID": next((one["id"] for one in reversed(self.messages) if one["data"]["role"] == "user"), "msg_0"),
            "providerID": made_by.provider,
            "modelID": made_by.model,
            "mode": "build",
            "agent": "build",
            "path": {"cwd": "/d", "root": "/d"},
            "cost": 0,
            "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            **({"finish": "stop"} if "error" not in data and completed else {}),
        }
        times = {"created": time, **({"completed": time + 9} if completed else {})}
        return self._add({**base, "time": times, **data}, parts)

    @property
    def _now(self) -> int:
        return T0 + 1000 * (len(self.messages) + 1)

    def _add(self, data: dict[str, Any], parts: Iterable[Any]) -> V1:
        number, time = len(self.messages) + 1, self._now
        message_id = f"msg_{number:04}"
        columns = {"session_id": "ses_t", "time_created": time, "time_updated": time}
        self.messages.append(
            {
                "id": message_id,
                **columns,
                "data": {"time": {"created": time}, **data},
                "parts": [
                    {"id": f"prt_{number:04}_{place:02}", "message_id": message_id, **columns, "data": part}
                    for place, part in enumerate((text(p) if isinstance(p, str) else p for p in parts), 1)
                ],
            }
        )
        return self

    def decoded(self, **more: Any) -> Session:
        return dialects.decode(rowdoc.parse_value({"session": self.session, "messages": self.messages, **more}))


class V2:
    """A V2 session of one generation."""

    def __init__(self, target: Target = CLAUDE_THINKING, generation: int = 3) -> None:
        self.target, self.generation = target, generation
        self.rows: list[dict[str, Any]] = []

    def row(self, kind: str, **data: Any) -> V2:
        number = len(self.rows) + 1
        time = T0 + 1000 * number
        data = {"time": {"created": time, **({"completed": time + 5} if kind == "assistant" else {})}, **data}
        columns = {
            "session_id": "ses_t",
            "type": kind,
            "seq": number,
            "time_created": time,
            "time_updated": time,
        }
        self.rows.append({"id": f"msg_{number:04}", **columns, "data": json.dumps(data)})
        return self

    def user(self, value: str, **data: Any) -> V2:
        return self.row("user", text=value, **data)

    def assistant(self, *items: dict[str, Any], **data: Any) -> V2:
        model = {"providerID": self.target.provider, "id": self.target.model}
        return self.row("assistant", agent="build", model=model, content=list(items), **data)

    def tool(self, call_id: str, status: str = "completed", name: str = "bash", **state: Any) -> dict[str, Any]:
        """A tool item with the fields its generation and status need."""
        later = self.generation >= 3
        fields: dict[str, Any] = {"status": status, "input": {"command": "ls"}}
        if status in ("pending", "streaming"):
            fields["input"] = '{"command":"l'
        elif later:
            fields |= {"metadata": {}}
        else:
            fields |= {"structured": {}, "content": []}
        if status == "completed":
            fields["content"] = [{"type": "text", "text": "done"}]
        if status == "error":
            fields["error"] = {"type": "unknown", "message": "failed"}
        ran = {"ran": T0} if status not in ("pending", "streaming") else {}
        return {
            "type": "tool",
            "id": call_id,
            "name": name,
            "state": {**fields, **state},
            "time": {"created": T0, **ran},
        }

    def decoded(self) -> Session:
        version = "2.0.15" if self.generation > 1 else "1.18.4"
        document = {
            "session": {"id": "ses_t", "title": "t", "version": version},
            "session_message": self.rows,
        }
        return dialects.decode(rowdoc.parse_value(document), self.generation)


def findings(session: Session, target: Target | None = None, facts: Facts | None = None) -> list[Finding]:
    return find_all(Context(session, target, facts))


def found(session: Session, rule: str, target: Target | None = None, facts: Facts | None = None) -> Finding:
    """The one finding of a rule."""
    (one,) = [finding for finding in findings(session, target, facts) if finding.rule == rule]
    return one


def codes(session: Session, target: Target | None = None, facts: Facts | None = None) -> set[str]:
    return {finding.rule for finding in findings(session, target, facts)}


def repaired(session: Session, target: Target | None = None, safety: str = "lossy", **options: Any) -> Session:
    """The session after a plan, which must be undone exactly and have nothing to do a second time."""
    plan = planned(session, target, safety=safety, **options)
    after = dialects.applied(session, plan.changes)
    assert dialects.apply(after.rows, inverted(plan.changes)) == session.rows
    again = planned(
        after, target, safety=safety, **{name: value for name, value in options.items() if name != "choices"}
    )
    assert not again.operations, again.findings
    return after


def planned(
    session: Session, target: Target | None = None, facts: Facts | None = None, held: bool = False, **wish: Any
) -> Plan:
    """``wish``: members of a ``Wish``."""
    return planning.plan(session, target, Wish.of(**wish), facts, held)


def scanned(session: Session, target: Target | None = None, facts: Facts | None = None) -> SessionScan:
    return scan(session, target, facts=facts)


def data_of(session: Session, part_id: str) -> dict[str, Any]:
    part = session.part(part_id)
    assert part is not None, part_id
    return part.data


def part_ids(session: Session, message_id: str) -> list[str]:
    message = session.message(message_id)
    assert message is not None, message_id
    return [part.id for part in message.parts]


def message_ids(session: Session) -> list[str]:
    return [message.id for message in session.messages]
