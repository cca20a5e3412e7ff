"""Faults derived from the catalogue's text: each rule's other forms, with what may change and nothing else.

A case says which codes are found (and their severity, null where the text leaves it open), which are not, and for every
run exactly which rows go, which fields get which value (null = gone, a leading ``*`` = contains the rest) and how many
rows are inserted.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from sessions_app.domain import dialects, planning, rowdoc
from sessions_app.domain.model import Session
from sessions_app.domain.repair import RowChange, inverted
from sessions_app.domain.scan import scan
from sessions_app.domain.wire.target import Target, parse_target
from sessions_app.domain.wish import Wish
from tests.each import for_each
from tests.factories.goldens import Golden, goldens

FOLDER = Path(__file__).parent / "derived"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
RUNS = [(name, index) for name, case in CASES.items() for index in range(len(case["runs"]))]


def load(name: str) -> tuple[Session, Target | None]:
    case = CASES[name]
    session = dialects.decode(rowdoc.parse_value(copy.deepcopy(case["input"])))
    return session, parse_target(case["target"], case["thinking"], session) if case["target"] else None


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Every leaf by its dotted path; an empty object or array is a leaf."""
    if not isinstance(value, (dict, list)) or not value:
        return {path: value}
    members = value.items() if isinstance(value, dict) else enumerate(value)
    found: dict[str, Any] = {}
    for key, member in members:
        found |= leaves(member, f"{path}.{key}".lstrip("."))
    return found


def fields(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, and the leaves of its data in place of its text."""
    return {name: value for name, value in row.items() if name != "data"} | leaves(json.loads(row["data"]))


def agrees(stored: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) and wanted.startswith("*"):
        return isinstance(stored, str) and all(piece in stored for piece in wanted[1:].rstrip("*").split("*"))
    return bool(stored == wanted)


def check_row(change: RowChange, wanted: dict[str, Any]) -> None:
    """The row changed in the wanted fields and in no other."""
    assert change.before is not None and change.after is not None
    before, after = fields(change.before), fields(change.after)
    for path, value in wanted.items():
        if value is None:
            left = [name for name in after if name == path or name.startswith(path + ".")]
            assert not left, (path, left)
        else:
            assert agrees(after.get(path), value), (path, after.get(path))
    differing = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    containers = {path for path in differing if before.get(path) in ({}, []) or after.get(path) in ({}, [])}
    named = {path for path in differing for want in wanted if path == want or path.startswith(want + ".")}
    assert differing - containers <= named, differing - named


@for_each("name", CASES)
def test_what_the_text_says_is_found_and_no_more_is_claimed(name: str) -> None:
    session, target = load(name)
    case = CASES[name]
    result = scan(session, target, case["thinking"])
    found = {finding.rule: finding.severity for finding in reversed(result.findings)}
    for code, severity in case["found"].items():
        assert code in found, (code, found)
        assert severity is None or severity in {one.severity for one in result.findings if one.rule == code}
    assert not set(case["absent"]) & set(found)
    if "health" in case:
        assert result.health == case["health"], result.reasons


@for_each("run", RUNS)
def test_a_repair_changes_what_the_text_says_and_nothing_else(run: tuple[str, int]) -> None:
    name, index = run
    session, target = load(name)
    run = CASES[name]["runs"][index]
    wish = Wish.of(safety=run["safety"], rules=run.get("rules", ()), choices=run.get("choices"))
    plan = planning.plan(session, target, wish)
    removed = {change.key["id"] for change in plan.changes if change.after is None}
    changed = {change.key["id"]: change for change in plan.changes if change.before and change.after}
    assert removed == set(run["removed"])
    assert changed.keys() == run["changed"].keys()
    assert sum(change.before is None for change in plan.changes) == run["inserted"]
    for row, wanted in run["changed"].items():
        check_row(changed[row], wanted)
    after = dialects.applied(session, plan.changes)
    assert dialects.apply(after.rows, inverted(plan.changes)) == session.rows
    assert not planning.plan(after, target, wish).operations
    if "health" in run:
        result = scan(after, target, CASES[name]["thinking"])
        assert result.health == run["health"], result.reasons


@for_each("golden", goldens(), name=repr, one_in=25)
@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages", "bedrock-converse"])
def test_golden_histories_are_repaired_once_and_for_all(golden: Golden, protocol: str) -> None:
    session = dialects.decode(golden.rows(), golden.generation)
    model = golden.input["model"]
    target = parse_target(f"{protocol}:{model['providerID']}/{model['id']}", "auto", session)
    plan = planning.plan(session, target, Wish(safety="lossy"))
    after = dialects.applied(session, plan.changes)
    assert dialects.apply(after.rows, inverted(plan.changes)) == session.rows
    assert not planning.plan(after, target, Wish(safety="lossy")).operations
    left = scan(after, target).findings
    assert not [one for one in left if one.severity == "blocked" and one.safety != "manual"]
