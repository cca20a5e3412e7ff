"""The local path of a ``file:`` URL, as the client's runtime gives it on a POSIX machine (docs/contract/formats.md#b3,
attachments of generation 3)."""

from __future__ import annotations

import re

_STRIPPED = re.compile("[\t\n\r]")
_EDGES = "".join(map(chr, range(0x21)))
_DRIVE = re.compile(r"[A-Za-z][:|]\Z")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_HERE = re.compile(r"\.|%2e", re.IGNORECASE)


def local_path(uri: str) -> str | None:
    """The absolute path that ``uri`` names on this machine; None where it is no file: URL, names a host, or cannot be
    decoded."""
    text = _STRIPPED.sub("", uri.strip(_EDGES))
    if text[:5].lower() != "file:":
        return None
    rest = re.split("[?#]", text[5:], maxsplit=1)[0].replace("\\", "/")
    host = ""
    if rest.startswith("//"):
        host, _, rest = rest[2:].partition("/")
        if _DRIVE.match(host):
            host, rest = "", f"{host}/{rest}"
    else:
        rest = rest.removeprefix("/")
    if host.lower() not in ("", "localhost"):
        return None
    path = _without_dots(rest)
    if "%2f" in path.lower() or _BROKEN_ESCAPE.search(path):
        return None
    try:
        return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), path.encode()).decode()
    except UnicodeError:
        return None


def _without_dots(path: str) -> str:
    """The absolute path of what follows the first slash, with "." and ".." worked out as URLs do it."""
    steps: list[str] = []
    parts = path.split("/")
    for index, step in enumerate(parts):
        dots = len(_HERE.findall(step)) if _HERE.sub("", step) == "" else 0
        last = index == len(parts) - 1
        if dots == 2 and steps:
            steps.pop()
        if dots not in (1, 2):
            steps.append(step)
        elif last:
            steps.append("")
    return "/" + "/".join(steps)
