"""docs/wire-rules.md lists every rule, where it is implemented and what tests it, and says so truly."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from sessions_app.domain.protocols import REGISTRY
from tests.protocols import test_anthropic, test_bedrock, test_chat, test_gemini, test_responses

PAGE = Path(__file__).parents[2] / "docs" / "wire-rules.md"
MODULES: dict[str, ModuleType] = {
    f"{module.__name__.rpartition('.')[2]}.py": module
    for module in (test_anthropic, test_chat, test_responses, test_gemini, test_bedrock)
}


def numbered(letter: str, last: int, *more: str) -> set[str]:
    return {f"{letter}{number}" for number in range(1, last + 1)} | set(more)


EVERY_RULE = (
    numbered("A", 33, "A2s", "A10o", "A21b", "A21c", "A23b", "A23c")
    | numbered("O", 18)
    | numbered("S", 24)
    | numbered("R", 18, "R-size", "R-media")
    | numbered("G", 15)
    | numbered("B", 15)
)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| [AOSRGB]-?\w+ \|", line)
]
FACTS = {rule: facts for protocol in REGISTRY.values() for rule, facts in protocol.rules.items()}


def test_every_rule_id_is_listed_once() -> None:
    listed = [row[0] for row in ROWS]
    assert sorted(listed) == sorted(EVERY_RULE)
    assert set(FACTS) <= set(listed)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_real_functions_and_real_tests(row: list[str]) -> None:
    rule, sure, tag, where, test, note = row
    for name in re.findall(r"`([\w.]+)`", where):
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(f"sessions_app.domain.protocols.{module}"), function))
    if where == "-":
        assert note.startswith(("No rule", "Not checkable offline"))
    elif rule in FACTS:
        assert (sure, tag) == (FACTS[rule].certainty, FACTS[rule].tag)
    path, _, name = test.strip("`").partition("::")
    if name:
        assert callable(getattr(MODULES[path], name))
    else:
        path, named = path.split()
        assert named == rule
        assert rule in {pair.rule for pair in MODULES[path].PAIRS}


def test_every_rule_that_can_be_raised_has_a_history_that_raises_it() -> None:
    assert set(FACTS) == {pair.rule for module in MODULES.values() for pair in module.PAIRS}
