"""The texts that are searched, and the words that lead to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.domain.searchtext import WORD, words_asked, words_of


def found(text: str, query: str, *, prefix: bool = True) -> bool:
    words = words_of([text])
    return all(
        any(word.startswith(asked) for word in words) if open_ else asked in words
        for asked, open_ in words_asked(WORD.findall(query), prefix=prefix)
    )


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("see foo_bar.py there", "foo_bar.py"),
        ("see foo_bar.py there", "bar"),
        ("call parseConfigFile()", "ConfigFile"),
        ("call parseConfigFile()", "file"),
        ("an HTTPServer of ours", "server"),
        ("全文検索は速い", "検索"),
        ("全文検索は速い", "い"),
        ("版本v2发布了", "发布"),
        ("Zażółć gęślą", "zażółć"),
        ("한국어로 검색한다", "검색"),
        ("“quoted” words", "quoted"),
        ("toolu_01AbCdEf", "toolu_01ab"),
        ("x" * 300, "x" * 300),
    ],
)
def test_a_word_is_found_in(text: str, query: str) -> None:
    assert found(text, query)


def test_a_whole_word_is_not_the_beginning_of_another() -> None:
    assert not found("configure it", "config", prefix=False)
    assert found("configure it", "config")


@given(st.text(max_size=80))
def test_every_word_of_any_text_leads_to_it(text: str) -> None:
    for word in WORD.findall(text):
        assert found(text, word)
        assert found(text, word, prefix=False) or len(word) == 1


@given(st.lists(st.text(max_size=200), max_size=6))
def test_words_are_letters_and_digits_alone(texts: list[str]) -> None:
    for word in words_of(texts):
        assert not set(word) & set(" \"'*&|!:()<>\\")
