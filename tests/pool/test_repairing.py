"""``suture repair`` over a whole store with several processes: the plans and rows of one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sessions_app.domain.rowdoc import rows_hash
from sessions_app.domain.wish import Wish
from sessions_app.services.repair import files
from sessions_app.services.repair.files import file_repair
from sessions_app.stores import open_store
from tests.pool import makers
from tests.pool.test_scanning import stored_ids
from tests.services.test_filerepair_corpus import NOW

pytestmark = pytest.mark.exhaustive


def hashes(path: Path) -> list[str]:
    with open_store(path) as store:
        return [rows_hash(store.read(one)) for one in store.session_ids()]


def copied(path: Path, name: str) -> Path:
    (path.parent / name).mkdir()
    return Path(shutil.copy(path, path.parent / name / path.name))


@pytest.mark.parametrize("safety", ["safe", "lossy"])
def test_a_plan_is_what_one_process_makes(suture, several, safety):
    given = ("repair", several, "--safety", safety, "--json")
    alone = suture(*given, "--jobs", 1, "--dry-run")

    assert suture(*given, "--jobs", 3, "--dry-run") == alone
    assert "would-repair" in alone.out


def test_rows_and_patch_are_what_one_process_writes(suture, several):
    alone, shared = copied(several, "alone"), copied(several, "shared")
    patches = []
    for path, jobs in ((alone, 1), (shared, 3)):
        patch = path.with_suffix(".sql")
        suture("repair", path, "--jobs", jobs, "--patch", patch)
        patches.append(patch.read_text())
        assert suture("repair", path, "--jobs", jobs).code == 1

    assert hashes(alone) == hashes(shared) != hashes(several)
    assert patches[0] == patches[1]


def test_a_session_that_processes_die_of_is_refused_alone(several, monkeypatch):
    which = stored_ids(several)[1]
    real = files.over

    def over(store, ids, maker, settings, **more):
        made = real(store, ids, makers.killed_at, (which, None), **more)
        return (one if isinstance(one, files._Planned) else files._Planned(files.SessionOutcome(one)) for one in made)

    monkeypatch.setattr(files, "over", over)
    with open_store(several) as store:
        report = file_repair(store=store, wish=Wish(), now=NOW, jobs=2, dry_run=True)

    assert [one.outcome for one in report.sessions] == ["nothing", "refused", *["nothing"] * 4]
    assert report.warnings == [f"{which}: the process that had it in hand was ended by SIGKILL; it is done once more."]
