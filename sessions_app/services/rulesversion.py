"""Which rules judged a session: a digest of the domain itself, so that no change of a rule can forget to say so."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from sessions_app import domain


@cache
def rules_version() -> str:
    """Twelve hex digits over every module, table and text of ``domain/``."""
    root = Path(domain.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".json", ".toml", ".md")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
