"""How the card of each kind of part looks, as HTML in ``snapshots/``.

A change of looks that is meant is written down by ``SUTURE_SNAPSHOTS=write pytest tests/web/test_part_cards.py``; read
the difference before it is committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string

from sessions_app.domain.places import part_called
from sessions_app.selectors.timeline import Fault, PartRow, Twin
from sessions_app.web.partcards import part_card
from sessions_app.web.partnames import Other
from tests.factories.people import folded

SNAPSHOTS = Path(__file__).parent / "snapshots"
PNG = "data:image/png;base64,iVBORw0KGgo="
TIME = {"start": 1_700_000_000_000, "end": 1_700_000_004_200}


def tool(status: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": "bash", "callID": "call_1", "state": {"status": status, "time": TIME, **state}}


VALUES: dict[str, dict[str, Any] | None] = {
    "text": {"type": "text", "text": "First line,\n  <b>second</b> line"},
    "text-user": {"type": "text", "text": "Say it"},
    "text-empty": {"type": "text", "text": ""},
    "text-long": {"type": "text", "text": "\n".join(f"line {number}" for number in range(50))},
    "reasoning": {"type": "reasoning", "text": "Let me think about it", "time": TIME},
    "tool-completed": tool("completed", input={"command": "ls", "cwd": "/tmp"}, output="a\x1b[31mb\x1b[0m"),
    "tool-error": tool("error", input={"command": "ls"}, error="It broke"),
    "tool-running": tool("running", input={"command": "sleep 9"}),
    "tool-pending": tool("pending", input={}),
    "tool-unknown-status": tool("paused", input={"command": "ls"}),
    "tool-sub-agent": tool("completed", input={"prompt": "go"}, output="done", metadata={"sessionId": "ses_2"}),
    "tool-image": tool(
        "completed", input={}, output="", attachments=[{"type": "file", "mime": "image/png", "url": PNG}]
    ),
    "step-start": {"type": "step-start"},
    "step-start-again": {"type": "step-start"},
    "step-finish": {"type": "step-finish", "reason": "stop", "tokens": {"input": 1200, "output": 34}},
    "patch": {"type": "patch", "hash": "abc", "files": ["a.py", "b.py"]},
    "file": {"type": "file", "filename": "shot.png", "mime": "image/png", "url": PNG},
    "agent": {"type": "agent", "name": "plan"},
    "subtask": {"type": "subtask", "agent": "general", "description": "Look into it", "prompt": "go"},
    "compaction": {"type": "compaction", "auto": True, "tail_start_id": "msg_9"},
    "retry": {"type": "retry", "attempt": 2, "error": {"name": "APIError"}},
    "snapshot": {"type": "snapshot", "snapshot": "abc"},
    "mystery": {"type": "mystery", "what": "nobody knows"},
    "unreadable": None,
    "v2-text": {"type": "text", "text": "An answer"},
    "v2-reasoning": {"type": "reasoning", "text": "Hm", "state": {"signature": "s"}},
    "v2-tool-streaming": {
        "type": "tool",
        "id": "call_2",
        "name": "read",
        "state": {"status": "streaming", "input": "{"},
    },
    "v2-tool-completed": {
        "type": "tool",
        "id": "call_3",
        "name": "read",
        "state": {"status": "completed", "input": {"path": "a.txt"}, "content": [{"type": "text", "text": "hello"}]},
    },
    "twin-at-fault": tool("completed", input={"command": "ls"}, output="ok"),
}


def row(name: str, value: dict[str, Any] | None) -> PartRow:
    kind = str(value["type"]) if value else ""
    state = value.get("state", {}) if value else {}
    call = kind == "tool" and value is not None
    fault = Fault(
        1, 1, "key", "duplicate-call-id-in-message", "blocked", "safe", "Two share an id", ("prt_1",), (), "prt_1", 0, 1
    )
    return PartRow(
        id=None if name == "v2-text" else 7,
        stored_id="prt_1",
        kind=kind,
        tool=str(value.get("tool") or value.get("name")) if call and value else "",
        call_id=str(value.get("callID") or value.get("id")) if call and value else "",
        status=str(state.get("status", "")) if call else "",
        size=4_096 if name == "tool-completed" else 100,
        value=value,
        problem="" if value else "Expecting value: line 1 column 1 (char 0)",
        faults=(fault,) if name == "twin-at-fault" else (),
        twin=Twin("A", 1, 2, "call_1", ("prt_2",)) if name == "twin-at-fault" else None,
        step=1,
        after_failed_attempt=name == "step-start-again",
    )


@pytest.mark.parametrize("name", VALUES)
def test_the_card_of_a_part_looks_as_it_did(name: str) -> None:
    stored = row(name, VALUES[name])
    called = f"{part_called(stored.kind, stored.tool)}{' 2' if stored.kind in ('tool', 'text') else ''}"
    others = (Other("bash call 1", "?at=prt_2", "/compare?other=prt_2", same=False),) if stored.twin else ()
    card = part_card(stored, "user" if name == "text-user" else "assistant", called, others)
    shown = {"at": "prt_1" if name == "text" else "", "fault": None}
    html = folded(render_to_string("sessions/_part.html", {"card": card, "shown": shown, "agent": ""})).strip()
    html = re.sub(r'<svg class="icon ".*?#([\w-]+)"></use></svg>', r"<icon \1>", html)
    html = re.sub(r"> ?<(?!/)", ">\n<", html) + "\n"
    path = SNAPSHOTS / f"{name}.html"
    if os.environ.get("SUTURE_SNAPSHOTS") == "write":
        path.write_text(html)

    assert html == path.read_text()


def test_every_kind_that_has_a_look_and_every_snapshot_has_a_card() -> None:
    from sessions_app.web.present import KIND

    assert KIND.keys() <= {value["type"] for value in VALUES.values() if value}
    assert {path.stem for path in SNAPSHOTS.glob("*.html")} == set(VALUES)
