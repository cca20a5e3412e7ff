"""The real V2 server, npm ``@opencode-ai/cli-linux-x64``, run on loopback in a home of its own: one process for as many
sessions as a test has."""

from __future__ import annotations

import base64
import json
import os
import platform
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.client.opencode import ROOT
from tests.client.provider import Provider, Request

PUBLISHED = (platform.system(), platform.machine()) == ("Linux", "x86_64")
"""npm has the server for this kind of machine alone."""
TABLES = (
    *("project", "session", "message", "part", "session_message", "event_sequence", "event"),
    *("session_input", "session_context_epoch"),
)
PROVIDERS = {"fake": "@ai-sdk/openai-compatible", "fakea": "@ai-sdk/anthropic", "fakeo": "@ai-sdk/openai"}
"""The providers of the recordings; each has the model ``m1``."""


def program() -> Path | None:
    """The server: ``$SUTURE_V2_SERVER``, else the one that ``make client`` installs; None where there
    is none."""
    named = os.environ.get("SUTURE_V2_SERVER")
    installed = ROOT / ".local" / "server-v2" / "node_modules" / "@opencode-ai" / "cli-linux-x64" / "bin" / "lildax"
    path = Path(named) if named else installed
    return path if path.is_file() else None


@dataclass(frozen=True)
class Server:
    """A running server with its home and project; ``provider`` is the one it asks."""

    url: str
    home: Path
    project: Path
    provider: Provider

    @property
    def database(self) -> Path:
        return self.home / "share" / "opencode" / "opencode.db"

    def take(self, database: Path) -> None:
        """Copy the sessions of ``database`` into the server's own, in its project's folder."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute("ATTACH ? AS given", (str(database),))
            for table in TABLES:
                columns = [f'"{row[1]}"' for row in connection.execute(f"PRAGMA given.table_info({table})")]
                names = ", ".join(columns)
                connection.execute(f"INSERT OR IGNORE INTO main.{table} ({names}) SELECT {names} FROM given.{table}")
            connection.execute("UPDATE main.session SET directory = ?", (str(self.project),))
            connection.execute("UPDATE main.project SET worktree = ?", (str(self.project),))

    def go_on(self, session: str, prompt: str, timeout: float = 60) -> Request | None:
        """What the provider was asked for one more prompt; None where nothing was asked within ``timeout``. ``prompt``
        is told again by its words, so each is given once."""
        status, _ = self.ask("POST", f"/api/session/{session}/prompt", {"prompt": {"text": prompt}})
        if status != 200:
            return None
        return self._waited(lambda: next((one for one in self.provider.turns() if _ends(one, prompt)), None), timeout)

    def answered(self, session: str, timeout: float = 60) -> list[Any]:
        """The session's messages as the server gives them, once the newest is a whole answer."""
        found = self._waited(lambda: self._answered(session), timeout)
        assert found is not None, "the answer is not stored"
        return found

    def _answered(self, session: str) -> list[Any] | None:
        _, document = self.ask("GET", f"/api/session/{session}/message?order=desc&limit=10")
        messages = list(document.get("data") or [{}])
        whole = messages[0].get("type") == "assistant" and "completed" in messages[0].get("time", {})
        return messages if whole else None

    def _waited[T](self, look: Callable[[], T | None], timeout: float) -> T | None:
        ends = time.monotonic() + timeout
        while (found := look()) is None and time.monotonic() < ends:
            time.sleep(0.2)
        return found

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """Status and document of one request to the server."""
        made = (self.home / "state" / "opencode" / "password").read_text().strip()
        key = base64.b64encode(f"opencode:{made}".encode()).decode()
        headers = {"authorization": f"Basic {key}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text, status = answer.read(), answer.status
        except urllib.error.HTTPError as refused:
            text, status = refused.read(), refused.code
        document = json.loads(text) if text else {}
        return status, document if isinstance(document, dict) else {"data": document}

    def wait_for_start(self, process: subprocess.Popen[bytes]) -> None:
        ends = time.monotonic() + 180
        while time.monotonic() < ends and process.poll() is None:
            try:
                _, document = self.ask("GET", "/api/model")  # the first time it loads them
                if any(model.get("providerID") in PROVIDERS for model in document.get("data") or ()):
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise AssertionError("the V2 server did not start")


def _ends(request: Request, prompt: str) -> bool:
    """The request ends with this prompt; what the server says of a changed context may stand behind it."""
    sent = request.body.get("messages") or request.body.get("input") or []
    return prompt in json.dumps(sent[-2:])


@contextmanager
def server(folder: Path, provider: Provider) -> Iterator[Server]:
    """A server in a home below ``folder`` that knows the recordings' providers, all at ``provider``'s address."""
    found = program()
    assert found is not None, "the V2 server is not installed"
    home, project = folder / "home", folder / "project"
    (home / "config" / "opencode").mkdir(parents=True)
    project.mkdir()
    (home / "config" / "opencode" / "opencode.json").write_text(json.dumps(_configuration(provider.url)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(found), "serve", "--hostname", "127.0.0.1", "--port", str(port)],
            cwd=project,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            running = Server(f"http://127.0.0.1:{port}", home, project, provider)
            running.wait_for_start(process)
            yield running
        finally:
            process.terminate()
            process.wait(20)


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TERM", "TMPDIR")}
    return {
        **kept,
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "share"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_STATE_HOME": str(home / "state"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_SHARE": "1",
    }


def _configuration(url: str) -> dict[str, Any]:
    return {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/m1",
        "provider": {
            name: {
                "npm": package,
                "name": name,
                "options": {"baseURL": url, "apiKey": "none"},
                "models": {"m1": {"name": "m1"}},
            }
            for name, package in PROVIDERS.items()
        },
    }
