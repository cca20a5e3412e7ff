"""What another local user of the machine can read or do: nothing."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.factories.serving import Serving, children
from tests.paths import CORPUS
from tests.trials.surroundings import suture

pytestmark = pytest.mark.exhaustive

NOBODY = 65534


def as_nobody(*command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False, cwd="/", timeout=60
    )


def open_to_others(folder: Path) -> list[str]:
    """Below a data directory that a careless hand opened."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that everybody may pass through, as /home is."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and str(folder) not in ("/", "/tmp"):
            folder.chmod(0o755)
    return tmp_path


def test_everything_that_commands_leave_is_for_its_owner_alone(place: Path) -> None:
    path = Path(shutil.copyfile(CORPUS / "dup_id_slow.db", place / "opencode.db"))
    path.chmod(0o600)
    (place / "results").mkdir()
    for command in (
        ("import", path),
        ("repair", path),
        ("bulk-repair",),
        ("export", path, "--as", "database", "--output", place / "results" / "copy.db"),
        ("export", path, "--as", "rows", "--output", place / "results" / "rows.json"),
        ("repair", path, "--output", place / "results" / "repaired.db"),
    ):
        done = suture(place, *command, before=lambda: os.umask(0o022))  # type: ignore[arg-type,return-value]
        assert done.code == 0, (command, done)
    data = place / "data"

    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    inside = [path for path in data.rglob("*") if path.is_file()]
    assert {"suture.db", "lock", ".of"} <= {path.name for path in inside}
    assert open_to_others(data) == []
    assert len(list((place / "results").iterdir())) == 3
    assert open_to_others(place / "results") == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "a repair leaves the file as closed as it was"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_nobody_reads_nothing_and_a_running_server_asks_who_it_is(place: Path) -> None:
    shutil.copyfile(CORPUS / "dup_id_slow.db", place / "opencode.db")
    with Serving(place, str(place / "opencode.db")) as served:
        served.answering()
        token = served.said("API token:")
        link = served.said("Sign in, once and within 15 minutes:")
        secrets = (token, link.rpartition("/")[2], (served.data / "secret_key").read_text().strip())

        family = children(served.process.pid) | {served.process.pid}
        for process in family:
            for what in ("cmdline", "environ", "maps", "fd", "cwd", "root", "mem", "auxv"):
                listed = what in ("fd", "cwd", "root")
                seen = as_nobody("ls" if listed else "cat", f"/proc/{process}/{what}{chr(47) if listed else ''}")
                assert not any(secret.encode() in seen.stdout for secret in secrets), (process, what)
                assert what == "cmdline" or seen.returncode != 0, (process, what)
        files = [str(path) for path in served.data.rglob("*")]
        assert files
        for command in (("ls", str(served.data)), ("cat", *files), ("head", "-c1", *files)):
            tried = as_nobody(*command)
            assert (tried.returncode != 0, tried.stdout) == (True, b""), command
        assert open_to_others(served.data) == []
        for path in ("/", "/api/v1/sessions", "/admin/", "/api/v1/sources", "/sessions/1/", "/metrics"):
            request = urllib.request.Request(f"{served.url}{path}")
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    assert "/login" in answer.url, path
            except urllib.error.HTTPError as refused:
                assert refused.code in (401, 404), path
        as_nobody("kill", "-9", *map(str, family))
        assert served.get("/healthz") == (200, "ok\n")
        assert served.ended(signal.SIGTERM) == 143
