"""The real client, npm ``opencode-ai``, run in a home of its own against a provider on loopback."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

MEASURED = "1.18.33"
"""The client that everything is measured with."""
VERSION = os.environ.get("CLIENT_VERSION") or MEASURED
"""The client that is run; another one has a folder of its own."""
ROOT = Path(__file__).resolve().parents[2]


def program() -> Path | None:
    """The client of this version: ``$SUTURE_CLIENT``, else the one that ``make client`` installs; None where there is
    none."""
    named = os.environ.get("SUTURE_CLIENT")
    folder = "client" if VERSION == MEASURED else f"client-{VERSION}"
    path = Path(named) if named else ROOT / ".local" / folder / "node_modules" / ".bin" / "opencode"
    return path if path.is_file() else None


@dataclass(frozen=True)
class Run:
    code: int
    output: str


@dataclass(frozen=True)
class Client:
    """The client with its home below ``home`` and its project in ``project``."""

    home: Path
    project: Path

    @property
    def database(self) -> Path:
        return self.home / "share" / "opencode" / "opencode.db"

    def take(self, database: Path) -> str:
        """Make ``database`` the client's own, its sessions moved to this project's directory; the id of its first
        session.

        A run from another directory than the session's hangs after the turn (docs/contract/formats.md#a7), and the
        client knows a project by its directory.
        """
        self.database.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(database, self.database)
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute("UPDATE project SET worktree = ?", (str(self.project),))
            connection.execute("UPDATE session SET directory = ?", (str(self.project),))
            row = connection.execute("SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_created").fetchone()
        return str(row[0])

    def forget(self) -> None:
        """Take the client's database away, with its write-ahead log."""
        for path in self.database.parent.glob("opencode.db*"):
            path.unlink()

    def go_on(self, session: str, prompt: str = "continue", timeout: float = 90) -> Run:
        return self.run("run", "-s", session, prompt, timeout=timeout)

    def export(self, session: str, target: Path) -> Path:
        """What ``opencode export`` writes, to a file: through a pipe the client cuts it
        (docs/contract/formats.md#a5)."""
        with target.open("wb") as stream:
            done = self._start(("export", session), stream, subprocess.DEVNULL, 60)
        assert done.returncode == 0, target.read_text(errors="replace")[-500:]
        return target

    def take_in(self, export: Path) -> Run:
        """``opencode import``: the session gets this project's directory; an existing session is left as it is
        (docs/contract/formats.md#a5)."""
        return self.run("import", str(export))

    def run(self, *arguments: str, timeout: float = 90) -> Run:
        done = self._start(arguments, subprocess.PIPE, subprocess.STDOUT, timeout)
        return Run(done.returncode, done.stdout)

    def _start(
        self, arguments: tuple[str, ...], stdout: IO[bytes] | int, stderr: int, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        found = program()
        assert found is not None, "the client is not installed"
        return subprocess.run(
            [str(found), *arguments],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            timeout=timeout,
            check=False,
        )

    @property
    def environment(self) -> dict[str, str]:
        """What the client runs in: a home of its own, and nothing fetched."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TERM", "TMPDIR")}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "share"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_SHARE": "1",
        }


def client(folder: Path, url: str) -> Client:
    """A client below ``folder`` that knows the corpus's providers, all at ``url``."""
    home, project = folder / "home", folder / "project"
    (home / "config" / "opencode").mkdir(parents=True)
    project.mkdir()
    (home / "config" / "opencode" / "opencode.json").write_text(json.dumps(_configuration(url)))
    return Client(home, project)


CHAT, ANTHROPIC = "@ai-sdk/openai-compatible", "@ai-sdk/anthropic"
PROVIDERS = {
    "fake": (CHAT, ("fake-1", "gemini-3-x", "gpt-5-x", "deepseek-x", "devstral-x", "kimi-k2")),
    "mistral": (CHAT, ("mistral-large",)),
    "fakea": (ANTHROPIC, ("claude-fake", "claude-think")),
    "anthropic": (ANTHROPIC, ("claude-x",)),
}
"""Every provider and model that a session of the corpus was used with."""


def _configuration(url: str) -> dict[str, Any]:
    return {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake-1",
        "small_model": "fake/fake-1",
        "provider": {
            name: {
                "npm": package,
                "name": name,
                "options": {"baseURL": url, "apiKey": "none"},
                "models": {model: _model(model) for model in models},
            }
            for name, (package, models) in PROVIDERS.items()
        },
    }


def _model(name: str) -> dict[str, Any]:
    thinking = {"thinking": {"type": "enabled", "budgetTokens": 1024}}
    return {"name": name, **({"reasoning": True, "options": thinking} if name == "claude-think" else {})}
