"""How rules are registered, the order of their repairs, and what they say to people."""

from __future__ import annotations

from pathlib import Path

import pytest

import sessions_app
from sessions_app.domain.rules import REGISTRY, Context, Finding, find_all, parse_text
from sessions_app.domain.rules.order_of_repair import ORDER_OF_REPAIR
from sessions_app.domain.rules.registration import REGISTERED, rule
from sessions_app.ruletexts import rule_kind, rule_texts, rules_page
from tests.factories.sessions import KIMI, V1, aborted, finish, start, tool

ROOT = Path(sessions_app.__file__).parent


def test_every_rule_stands_in_the_order_of_repair_once() -> None:
    assert sorted(ORDER_OF_REPAIR) == sorted(REGISTERED)
    assert list(REGISTRY) == list(ORDER_OF_REPAIR)


def test_unreadable_rows_are_mended_first_and_messages_left_empty_after_what_empties_them() -> None:
    order = ORDER_OF_REPAIR.index
    assert ORDER_OF_REPAIR[0] == "corrupt-json"
    for earlier in ("thinking-unsigned", "item-reference-missing", "orphan-tool-result"):
        assert order(earlier) < order("empty-content") < order("role-order")


def test_a_code_is_taken_once() -> None:
    with pytest.raises(ValueError, match="two rules are named stuck-tool"):
        rule("stuck-tool", severity="info", safety="manual")(REGISTRY["stuck-tool"].find)
    assert REGISTERED["stuck-tool"].severity == "at-risk"


def test_only_the_rules_that_are_asked_for_look() -> None:
    session = V1(KIMI).user("go").assistant(start(), tool("c"), aborted("c"), finish()).user("on").decoded()

    def codes(*asked: str) -> set[str]:
        return {finding.rule for finding in find_all(Context(session), asked or REGISTRY)}

    assert "duplicate-call-id-in-message" in codes()
    assert codes("duplicate-call-id-in-message") == {"duplicate-call-id-in-message"}
    assert codes("stuck-tool") == set()


def made(**said: object) -> Finding:
    context = Context(V1(KIMI).user("go").decoded())
    context.rule = "stuck-tool"
    return context.finding("words", **said)  # type: ignore[arg-type]


def test_a_finding_that_nobody_refuses_and_that_has_no_repair_is_at_risk_and_done_by_hand() -> None:
    finding = made(messages=["msg_1", ""], parts=[""])
    assert (finding.rule, finding.severity, finding.safety) == ("stuck-tool", "at-risk", "manual")
    assert (finding.messages, finding.parts) == (("msg_1",), ())


@pytest.mark.parametrize("code", REGISTRY)
def test_a_rule_says_what_it_is_who_refuses_it_why_and_what_is_done(code: str) -> None:
    text = rule_texts()[code]
    for words in (text.kind, text.line, text.what, text.rejected, text.why, text.repair):
        assert words[0].isupper() | words[0].isascii() and len(words) > 7


def test_every_text_belongs_to_a_rule() -> None:
    written = {path.stem for path in (ROOT / "domain" / "rules" / "texts").iterdir()}
    assert written == set(REGISTRY)


def test_an_older_finding_of_a_rule_that_is_gone_is_called_by_its_code() -> None:
    assert rule_kind("long-gone") == "long-gone"
    assert rule_kind("stuck-tool") == "Call that never ended"


SECTIONS = "## What it is\n\nOne\ntwo.\n\n## Refused by\n\nA\n\n## Why it happens\n\nB\n\n## Repair\n\nC\n"
GOOD = f"# Title\n\nIt broke\n\n{SECTIONS}"


def test_a_text_is_read_with_each_section_on_one_line() -> None:
    text = parse_text(GOOD)
    assert (text.kind, text.line, text.what, text.rejected, text.why, text.repair) == (
        *("Title", "It broke", "One two.", "A", "B", "C"),
    )


@pytest.mark.parametrize(
    "broken",
    [
        GOOD.removeprefix("# Title\n\n"),
        GOOD.replace("## Repair", "## Cure"),
        GOOD.replace("\n\nC\n", "\n"),
        GOOD + "\n## More\n\nD\n",
        GOOD.replace("## Refused by\n\nA\n\n", ""),
    ],
)
def test_a_text_without_its_headings_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match="What it is, Refused by, Why it happens, Repair"):
        parse_text(broken)


@pytest.mark.parametrize("line", ["", "It broke.", "{what} broke", "{Tool} " + "broke " * 8, "It broke\nin two", "{"])
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not a line of a rule"):
        parse_text(GOOD.replace("It broke", line))


def test_the_page_of_rules_is_written_from_the_rules() -> None:
    written = (ROOT.parent / "docs" / "rules.md").read_text()
    assert written == rules_page(), "run: python -m sessions_app.ruletexts > docs/rules.md"
