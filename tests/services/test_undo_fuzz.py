"""Databases damaged at random: what a repair wrote its undo takes back, byte for byte, or nothing was written."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sessions_app import stores
from sessions_app.domain.wish import Wish
from sessions_app.services.repair.files import entry_undo, file_repair
from sessions_app.services.repair.write import journal
from sessions_app.stores import StoreError
from tests.each import for_each
from tests.factories.mutating import mutated
from tests.paths import CORPUS
from tests.stores.test_sqlite_write import everything

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SEEDS = 3
MUTANTS = [(path, seed) for path in sorted(CORPUS.glob("*.db")) for seed in range(SEEDS)]


@for_each("mutant", MUTANTS, name=lambda mutant: f"{mutant[0].stem}-{mutant[1]}", one_in=40)
def test_every_repair_of_a_damaged_database_can_be_undone(
    mutant: tuple[Path, int], tmp_path: Path, data_dir: Path
) -> None:
    path = tmp_path / "opencode.db"
    done = mutated(mutant[0], path, mutant[1])
    before = everything(path)
    try:
        with stores.open_store(path) as store:
            report = file_repair(store=store, wish=Wish(safety="lossy"), now=NOW)
    except StoreError as refused:
        assert refused.words, done
        assert everything(path) == before, done
        return
    for name in reversed(report.repairs):
        entry_undo(entry=journal(NOW).get(name), now=NOW)

    assert everything(path) == before, done
    assert {each.outcome for each in report.sessions} <= {"repaired", "nothing", "refused", "unreadable"}, done
    told = [each.why for each in report.sessions if each.outcome == "refused"]
    assert not [why for why in told if "cannot be read as expected" in why], (done, told)
