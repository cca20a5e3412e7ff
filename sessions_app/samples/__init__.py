"""Bundled samples: sessions that the real client wrote, so that a first look needs no opencode on the machine."""

from __future__ import annotations

import lzma
from pathlib import Path


def unpack(folder: Path) -> Path:
    """Write the sample database into ``folder`` (made where missing) and give its path.

    One that is already there is left as it is: somebody may have repaired sessions in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "samples.db"
    if not database.exists():
        scratch = database.with_suffix(".part")
        scratch.write_bytes(lzma.decompress(Path(__file__).with_name("samples.db.xz").read_bytes()))
        scratch.rename(database)
    return database
