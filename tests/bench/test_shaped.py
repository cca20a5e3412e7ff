"""The made-up stores that the benches measure on: whole ones are healthy, damaged ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.damage import WAYS
from bench.shaped import Shape, make_shaped
from sessions_app.domain import dialects
from sessions_app.domain.model import Session
from sessions_app.domain.scan import SessionScan, scan
from sessions_app.stores import open_store


def _scanned(path: Path) -> dict[str, tuple[Session, SessionScan]]:
    with open_store(path) as store:
        decoded = (dialects.decode(rows) for rows in store.read_all())
        return {session.id: (session, scan(session)) for session in decoded}


def test_whole_sessions_are_healthy_and_every_damage_is_found(tmp_path: Path) -> None:
    store = make_shaped(tmp_path / "opencode.db", Shape(60, damaged=0.4, seed=2))

    found = _scanned(store.path)

    assert set(found) == set(store.ids)
    assert set(store.damaged.values()) == set(WAYS)
    for stored, (_, result) in found.items():
        worrying = [one.summary for one in result.findings if one.severity != "info"]
        assert bool(worrying) == (stored in store.damaged), (stored, store.damaged.get(stored), worrying)
        assert (result.health == "healthy") == (stored not in store.damaged), (stored, result.reasons)
    totals = [one for stored, (_, result) in found.items() for one in result.findings if stored not in store.damaged]
    assert "usage-counters-wrong" not in {one.rule for one in totals}


def test_the_same_seed_gives_the_same_rows_and_another_gives_others(tmp_path: Path) -> None:
    def rows(name: str, seed: int) -> list[tuple[str, str]]:
        with open_store(make_shaped(tmp_path / name, Shape(3, events=True, seed=seed)).path) as store:
            return [(str(part["id"]), str(part["data"])) for one in store.read_all() for part in one.parts]

    first = rows("a.db", 1)

    assert first == rows("b.db", 1)
    assert first != rows("c.db", 2)
    assert len({part for part, _ in first}) == len(first)


def test_long_sessions_and_large_outputs_are_added(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    store = make_shaped(path, Shape(2, long=(600,), outputs=(300_000,)))

    found = _scanned(path)

    long = found[store.ids[2]][0]
    assert sum(len(message.parts) for message in long.messages) >= 600
    assert found[store.ids[2]][1].health == "healthy"
    assert any("300,000 characters" in one.summary for one in found[store.ids[3]][1].findings)
    with pytest.raises(FileExistsError):
        make_shaped(path, Shape(1))
