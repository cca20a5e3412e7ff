"""Precision: a store of a thousand healthy sessions gives no finding that would make anyone worry."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sessions_app.domain import dialects
from sessions_app.domain.scan import scan
from sessions_app.stores import open_store
from tests.factories.bigstore import make_store


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
