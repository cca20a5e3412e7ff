"""The command line as a user runs it: its own process, its own data directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.client.opencode import ROOT


@dataclass(frozen=True)
class Suture:
    data: Path
    provider: str = ""
    """Where the provider ``fake`` is, for commands that ask it."""

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of Suture's own settings is handed down: its database is the one in its data directory."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
        fake = {"SUTURE_PROVIDER_FAKE_URL": f"{self.provider}/v1", "SUTURE_PROVIDER_FAKE_KEY": "secret-key"}
        return {**kept, "SUTURE_DATA_DIR": str(self.data), **(fake if self.provider else {})}

    def run(self, *arguments: str, timeout: float = 120) -> tuple[int, str, str]:
        """Exit code, stdout, stderr."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments: str) -> Any:
        """The JSON that a command with ``--json`` prints; it must not be bad usage."""
        code, out, err = self.run(*arguments, "--json")
        assert code in (0, 1), err
        return json.loads(out)

    def health(self, database: Path, session: str) -> str:
        [found] = self.json("scan", str(database), "--session", session)["sessions"]
        return str(found["health"])

    def mend(self, database: Path, session: str) -> list[str]:
        """Repair all safe; where that leaves it blocked, the lossy repairs that Suture recommends. Ids of the
        repairs."""
        made = self.json("repair", str(database), "--session", session)["repairs"]
        if self.health(database, session) == "blocked":
            made += self.json("repair", str(database), "--session", session, "--safety", "lossy")["repairs"]
        return list(made)
