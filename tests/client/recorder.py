"""What the real client sends down each of its ways to a provider: one ``opencode serve`` with a copy of every session
for every way, and a provider on loopback that keeps each request and refuses it.

``python -m tests.client.recorder FILE`` writes the recordings anew, ``tests/data/ways.jsonl.xz`` by its own name.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

from sessions_app.domain.model import SessionRows
from tests.client.opencode import Client, program
from tests.client.provider import serving
from tests.factories.ways import INPUT, SESSIONS, WAYS, Way, rows_of
from tests.paths import CORPUS

type Task = tuple[str, str]
"""The name of a way and of a session."""

_MARKS = ("cache_control", "cachePoint", "copilot_cache_control")
_REFUSAL = json.dumps({"error": {"message": "recorded", "type": "invalid_request_error", "code": 400}}).encode()


def recordings(tasks: Iterable[Task], folder: Path) -> Iterator[dict[str, Any]]:
    """A recording per task, in no order; ``folder`` becomes the client's home."""
    wanted = list(tasks)
    with serving(_Handler, _Handler.served, _Requests) as requests, _served(folder, requests, wanted) as client:
        providers: dict[str, list[int]] = {}
        for number, (way, _) in enumerate(wanted):
            providers.setdefault(WAYS[way].provider, []).append(number)
        with ThreadPoolExecutor(3) as pool:
            for some in pool.map(lambda numbers: [client.record(number) for number in numbers], providers.values()):
                yield from some


class _Requests:
    """The last request of each provider, by the first segment of its path."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.last: dict[str, Any] = {}


class _Handler(BaseHTTPRequestHandler):
    served: ClassVar[dict[int, _Requests]] = {}
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        requests = self.served[self.server.server_port]  # type: ignore[attr-defined]
        requests.last[self.path.split("/")[1]] = body
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(_REFUSAL)))
        self.end_headers()
        self.wfile.write(_REFUSAL)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


class _Serving:
    def __init__(self, url: str, version: str, requests: _Requests, tasks: list[Task]) -> None:
        self.url, self.version, self.requests, self.tasks = url, version, requests, tasks

    def record(self, number: int) -> dict[str, Any]:
        way, session = self.tasks[number]
        provider = WAYS[way].provider
        self.requests.last.pop(provider, None)
        model = {"providerID": provider, "modelID": WAYS[way].model}
        prompt = {"model": model, "parts": [{"type": "text", "text": "continue"}]}
        said = self._post(f"/session/{_id(number)}/message", prompt)
        body = self.requests.last.pop(provider, None)
        sent = {"error": said} if body is None else without_marks(history(body))
        return {"way": way, "session": session, "client": self.version, "sent": sent}

    def _post(self, path: str, body: dict[str, Any]) -> str:
        """The words of the error that the client answers with."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                info = json.loads(answer.read() or b"{}").get("info") or {}
        except urllib.error.HTTPError as refused:
            return refused.read().decode()
        error = info.get("error") or {}
        return str((error.get("data") or {}).get("message") or error.get("name") or "")


@contextmanager
def _served(folder: Path, requests: _Requests, tasks: list[Task]) -> Iterator[_Serving]:
    client = Client(folder / "home", folder / "project")
    found = program()
    assert found is not None, "the client is not installed"
    _configure(client, requests.url)
    _fill(client, tasks)
    environment = {**client.environment, "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    version = subprocess.run(
        [str(found), "--version"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [str(found), "serve", "--port", "0"],
            cwd=client.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            said = next(line for line in process.stdout if "listening" in line)
            yield _Serving(said.split()[-1], version.strip(), requests, tasks)
        finally:
            process.kill()


def _configure(client: Client, url: str) -> None:
    """Keys stand where the client's own login writes them: some of its ways differ for a key in its configuration."""
    settings = client.home / "config" / "opencode"
    settings.mkdir(parents=True)
    client.project.mkdir(parents=True)
    client.database.parent.mkdir(parents=True)
    providers: dict[str, Any] = {}
    for way in WAYS.values():
        options = {"baseURL": f"{url}/{way.provider}"}
        entry = providers.setdefault(
            way.provider, {"npm": way.package, "name": way.provider, "options": options, "models": {}}
        )
        entry["models"][way.model] = _model(way)
    document = {"autoupdate": False, "share": "disabled", "snapshot": False, "provider": providers}
    (settings / "opencode.json").write_text(json.dumps(document))
    keys = {name: {"type": "api", "key": "none"} for name in providers if name != "amazon-bedrock"}
    (client.database.parent / "auth.json").write_text(json.dumps(keys))


def _model(way: Way) -> dict[str, Any]:
    return {
        "name": way.model,
        "reasoning": True,
        "attachment": True,
        "tool_call": True,
        "modalities": {"input": list(INPUT), "output": ["text"]},
        "limit": {"context": 10_000_000, "output": 8_000},
        **way.model_config,
    }


def _id(number: int) -> str:
    return f"ses_{number:026}"


def _fill(client: Client, tasks: list[Task]) -> None:
    """A client's database with a session per task; every id is made its own, and keeps its place."""
    shutil.copyfile(CORPUS / "clean.db", client.database)
    with closing(sqlite3.connect(client.database)) as database, database:
        database.row_factory = sqlite3.Row
        database.execute("UPDATE project SET worktree = ?", (str(client.project),))
        kept = dict(database.execute("SELECT * FROM session").fetchone()) | {"directory": str(client.project)}
        for table in ("part", "message", "session"):
            database.execute(f"DELETE FROM {table}")
        for number, (way, session) in enumerate(tasks):
            _take(database, kept, rows_of(session, WAYS[way]), number, session)


def _take(database: sqlite3.Connection, kept: dict[str, Any], rows: SessionRows, number: int, title: str) -> None:
    known = [str(row["id"]) for row in (*rows.messages, *rows.parts)]
    named = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))) or "(?!)")

    def renamed(text: str) -> str:
        return named.sub(lambda found: f"{found[0]}x{number:06}", text)

    own = {**kept, "id": _id(number), "title": title, "permission": None, "model": None}
    _insert(database, "session", {**own, "revert": renamed(rows.session.get("revert") or "") or None})
    for table, some in (("message", rows.messages), ("part", rows.parts)):
        for row in some:
            changed: dict[str, Any] = {
                name: renamed(str(row[name])) for name in ("id", "message_id", "data") if name in row
            }
            _insert(database, table, {**row, **changed, "session_id": _id(number)})


def _insert(database: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    columns = ", ".join(row)
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))


def history(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversation in a request of any wire format, without the client's own prompt."""
    messages = next(body[key] for key in ("messages", "input", "contents") if key in body)
    start = next((at for at, one in enumerate(messages) if one.get("role") not in ("system", "developer")), 0)
    return list(messages[start:])


def without_marks(value: Any) -> Any:
    """Cache marks are no part of a history."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key not in _MARKS}
    if isinstance(value, list):
        return [without_marks(item) for item in value if not (isinstance(item, dict) and list(item) == ["cachePoint"])]
    return value


def main(target: Path, some: list[str]) -> None:
    tasks = [(way, session) for way in WAYS for session in SESSIONS if not some or session in some]
    with tempfile.TemporaryDirectory() as folder:
        made = list(recordings(tasks, Path(folder)))
    lines = "".join(json.dumps(one) + "\n" for one in made)
    target.write_bytes(lzma.compress(lines.encode(), preset=9) if target.suffix == ".xz" else lines.encode())
    print(f"{len(made)} recordings, {sum('error' in one['sent'] for one in made)} without a request", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
