"""What people install: ``uv tool install`` of this checkout, used from elsewhere by somebody who has nothing yet."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from .checkout import ROOT, UV, checkout

pytestmark = pytest.mark.exhaustive


class Installed:
    """A ``suture`` of its own, and a machine around it: an empty home, and some folder to be in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.program = root / "bin" / "suture"
        self.home = root / "home"
        self.elsewhere = root / "elsewhere"
        self.home.mkdir()
        self.elsewhere.mkdir()

    @property
    def surroundings(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.root)}

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *map(str, arguments)],
            cwd=self.elsewhere,
            env=self.surroundings,
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> set[str]:
        """What lies in the installed package."""
        package = next(self.root.glob("tools/suture/lib/python*/site-packages/sessions_app"))
        return {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    with tempfile.TemporaryDirectory(prefix="suture-install-") as name:
        root = Path(name)
        clone = checkout(root / "clone")
        stale = clone / "build" / "lib" / "sessions_app" / "stale.py"
        stale.parent.mkdir(parents=True)
        stale.write_text("raise RuntimeError\n")
        locks = ("--constraints", ROOT / "requirements.lock", "--build-constraints", ROOT / "requirements-dev.lock")
        subprocess.run(
            [UV, "tool", "install", "--quiet", "--python", "3.13", *locks, clone],
            env={**os.environ, "UV_TOOL_DIR": str(root / "tools"), "UV_TOOL_BIN_DIR": str(root / "bin")},
            check=True,
        )
        shutil.rmtree(clone)
        yield Installed(root)


def test_every_file_of_the_package_and_every_page_is_installed_and_nothing_else(installed):
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "sessions_app", "templates", "static"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    there = {name for name in tracked if (ROOT / name).is_file()}
    assert {name for name in installed.files() if not name.endswith(".pyc")} == {
        name.removeprefix("sessions_app/") for name in there
    }


def test_version_and_scan_work_from_anywhere_and_leave_nothing_in_the_home(installed):
    sample = installed.elsewhere / "samples.db"
    sample.write_bytes(lzma.decompress((ROOT / "sessions_app" / "samples" / "samples.db.xz").read_bytes()))

    version = installed.run("--version")
    scanned = installed.run("scan", sample, "--json")

    assert re.fullmatch(r"suture \d+\.\d+\.\d+\n", version.stdout)
    assert (scanned.returncode, scanned.stderr) == (1, "")
    assert "duplicate-call-id-in-message" in scanned.stdout
    assert not any(path.is_file() for path in installed.home.rglob("*"))


def test_serve_shows_its_pages_with_their_styles(installed, tmp_path):
    serving = subprocess.Popen(
        [installed.program, "serve", "--port", "0"],
        cwd=installed.elsewhere,
        env={**installed.surroundings, "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout is not None
        url = next(line for line in serving.stdout if line.startswith("Suture is at")).split()[-1]
        with urllib.request.urlopen(f"{url}login/", timeout=60) as answer:
            page = answer.read().decode()
        assert "<form" in page
        styles = re.findall(r'href="/(static/[^"]+\.css)"', page)
        assert styles
        for style in styles:
            with urllib.request.urlopen(f"{url}{style}", timeout=60) as answer:
                assert answer.headers["Content-Type"].startswith("text/css")
                assert answer.read() == (ROOT / style).read_bytes()
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
    assert serving.returncode == 143
