"""The tables of wire rules are complete, tested rule by rule, and what docs/wire-rules.md is made from."""

from __future__ import annotations

from pathlib import Path

from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.protocols.page import page
from sessions_app.domain.rules import REGISTRY as FAULTS
from tests.protocols import test_anthropic, test_bedrock, test_chat, test_gemini, test_responses

PAGE = Path(__file__).parents[2] / "docs" / "wire-rules.md"
MODULES = (test_anthropic, test_chat, test_responses, test_gemini, test_bedrock)
RULES = {code: rule for protocol in REGISTRY.values() for code, rule in protocol.rules.items()}
UNCHECKED = {
    "A11": test_anthropic.test_shapes_measured_on_the_real_api_get_the_measured_answer,
    "A24": test_anthropic.test_what_only_the_server_can_decide_is_a_third_outcome,
    "O16": test_chat.test_image_tiling_is_left_to_the_server,
    "O17": test_chat.test_what_openai_was_measured_to_take_is_not_flagged,
    "S20": test_chat.test_azure_is_judged_as_openai_is,
    "R18": test_responses.test_alternation_tail_and_adjacency_are_no_rules_here,
    "G12": test_gemini.test_a_history_of_text_may_start_with_the_model,
    "G15": test_gemini.test_alternation_of_text_and_mismatched_names_are_no_rules,
}
"""What no check raises, with the test that holds it to that."""


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


def test_every_rule_has_an_entry() -> None:
    assert set(RULES) == EVERY_RULE


def test_every_rule_that_can_be_raised_has_a_history_that_raises_it() -> None:
    checked = {code for code, rule in RULES.items() if rule.checked}
    assert checked == {pair.rule for module in MODULES for pair in module.PAIRS}
    assert set(RULES) - checked == set(UNCHECKED)


def test_a_rule_comes_from_faults_that_there_are() -> None:
    assert {fault for rule in RULES.values() for fault in rule.faults} <= set(FAULTS)


def test_what_is_raised_has_words_and_a_meaning_and_what_is_not_says_why() -> None:
    for rule in RULES.values():
        if rule.checked:
            assert any(words.texts for words in rule.words), rule.code
            assert all(words.means for words in rule.words), rule.code
        else:
            assert rule.note and not any(words.texts for words in rule.words), rule.code


def test_a_text_has_one_name_in_its_rule() -> None:
    for rule in RULES.values():
        names = [name for words in rule.words for name in words.texts]
        assert len(names) == len(set(names)), rule.code


def test_the_page_is_made_from_the_tables() -> None:
    assert PAGE.read_text() == page(), "run: python -m sessions_app.domain.protocols.page > docs/wire-rules.md"
