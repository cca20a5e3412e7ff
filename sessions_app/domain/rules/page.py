"""The rules as a page of documentation, from the texts that the user reads in the product.

``python -m sessions_app.domain.rules.page > docs/rules.md`` writes it anew; a test holds the two in step.
"""

from __future__ import annotations

from sessions_app.domain.rules import REGISTRY, Rule

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


def page() -> str:
    """The whole page as Markdown, one heading per rule code, in order of code."""
    rules = sorted(REGISTRY.values(), key=lambda rule: rule.code)
    table = ["| code | what it is | severity | repair |", "|---|---|---|---|"]
    table += [
        f"| [{rule.code}](#{rule.code}) | {rule.title} | {_WORDS[rule.severity]} | {_WORDS[rule.safety]} |"
        for rule in rules
    ]
    return "\n".join([_HEAD, *table, "", *(_section(rule) for rule in rules)])


def _section(rule: Rule) -> str:
    held = "\n\nRefused while a client has the file open, unless forced." if rule.live else ""
    return (
        f"## {rule.code}\n\n**{rule.title}** ({_WORDS[rule.severity]}, {_WORDS[rule.safety]})\n\n{rule.what}\n\n"
        f"- **Refused by:** {rule.rejected}\n- **Why it happens:** {rule.why}\n- **Repair:** {rule.repair}{held}\n"
    )


if __name__ == "__main__":
    print(page(), end="")
