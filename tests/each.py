"""One test over many entries of recorded data: every entry that fails is named, with its first difference.

A case for each of thousands of goldens costs more in the test runner than in the code under test. ``make test`` looks
at a fixed part of the large collections (the same entries in every run, by a hash of their names) and says how many of
how many; ``make test-all`` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any
from zlib import crc32

import pytest

SHOWN = 600
"""Characters shown of an entry's failure: enough for the first difference."""


def for_each(
    argument: str, entries: Iterable[Any], *, name: Callable[[Any], str] = str, one_in: int = 1
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """In place of ``parametrize``: the test is called with entry after entry as its ``argument``, and fails with the
    names of all entries that fail.

    Of ``one_in`` entries, ``make test`` looks at about one. Each entry gets a ``tmp_path`` of its own; other fixtures
    are shared.
    """
    known = list(entries)
    part = [entry for entry in known if crc32(name(entry).encode()) % one_in == 0]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def loop(request: pytest.FixtureRequest, **fixtures: Any) -> None:
            looked = known if request.config.getoption("everything") else part
            assert looked, "no entry to look at"
            if len(looked) < len(known):
                request.node.user_properties.append(("looked at", (len(looked), len(known))))
            failed: dict[str, BaseException] = {}
            for number, entry in enumerate(looked):
                own = {**fixtures, argument: entry}
                if "tmp_path" in fixtures:
                    own["tmp_path"] = fixtures["tmp_path"] / str(number)
                    own["tmp_path"].mkdir()
                try:
                    test(**own)
                except (Exception, pytest.fail.Exception) as error:
                    failed[name(entry)] = error
            if failed:
                _tell(failed, len(looked))

        wanted = [one for one in signature(test).parameters.values() if one.name != argument]
        asked = Parameter("request", Parameter.POSITIONAL_OR_KEYWORD)
        loop.__signature__ = signature(test).replace(parameters=[asked, *wanted])  # type: ignore[attr-defined]
        return pytest.mark.partly(loop) if one_in > 1 else loop

    return decorate


def _tell(failed: dict[str, BaseException], looked: int) -> None:
    said = "".join(f"\n  {name}: {_first(error)}" for name, error in failed.items())
    raise AssertionError(f"{len(failed)} of {looked} entries failed:{said}") from next(iter(failed.values()))


def _first(error: BaseException) -> str:
    words = str(error).strip()
    if not isinstance(error, (AssertionError, pytest.fail.Exception)):
        words = f"{type(error).__name__}: {words}"
    return words if len(words) <= SHOWN else f"{words[:SHOWN]} ..."


def stem(path: Any) -> str:
    """The name of a file without its end, as the name of an entry."""
    return str(path.stem)


def some_of(entries: Iterable[str], one_in: int) -> list[Any]:
    """For ``parametrize``, where each entry needs fixtures of its own: about one of ``one_in`` is looked at by
    ``make test``, the others by ``make test-all``."""
    exhaustive = pytest.mark.exhaustive
    return [pytest.param(entry, marks=() if crc32(entry.encode()) % one_in == 0 else exhaustive) for entry in entries]
