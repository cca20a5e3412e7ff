"""PostgreSQL for a bench: a database of its own on the server that ``SUTURE_DATABASE_URL`` names, which is dropped
afterwards; or a server of its own in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_PROGRAMS = "/usr/lib/postgresql"


@contextmanager
def new_database(url: str, name: str) -> Iterator[str]:
    """The URL of a new database ``name`` beside the one of ``url``; nothing of that one is touched."""
    import psycopg

    parts = urlsplit(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f"CREATE DATABASE \"{name}\" TEMPLATE template0 LOCALE 'C.UTF-8' ENCODING 'UTF8'")
        try:
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def server() -> Iterator[str]:
    """The URL of ``SUTURE_DATABASE_URL``, else of a server started for as long as this lasts. Raises
    ``FileNotFoundError`` where PostgreSQL is not installed."""
    if given := os.environ.get("SUTURE_DATABASE_URL"):
        yield given
        return
    found = sorted(Path(_PROGRAMS).glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not found:
        raise FileNotFoundError(f"no PostgreSQL in {_PROGRAMS}")
    programs, folder = found[-1].parent, Path(tempfile.mkdtemp(prefix="bench-postgres-"))
    root = os.geteuid() == 0
    if root:
        shutil.chown(folder, "postgres")

    def do(program: str, *arguments: str) -> None:
        as_user = ["runuser", "-u", "postgres", "--"] if root else []
        subprocess.run([*as_user, str(programs / program), *arguments], check=True, stdout=subprocess.DEVNULL)

    data = f"{folder}/data"
    try:
        do(
            "initdb",
            "-D",
            data,
            "--auth=trust",
            "--username=suture",
            "--locale=C.UTF-8",
            "--encoding=UTF8",
            "--no-sync",
        )
        do("pg_ctl", "-D", data, "-w", "-s", "-l", f"{folder}/log", "-o", f"-k {folder} -h ''", "start")
        try:
            yield f"postgresql://suture@/postgres?host={folder}"
        finally:
            do("pg_ctl", "-D", data, "-m", "fast", "-s", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
