"""Precision: healthy sessions give no finding that would make anyone worry, and hardly a word."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sessions_app.domain import dialects
from sessions_app.domain.model import Session
from sessions_app.domain.rules import Facts
from sessions_app.domain.scan import scan
from sessions_app.stores import open_store
from tests.each import for_each
from tests.factories.bigstore import make_store
from tests.factories.healthy import healthy
from tests.factories.recordings import INDEX, corpus_rows

CLEAN = [name for name, entry in INDEX.items() if entry.get("clean")]
NOW = 1_795_000_000_000


def quiet(session: Session) -> None:
    """No finding above info, at most one of info, and healthy."""
    found = scan(session, facts=Facts(store="sqlite", now=NOW))
    assert [finding.summary for finding in found.findings if finding.severity != "info"] == []
    assert len(found.findings) <= 1, [finding.summary for finding in found.findings]
    assert found.health == "healthy", found.reasons


@for_each("seed", range(1_000), one_in=8)
def test_a_thousand_generated_healthy_sessions_are_quiet(seed: int) -> None:
    quiet(healthy(seed))


@for_each("name", CLEAN)
def test_the_clean_sessions_of_the_corpus_are_quiet(name: str) -> None:
    quiet(dialects.decode(corpus_rows(name, INDEX[name]["session"])))


def test_a_thousand_healthy_sessions_are_healthy(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_store(path, sessions=1_000)
    healths: Counter[str] = Counter()
    worrying = []

    with open_store(path) as store:
        for rows in store.read_all():
            found = scan(dialects.decode(rows))
            healths[found.health] += 1
            worrying += [finding for finding in found.findings if finding.severity != "info"]

    assert worrying == []
    assert healths == {"healthy": 1_000}
