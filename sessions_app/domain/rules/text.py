"""What a rule says to people: one Markdown file a rule, ``texts/<code>.md``, read by ``sessions_app.ruletexts``."""

from __future__ import annotations

from dataclasses import dataclass

HEADINGS = {"what": "What it is", "rejected": "Refused by", "why": "Why it happens", "repair": "Repair"}
"""Field of ``RuleText`` to the heading that its words stand under, in the order of the file."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """The words of a rule, plain sentences, each field on one line."""

    title: str
    what: str
    rejected: str
    why: str
    repair: str


def parse_text(markdown: str) -> RuleText:
    """A file with a title and the four headings in their order. ValueError where it has others, or nothing below."""
    head, *sections = markdown.split("\n## ")
    title = head.removeprefix("# ").strip()
    named = {name.strip(): " ".join(body.split()) for name, _, body in (one.partition("\n") for one in sections)}
    if not head.startswith("# ") or not title or list(named) != list(HEADINGS.values()) or not all(named.values()):
        raise ValueError(f"a rule's text has a title and the headings {', '.join(HEADINGS.values())}")
    return RuleText(title, **{field: named[heading] for field, heading in HEADINGS.items()})
