"""Texts as people paste them: each has a class, and those about the history lead to one of the faults they can come
from.

``error-texts.jsonl`` was made after public reports and from what providers say; the others are further wordings of the
same kinds, each written before the reader was tuned to it.
"""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from sessions_app import stores
from sessions_app.domain import dialects
from sessions_app.domain.errorwords import said
from sessions_app.domain.errorwords.classes import BY_FAULT, NEXT
from sessions_app.domain.errorwords.outside import OUTSIDE
from sessions_app.domain.locate import answer, locate
from sessions_app.domain.rules import REGISTRY
from tests.each import for_each
from tests.factories.v1rows import assistant, session, text, user
from tests.paths import REPORTS

LEFT_OUT = {
    "toolname-custom": "tools.N is the list of tools that the client offers, so a setting by its sense; A7 says both",
}
"""Expectations that were checked by their sense and are not held."""


def lines(name: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (REPORTS / name).read_text().splitlines()]
    return [row for row in rows if row["id"] not in LEFT_OUT]


TEXTS = [
    row for name in ("error-texts", "locate-variants", "locate-fresh", "locate-last") for row in lines(f"{name}.jsonl")
]


def is_right(row: dict[str, Any], pasted: str) -> bool:
    found = answer(pasted)
    kind = row.get("kind") or (row["any_of"][0] if row["class"] == "store" else "")
    if row["class"] == "history":
        return found.about == "history" and bool(set(row["any_of"]) & set(found.readings[0].faults))
    return found.about == row["class"] and kind in ("", found.kind)


@for_each("row", TEXTS, name=lambda row: row["id"])
def test_a_text_is_read_as_what_it_is(row: dict[str, Any]) -> None:
    assert is_right(row, row["text"]), answer(row["text"])
    assert answer(row["text"]).next


def broken(width: int, left: str = "", right: str = "") -> Callable[[str], str]:
    """Hard line breaks inside words, as a terminal makes them, in a box or not."""

    def wrap(pasted: str) -> str:
        line = pasted.replace("\n", " ")
        pieces = [line[at : at + width] for at in range(0, len(line), width)]
        return "\n".join(f"{left}{piece.ljust(width)}{right}" for piece in pieces)

    return wrap


def wrapped(depth: int) -> Callable[[str], str]:
    def wrap(pasted: str) -> str:
        value: Any = {"message": pasted, "type": "invalid_request_error"}
        for _ in range(depth):
            value = {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(value)}}}
        return json.dumps(value)

    return wrap


def in_a_log(pasted: str) -> str:
    error = {"error": {"name": "AI_APICallError", "responseBody": json.dumps({"error": {"message": pasted}})}}
    return (
        "INFO  2026-10-01T10:00:00 +2ms service=llm providerID=acme sessionID=ses_abc stream\n"
        f"ERROR 2026-10-01T10:00:01 +9ms service=session.processor error={json.dumps(error)} process\nINFO done"
    )


COPIES: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "ansi": lambda pasted: " ".join(f"\x1b[31m{word}\x1b[0m" for word in pasted.split(" ")),
    "wrapped inside words": broken(60),
    "boxed": broken(71, "│ ", " │"),
    "html": lambda pasted: f"<p><code>{html.escape(pasted)}</code></p>",
    "url": lambda pasted: quote(pasted, safe=""),
    "zero width": lambda pasted: "\u200b".join(pasted[at : at + 5] for at in range(0, len(pasted), 5)),
    "markdown": lambda pasted: "> **Error**: " + pasted.replace("_", r"\_").replace("`", r"\`"),
    "mail": lambda pasted: "\n".join(f"> > {line}" for line in pasted.split("\n")),
    "json": wrapped(0),
    "gateways": wrapped(3),
    "python": lambda pasted: (
        f"litellm.BadRequestError: Error code: 400 - { ({'error': {'message': pasted}})!r}. Model=x"
    ),
    "log": in_a_log,
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_text_is_the_same_however_it_was_copied(copy: Callable[[str], str]) -> None:
    """All but a few: a copy of a copy, or of a text that was cut short, may lose what it was known by."""
    meant = [row for row in TEXTS if row["class"] != "generic"][::3]
    wrong = [row["id"] for row in meant if not is_right(row, copy(row["text"]))]
    assert len(wrong) <= len(meant) * 0.03, wrong


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "the cat sat on the mat",
        "TypeError: undefined is not an object (evaluating 'msg.parts')",
        "I like my tool calls",
        "command not found: opencode",
        "Segmentation fault (core dumped)",
        "LSP server failed to start",
    ],
)
def test_a_text_of_nothing_known_is_generic_and_says_where_the_words_are(pasted: str) -> None:
    found = answer(pasted)
    assert (found.about, found.readings) == ("generic", ())
    assert "responseBody" in found.next


def test_a_conversation_in_the_request_is_not_read_as_the_answer() -> None:
    log = {
        "requestBodyValues": {"messages": [{"role": "user", "content": "database is locked, prompt is too long"}]},
        "responseBody": json.dumps(
            {"error": {"message": "messages.3.content.0: Invalid `signature` in `thinking` block"}}
        ),
    }
    assert [reading.faults[0] for reading in answer(json.dumps(log)).readings] == ["thinking-unsigned"]


def test_a_position_broken_by_a_line_is_read_whole() -> None:
    pasted = "messages.1\n4: `tool_use` ids were fou\nnd without `tool_result` blo\ncks immediately after: toolu_0\n1Z."
    reading = answer(pasted).readings[0]
    assert (reading.position, "toolu_01Z" in reading.ids) == ("messages.14", True)


def test_every_class_and_kind_says_what_to_do() -> None:
    assert {(words.about, words.kind) for words in OUTSIDE} <= set(NEXT)
    assert set(BY_FAULT) <= set(REGISTRY)


JUNK = {
    "letters": "a" * 1_000_000,
    "braces": '{"a":' * 200_000,
    "strings": '{"error":{"message":"' * 50_000,
    "documents": '{"message":"x"}' * 66_000,
    "backslashes": '\\"' * 500_000,
    "borders": "│ " * 500_000,
    "blanks": " \t" * 500_000,
    "quotes": ">\n" * 500_000,
    "escapes": "\x1b]" * 500_000,
    "entities": "&#x" * 333_000,
    "tags": "<a " * 333_000,
    "positions": "messages.1" * 100_000,
    "ids": "immediately after: " + "a, " * 333_000,
    "words": "unexpected role a after role " * 34_000,
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_a_megabyte_of_junk_is_read_in_under_a_second(junk: str) -> None:
    answer("")
    started = time.process_time()
    answer(junk)
    assert time.process_time() - started < 1


# Places


def stored(name: str) -> Any:
    with stores.open_store(REPORTS / name) as store:
        return dialects.decode(store.read(store.session_ids()[0]))


ORPHAN = (
    "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block"
)


def test_an_id_is_better_evidence_than_a_position() -> None:
    found = locate(ORPHAN.format("toolu_C"), stored("locate-position-beats-id.json"))
    assert (found[0].message, found[0].part, found[0].by) == ("msg_0004", "prt_0004_04", "id")
    assert [one.by for one in found] == ["id", "recorded"]


def test_the_session_that_stores_the_same_words_is_found_by_them() -> None:
    found = locate("Error: 400 " + ORPHAN.format("toolu_1"), stored("recorded-refusal-orphan.json"))
    assert ("msg_0007", "recorded") in [(one.message, one.by) for one in found]


def test_a_text_that_says_nothing_leads_to_what_is_stored_beside_the_same_words() -> None:
    error = {"name": "APIError", "data": {"message": "Bad Request", "responseBody": '{"error":"prompt is too long"}'}}
    found = locate("Bad Request", session(user(text("q")), assistant(error=error)))
    assert [(one.message, one.by, one.faults[0]) for one in found] == [("m1", "recorded", "context-overflow")]


def test_a_position_leads_nowhere_in_a_search_of_many_sessions() -> None:
    rows = session(user(text("q")), assistant(text("a"), text("b")))
    pasted = "messages.1.content.1: Invalid `signature` in `thinking` block"
    assert locate(pasted, rows)[0].by == "position"
    assert locate(pasted, rows, searching=True) == []


def test_the_innermost_message_comes_first_and_all_of_the_text_last() -> None:
    layers = said(wrapped(2)("the words")).layers
    assert "the words" in layers[0].text
    assert all(words in layers[-1].text for words in ("the words", "Provider returned error"))
