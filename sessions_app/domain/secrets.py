"""What looks like a key in the text of a transcript."""

from __future__ import annotations

import re
from typing import Any, Final

SECRET: Final = re.compile(
    r"""
    \b(?:sk|pk|rk)[-_](?:ant-|proj-|live_|test_|or-)?[A-Za-z0-9_-]{16,}     # model vendors, payment services
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}
    | \b(?:npm|hf|gsk|dop_v1)_[A-Za-z0-9]{30,} | \bxai-[A-Za-z0-9]{30,}
    | (?<=://)[^\s/:@"'<>]{1,256}:[^\s/@"'<>]{1,256}(?=@)                     # name and password in an address
    | \bxox[abprs]-[A-Za-z0-9-]{10,}
    | \bA(?:KIA|SIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}     # signed tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<=Bearer\ )[A-Za-z0-9._~+/-]{20,}=*
    """,
    re.VERBOSE | re.DOTALL,
)


def masked(text: str) -> str:
    """``text`` with what looks like a key replaced by its first characters and a note."""
    return SECRET.sub(lambda found: f"{found[0][:4]}[masked, {len(found[0])} characters]", text)


def masked_deeply(value: Any) -> Any:
    """A JSON value with every string in it (not its member names) masked."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {name: masked_deeply(item) for name, item in value.items()}
    return [masked_deeply(item) for item in value] if isinstance(value, list) else value
