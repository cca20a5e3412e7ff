"""What looks like a key in the text of a transcript."""

from __future__ import annotations

import re
from typing import Any, Final

# A key begins where a word does; in JSON text also after an escape, whose last letter belongs to no word. One that
# cannot be mistaken also begins after "_": in names that are put together, and in call ids, where a client writes "_"
# for what it may not send.
_START: Final = (
    r"(?:\b|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})"
    r"|(?<=_)(?=sk-(?:ant|proj|or)-|gh[pousr]_|github_pat_|glpat-|A(?:KIA|SIA)[A-Z0-9]|AIza|sut_))"
)
# The inside of a PEM block, as it is or in JSON text; never a quote, so that masking leaves JSON whole.
_PEM: Final = r"(?:[A-Za-z0-9+/=\s:,.-]|\\+[nrt/])"

SECRET: Final = re.compile(
    rf"""
    {_START}(?:
      (?:sk|pk|rk)[-_](?:ant-|proj-|live_|test_|or-)?[A-Za-z0-9_-]{{16,}}     # model vendors, payment services
      | gh[pousr]_[A-Za-z0-9]{{20,}} | github_pat_[A-Za-z0-9_]{{20,}}
      | glpat-[A-Za-z0-9_-]{{16,}}
      | (?:npm|hf|gsk|dop_v1)_[A-Za-z0-9]{{30,}} | xai-[A-Za-z0-9]{{30,}}
      | xox[abprs]-[A-Za-z0-9-]{{10,}}
      | A(?:KIA|SIA)[A-Z0-9]{{16}}\b
      | AIza[A-Za-z0-9_-]{{30,}}
      | sut_[A-Za-z0-9_-]{{40,}}                                               # Suture's own tokens
      | eyJ[A-Za-z0-9_-]{{10,}}\.eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{8,}}     # signed tokens
    )
    | (?<=://)[^\s/:@"'<>]{{1,256}}:[^\s/@"'<>]{{1,256}}(?=@)                  # name and password in an address
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----(?:{_PEM}*?-----END\ [A-Z ]*PRIVATE\ KEY-----|{_PEM}*)
    | (?<=Bearer\ )[A-Za-z0-9._~+/-]{{20,}}=*
    """,
    re.VERBOSE,
)


_SIGNS: Final = (
    *(f"{kind}k{mark}" for kind in "spr" for mark in "-_"),
    *(f"gh{kind}_" for kind in "pousr"),
    *(f"xox{kind}-" for kind in "abprs"),
    *("github_pat_", "glpat-", "npm_", "hf_", "gsk_", "dop_v1_", "xai-", "AKIA", "ASIA", "AIza", "sut_", "eyJ"),
    *("://", "-----BEGIN ", "Bearer "),
)
"""One of these is in every text that holds a secret: to look for them takes a tenth of the time of the expression."""


def may_hold_secret(text: str) -> bool:
    """False where ``SECRET`` finds nothing for sure."""
    return any(sign in text for sign in _SIGNS)


def masked(text: str) -> str:
    """``text`` with what looks like a key replaced by its first characters and a note."""
    if not may_hold_secret(text):
        return text
    return SECRET.sub(lambda found: f"{found[0][:4]}[masked, {len(found[0])} characters]", text)


def masked_deeply(value: Any) -> Any:
    """A JSON value with every string in it masked, member names too: a tool's input may have a key for a name. Of two
    names that look alike then, one is shown."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {masked(name): masked_deeply(item) for name, item in value.items()}
    return [masked_deeply(item) for item in value] if isinstance(value, list) else value
