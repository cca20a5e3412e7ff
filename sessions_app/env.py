"""Settings from the environment, typed, failing loudly.

Every reader names the variable, what it held and what was expected when a value cannot be used. ``NAME_FILE`` may name
a file that holds the value of ``NAME`` (container secrets).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def unusable(words: str) -> Exception:
    """Django's error of a setting; commands on bare files load it only where there is one."""
    from django.core.exceptions import ImproperlyConfigured

    return ImproperlyConfigured(words)


def text(name: str, default: str = "") -> str:
    """The variable, or the content of the file that ``NAME_FILE`` names (stripped); an empty one counts as absent."""
    value = os.environ.get(name, "")
    holder = os.environ.get(f"{name}_FILE", "")
    if value and holder:
        raise unusable(f"{name} and {name}_FILE are both set; set one of them")
    if holder:
        try:
            value = Path(holder).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise unusable(f"{name}_FILE={holder!r} cannot be read: {problem}") from problem
    return value or default


def boolean(name: str, default: bool) -> bool:
    value = text(name).lower()
    if not value:
        return default
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise unusable(f"{name}={value!r} is no yes or no (1/true/yes/on or 0/false/no/off)")


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    value = text(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise unusable(f"{name}={value!r} is no whole number") from None
    if number < minimum:
        raise unusable(f"{name}={number} is below {minimum}")
    return number


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    value = text(name, default)
    if value not in allowed:
        raise unusable(f"{name}={value!r} is none of {', '.join(allowed)}")
    return value


def listing(name: str, default: Sequence[str] = ()) -> list[str]:
    """Comma separated values."""
    value = text(name)
    return [item.strip() for item in value.split(",") if item.strip()] if value else list(default)


def directory(name: str, default: Path) -> Path:
    """An absolute path; a relative one is refused, since commands run from anywhere."""
    value = text(name)
    if not value:
        return default
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise unusable(f"{name}={value!r} is no absolute path")
    return path


def data_directory() -> Path:
    """``SUTURE_DATA_DIR``, else ``suture`` in the XDG data home."""
    base = os.environ.get("XDG_DATA_HOME", "")
    home = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "share"
    return directory("SUTURE_DATA_DIR", home / "suture")


def database_file() -> Path:
    """Suture's own database, where no ``SUTURE_DATABASE_URL`` names another."""
    return data_directory() / "suture.db"


def backup_limit() -> int:
    """Bytes of a database up to which it is backed up whole before it is written to."""
    return integer("SUTURE_BACKUP_LIMIT", 2 * 1024**3)


def jobs() -> int:
    """How many processes go over the sessions of a store at once, 0 = as many as there are processors for."""
    return integer("SUTURE_JOBS", 0)


def database(name: str, sqlite: Mapping[str, Any]) -> dict[str, Any]:
    """Django's ``DATABASES["default"]`` from a URL ``postgresql://user:password@host:port/name?option=value``.

    An absent variable gives ``sqlite``. ``host=/run/postgresql`` as an option is a socket's directory.
    """
    url = text(name)
    if not url:
        return dict(sqlite)
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise unusable(f"{name} must begin with postgresql:// (it begins with {parts.scheme!r})")
    try:
        port = parts.port
    except ValueError as problem:
        raise unusable(f"{name} has no usable port: {problem}") from None
    options = dict(parse_qsl(parts.query))
    database_name = unquote(parts.path.lstrip("/"))
    if not database_name:
        raise unusable(f"{name} names no database (postgresql://host/NAME)")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database_name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }
