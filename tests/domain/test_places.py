"""Places in words: what a fault is called and where it stands, without a stored id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sessions_app.domain.places import Places, filled, in_words, told
from sessions_app.domain.scan import scan
from sessions_app.models import Finding, Session
from sessions_app.ruletexts import rule_texts
from sessions_app.selectors.outline import session_outline
from tests.each import for_each, stem
from tests.factories.corpus import attached, copied
from tests.factories.sessions import V1, reasoning, text, tool
from tests.paths import CORPUS

LINES = {code: words.line for code, words in rule_texts().items()}


def two_turns() -> V1:
    made = V1().user("go").assistant(tool("call_1"), tool("call_2"), tool("call_3", name="read"))
    return made.user(text("hint", synthetic=True)).user("more").assistant(reasoning("hm"), "done")


def test_a_name_has_a_number_where_its_turn_has_more_of_it() -> None:
    known = Places(two_turns().decoded())
    assert str(known.of("prt_0002_02")) == "bash call 2, turn 1"
    assert str(known.of("prt_0002_03")) == "read call, turn 1"
    assert str(known.of("prt_0005_01")) == "thinking, turn 2"
    assert str(known.of("msg_0005")) == "answer, turn 2"
    assert known.of("prt_gone") is None


def test_what_only_the_client_said_begins_no_turn() -> None:
    assert str(Places(two_turns().decoded()).of("msg_0003")) == "user message 2, turn 1"


def test_a_sentence_names_places_and_keeps_what_it_replaced() -> None:
    names = {"prt_1": "bash call 2, turn 7"}
    said = in_words("Keep prt_1 (completed); prt_9 of msg_3, msg_3#2 and call_I27LijZabcdefgh go.", names)
    assert "".join(word.text for word in said) == (
        "Keep bash call 2, turn 7 (completed); a part of a message, a content item and call_I27…efgh go."
    )
    assert [word.stored_id for word in said if word.stored_id] == [
        *("prt_1", "prt_9", "msg_3", "msg_3#2", "call_I27LijZabcdefgh")
    ]


def test_a_sentence_without_ids_stays_as_it_is() -> None:
    assert [word.text for word in in_words("Nothing is named here.", {})] == ["Nothing is named here."]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        (["bash", "bash"], "A bash call and Two bash calls"),
        (["edit"], "An edit call and One edit calls"),
        (["bash", "read"], "A tool call and Two tool calls"),
        ([], "A tool call and No tool calls"),
        (["x"] * 12, "A x call and 12 x calls"),
        (["  line\nbreak "], "A line break call and One line break calls"),
        (["m" * 80], f"A {'m' * 23}… call and One {'m' * 23}… calls"),
    ],
)
def test_a_line_names_the_tool_it_is_about(tools: list[str], said: str) -> None:
    assert filled("{Tool} and {Count} {tool} calls", tools) == said


def test_a_finding_is_told_with_its_line_its_place_and_the_names_of_all_it_mentions() -> None:
    session = V1().user("go").assistant(tool("call_1"), tool("call_1", "error", error="no")).decoded()
    findings = scan(session).findings
    (said,) = [one for found, one in zip(findings, told(session, findings, LINES), strict=True) if found.parts]
    assert (said.line, said.place) == ("Two bash calls share one id", "bash call 1, turn 1")
    assert said.names == {"prt_0002_01": "bash call 1, turn 1", "prt_0002_02": "bash call 2, turn 1"} | said.names


@pytest.mark.django_db
@for_each("path", sorted(CORPUS.glob("*.db")), name=stem, one_in=16)
def test_kept_findings_name_the_turns_of_the_page_and_no_id(path: Path, tmp_path: Path) -> None:
    attached(copied(path.stem, tmp_path))
    for session in Session.objects.exclude(imported_at=None):
        outline = session_outline(session)
        for finding in Finding.objects.filter(session=session):
            assert finding.line and len(finding.line) <= 70
            for stored, name in finding.names.items():
                turn = re.search(r", turn (\d+)$", name)
                if turn and stored in outline.places:
                    assert int(turn[1]) == outline.places[stored][0]
            said = "".join(word.text for word in in_words(finding.summary, finding.names))
            assert not re.search(r"\b(prt|msg)_", f"{said} {finding.line} {finding.place}")
