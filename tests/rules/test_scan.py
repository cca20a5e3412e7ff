"""Health, the scan document, and precision on what the real client wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sessions_app
from sessions_app import stores
from sessions_app.domain import dialects, jsjson, planning
from sessions_app.domain.model import Session
from sessions_app.domain.repair import inverted
from sessions_app.domain.scan import SessionScan, as_document, scan
from sessions_app.domain.wire.names import PROTOCOLS
from sessions_app.domain.wire.target import Target
from sessions_app.domain.wish import Wish
from tests.each import for_each
from tests.factories.recordings import INDEX, RECORDINGS, named_target
from tests.factories.sessions import CHAT, CLAUDE, KIMI, V1, aborted, finish, scanned, start, text, tool
from tests.paths import CORPUS

ROOT = Path(sessions_app.__file__).parent
SCHEMA = json.loads((ROOT / "schemas" / "scan.schema.json").read_text())
DATABASES = sorted(path.stem for path in CORPUS.glob("*.db"))


@cache
def sessions(name: str) -> tuple[Session, ...]:
    with stores.open_store(CORPUS / f"{name}.db") as store:
        return tuple(dialects.decode(store.read(str(row["id"]))) for row in store.sessions())


@cache
def recorded_scans(name: str) -> tuple[tuple[Session, Target, SessionScan, dict[str, Any]], ...]:
    return tuple(_recorded_scans(name))


def _recorded_scans(name: str) -> Iterator[tuple[Session, Target, SessionScan, dict[str, Any]]]:
    recorded = RECORDINGS.get(name)
    for session in sessions(name):
        if recorded is not None and recorded["session"] == session.id:
            target = named_target(recorded)
            yield session, target, scan(session, target), recorded


@for_each("name", DATABASES, one_in=4)
def test_a_session_is_blocked_exactly_where_the_provider_refused_its_next_request(name: str) -> None:
    for _, _, result, recorded in recorded_scans(name):
        if recorded.get("accepted"):
            assert result.health != "blocked", result.reasons
        elif recorded.get("requests"):
            assert result.health == "blocked"
            assert recorded["error"].startswith(tuple(violation.error for violation in result.own.violations))  # type: ignore[union-attr]
        else:
            assert result.health == "blocked" and result.own.refusal  # type: ignore[union-attr]


@for_each("name", DATABASES, one_in=4)
def test_every_blocked_session_has_a_blocked_finding_and_is_mended_by_what_is_recommended(name: str) -> None:
    for session, target, result, _ in recorded_scans(name):
        if result.health == "blocked":
            assert any(finding.severity == "blocked" and finding.choices for finding in result.findings)
        plan = planning.plan(session, target, Wish(safety="lossy"))
        after = dialects.applied(session, plan.changes)
        assert scan(after, target).health != "blocked"
        assert not planning.plan(after, target, Wish(safety="lossy")).operations
        assert dialects.apply(after.rows, inverted(plan.changes)) == session.rows


@for_each("name", [name for name, entry in INDEX.items() if entry.get("clean")])
def test_nothing_is_found_in_a_clean_session(name: str) -> None:
    for session in sessions(name):
        result = scan(session)
        assert result.findings == () and result.health == "healthy"
        assert not planning.plan(session, wish=Wish(safety="lossy")).operations


@for_each("name", DATABASES, one_in=4)
def test_safe_repairs_of_an_accepted_session_leave_it_accepted_and_lose_no_output(name: str) -> None:
    for session, target, result, recorded in recorded_scans(name):
        if not recorded.get("accepted"):
            continue
        after = dialects.applied(session, planning.plan(session, target).changes)
        assert scan(after, target).health in ("healthy", result.health)
        assert _outputs(session) <= _outputs(after)


def _outputs(session: Session) -> set[str]:
    """What completed calls gave, as text; an output of another shape becomes its JSON."""
    stored = [
        tool.state.get("output")
        for message in session.messages
        for tool in message.tools()
        if tool.status == "completed"
    ]
    return {output if isinstance(output, str) else jsjson.dumps(output) for output in stored}


def test_the_scan_document_is_what_its_schema_says() -> None:
    blocked = V1(KIMI).user("go").assistant(start(), tool("c"), aborted("c"), finish()).user("on").decoded()
    documents = [
        as_document(session, scanned(session))
        for session in (blocked, V1(CHAT).decoded(), *sessions("dup_id_anthropic"))
    ]
    source = {"path": "a.db", "kind": "sqlite", "dialects": ["opencode-v1"]}
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate({"source": source, "sessions": documents}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"source": source, "sessions": [{**documents[0], "health": "fine"}]}, SCHEMA)


def test_the_document_names_the_violation_the_row_and_every_protocol() -> None:
    session = V1(KIMI).user("go").assistant(start(), tool("f:1"), aborted("f:1"), finish()).user("on").decoded()
    document = as_document(session, scanned(session))
    assert document["health"] == "blocked" and list(document["verdicts"]) == list(PROTOCOLS)
    (violation,) = document["verdicts"]["openai-chat"]["violations"]
    assert (violation["rule"], violation["message"], violation["part"]) == ("O18", "msg_0002", "prt_0002_03")
    assert "Duplicate value for 'tool_call_id'" in violation["error"]
    json.dumps(document)


def test_another_model_that_the_session_used_and_that_refuses_it_makes_it_at_risk() -> None:
    history = V1(CHAT).user("a").assistant(start(), tool("c:0"), finish(), target=CLAUDE).user("b")
    session = history.assistant(start(), tool("c:0"), finish(), target=CLAUDE).user("c").decoded()
    result = scan(session, CHAT)
    assert result.health == "at-risk" and "claude" in result.reasons[-1]


def test_verdicts_of_protocols_it_never_used_do_not_change_health() -> None:
    session = V1(CHAT).user("a").assistant(start(), tool("c:0"), finish(), start(), text("x"), finish("stop")).decoded()
    result = scan(session, CHAT)
    assert result.health == "healthy" and not all(verdict.accepted for verdict in result.verdicts.values())


def test_a_session_without_messages_is_healthy_and_has_no_target() -> None:
    result = scan(V1(CHAT).decoded())
    assert (result.health, result.target, result.verdicts) == ("healthy", None, {})
