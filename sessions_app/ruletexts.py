"""What every rule says to people, read once from ``domain/rules/texts``, and the page of documentation made of it.

Reading files is not for the domain, which only knows what such a file looks like. ``python -m sessions_app.ruletexts >
docs/rules.md`` writes the page anew; a test holds the two in step.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from sessions_app.domain.rules import REGISTRY, Rule, RuleText, parse_text

_WORDS = {
    "blocked": "blocked",
    "at-risk": "at risk",
    "info": "info",
    "safe": "safe",
    "lossy": "lossy",
    "manual": "by hand",
}
_HEAD = """# The rules

What can be wrong with a stored session, who refuses it, and what Suture does about it. The severity is the one where
the session's own target refuses it; where it is accepted, the finding is at risk or info and says so. *Safe* repairs
lose no user text, no answer and no executed tool's output; *lossy* ones drop something and are a choice; *by hand*
means that nothing is done unless you name a choice. Statements marked "not verified" are inferred.
"""


@cache
def rule_texts() -> Mapping[str, RuleText]:
    """The texts of all rules by code. FileNotFoundError or ValueError where one is missing or misshapen."""
    folder = Path(__file__).parent / "domain" / "rules" / "texts"
    return {code: parse_text((folder / f"{code}.md").read_text("utf-8")) for code in REGISTRY}


def rule_kind(code: str) -> str:
    """How a rule is called on screens; the code itself where it is none of today's (an older finding)."""
    text = rule_texts().get(code)
    return text.kind if text else code


def rules_page() -> str:
    """The whole page as Markdown, one heading per rule code, in order of code."""
    rules = sorted(REGISTRY.values(), key=lambda rule: rule.code)
    table = ["| code | what it is | severity | repair |", "|---|---|---|---|"]
    table += [
        f"| [{rule.code}](#{rule.code}) | {rule_kind(rule.code)} | {_WORDS[rule.severity]} | {_WORDS[rule.safety]} |"
        for rule in rules
    ]
    return "\n".join([_HEAD, *table, "", *(_section(rule, rule_texts()[rule.code]) for rule in rules)])


def _section(rule: Rule, text: RuleText) -> str:
    held = "\n\nRefused while a client has the file open, unless forced." if rule.live else ""
    return (
        f"## {rule.code}\n\n**{text.kind}** ({_WORDS[rule.severity]}, {_WORDS[rule.safety]})\n\n{text.what}\n\n"
        f"- **Refused by:** {text.rejected}\n- **Why it happens:** {text.why}\n- **Repair:** {text.repair}{held}\n"
    )


if __name__ == "__main__":
    print(rules_page(), end="")
