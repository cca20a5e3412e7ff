"""A loop over entries names every entry that fails, with its first difference."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.each import for_each


def asked(*, everything: bool) -> Any:
    """The request of a test that is run with or without ``--everything``."""
    return SimpleNamespace(
        config=SimpleNamespace(getoption=lambda _: everything), node=SimpleNamespace(user_properties=[])
    )


def seen(*, everything: bool) -> tuple[list[int], Any]:
    found: list[int] = []
    request = asked(everything=everything)

    @for_each("number", range(1000), one_in=10)
    def look(number: int) -> None:
        found.append(number)

    look(request)
    return found, request.node.user_properties


@for_each("number", [1, 2, 3])
def test_each_entry_has_a_folder_of_its_own(number: int, tmp_path: Path) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()


def test_all_entries_that_fail_are_named_with_their_first_difference() -> None:
    @for_each("name", ["one", "two", "three"])
    def broken(name: str) -> None:
        assert name == "one", f"{name} is wrong"

    with pytest.raises(AssertionError) as told:
        broken(asked(everything=False))

    words = str(told.value)
    assert words.startswith("2 of 3 entries failed:")
    assert "\n  two: two is wrong" in words and "\n  three: three is wrong" in words
    assert "\n  one:" not in words


def test_a_missing_refusal_is_a_failure_of_its_entry_too() -> None:
    @for_each("name", ["one"])
    def lenient(name: str) -> None:
        with pytest.raises(ValueError):
            str(name)

    with pytest.raises(AssertionError, match="one: DID NOT RAISE"):
        lenient(asked(everything=False))


def test_a_part_is_the_same_in_every_run_and_is_told() -> None:
    part, told = seen(everything=False)

    assert part == seen(everything=False)[0]
    assert 50 < len(part) < 200
    assert told == [("looked at", (len(part), 1000))]


def test_everything_is_everything() -> None:
    assert seen(everything=True) == (list(range(1000)), [])
