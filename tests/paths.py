"""Where the tests' data lies: sessions the real client wrote, goldens and cases.

The data is packed in ``tests/data/*.tar.xz`` (77 MB of databases are half a megabyte there) and unpacked once into a
temporary folder named by the archive's hash, which every test process of the machine shares. Treat it as read-only: a
test that writes to a database copies it to its ``tmp_path`` first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "data"


def unpacked(name: str) -> Path:
    """The folder ``name`` out of ``tests/data/<name>.tar.xz``.

    Several test processes may come here at once: each unpacks into a folder of its own, and the first to rename wins.
    """
    archive = DATA / f"{name}.tar.xz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    home = Path(tempfile.gettempdir()) / f"suture-tests-{os.getuid()}-{name}-{digest}"
    if not home.is_dir():
        scratch = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        try:
            scratch.rename(home)
        except OSError:
            shutil.rmtree(scratch)
    return home / name


CORPUS = unpacked("corpus")
"""``<name>.db``, ``.json``, ``.storage.tgz``, ``index.json``, ``next/<name>.json``, ``schema/`` (see its INDEX.md)."""

GOLDENS = unpacked("goldens")
"""``named-gen<N>.jsonl``, ``random-gen<N>.jsonl``, ``history-gen1.json``."""

CASES = DATA / "cases"
"""A JSON file per small fault, with the right outcome."""

REPORTS = DATA / "reports"
"""Small inputs after what people reported: error texts (a JSON object a line) and sessions."""
