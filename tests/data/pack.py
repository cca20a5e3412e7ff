"""Pack folders of test data: ``python tests/data/pack.py FOLDER...`` writes ``tests/data/<name of FOLDER>.tar.xz``.

The same folder gives the same bytes, so a repeated run changes nothing.
"""

from __future__ import annotations

import lzma
import sys
import tarfile
from pathlib import Path


def pack(folder: Path, archive: Path) -> None:
    # The dictionary must span all databases: they share a schema and most of their pages.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 27}]
    with (
        lzma.open(archive, "wb", filters=filters) as stream,
        tarfile.open(fileobj=stream, mode="w") as packed,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.add(path, arcname=str(path.relative_to(folder.parent)), filter=_anonymous)


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o644
    return info


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        source = Path(argument).resolve()
        pack(source, Path(__file__).with_name(f"{source.name}.tar.xz"))
