"""The wire rules as a page of documentation, from the tables that checks and readers of errors use.

``python -m sessions_app.domain.protocols.page > docs/wire-rules.md`` writes it anew; a test holds the two in step.
"""

from __future__ import annotations

import re

from sessions_app.domain.protocols import REGISTRY
from sessions_app.domain.protocols.table import WireRule

_HEAD = """# Wire rules

What each wire format refuses in a replayed history, in which words, and what that means; each number leads to the
facts behind it. The page is made from the tables that checks and the reader of pasted errors use (`table.py` in each
package of `sessions_app/domain/protocols/`).
The check that raises a rule names its code: look for `"A7"` in the package. Every rule that can be raised has a history
that breaks it beside the nearest that does not, in `tests/protocols/` (`PAIRS`).

- **sure**: measured (seen in a recording), documented (by the vendor), reported (verbatim in public), uncertain (then
  never more than a warning). Where a check gives both violations and warnings, the note says so.
- **tag**: P prefix (no further message heals it), T tail (only a request that ends so), R request (model, tools,
  settings).
- **vendor**: "own" where only the vendor itself is known to refuse it. On a server that has not shown it, it is a
  warning: a **server of unknown make** (a provider id that `wire/providers.py` does not list and whose address tells
  nothing) is held to what the strict provider of the recordings refused, in its words.
- **comes from**: the faults of [rules.md](rules.md) that it can come from.

Rules that depend on a model read `wire/models.py`; rules that depend on a server read `openai_chat/profiles.py`. "-"
under *sure* is what no check raises; the note says why.
"""
_SECTIONS = {
    "A": "Anthropic Messages",
    "O": "OpenAI Chat",
    "S": "Strict compatible servers",
    "R": "OpenAI Responses",
    "G": "Gemini",
    "B": "Bedrock Converse",
}
_COLUMNS = ("rule", "sure", "tag", "vendor", "says", "means", "comes from", "note")


def page() -> str:
    """The whole page as Markdown: a table per vendor, in order of rule."""
    rules: dict[str, WireRule] = {}
    for protocol in REGISTRY.values():
        rules = {**protocol.rules, **rules}
    lines = [_HEAD]
    for letter, title in _SECTIONS.items():
        lines += [f"## {title}", "", f"| {' | '.join(_COLUMNS)} |", "|" + "---|" * len(_COLUMNS)]
        lines += [_row(rules[code]) for code in sorted(rules, key=_order) if code[0] == letter]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(rule: WireRule) -> str:
    text = next((text for words in rule.words for text in words.texts.values()), "")
    cells = (
        f"[{rule.code}](contract/wire.md#{rule.code.lower()})" if rule.code.isalnum() else rule.code,
        rule.certainty if rule.checked else "-",
        rule.tag if rule.checked else "-",
        "own" if rule.vendor_only else "",
        f"`` {text.replace('{{', '{').replace('}}', '}')} ``" if text else "",
        rule.words[0].means if rule.words else "",
        ", ".join(f"[{fault}](rules.md#{fault})" for fault in rule.faults),
        rule.note,
    )
    return f"| {' | '.join(cells)} |"


def _order(code: str) -> tuple[int, str]:
    number = re.search(r"\d+", code)
    return (int(number[0]) if number else 1000, code)


if __name__ == "__main__":
    print(page(), end="")
