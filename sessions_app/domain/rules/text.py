"""What a rule says to people: one Markdown file a rule, ``texts/<code>.md``, read by ``sessions_app.ruletexts``."""

from __future__ import annotations

from dataclasses import dataclass

HEADINGS = {"what": "What it is", "rejected": "Refused by", "why": "Why it happens", "repair": "Repair"}
"""Field of ``RuleText`` to the heading that its words stand under, in the order of the file."""


LONGEST_LINE = 48
"""Characters of a line, with "bash" for its tool: it stands in one row of a list."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """The words of a rule, plain sentences, each field on one line.

    ``kind`` is a noun phrase for the kind of fault; ``line`` says what happened, subject and verb, with the fields that
    ``places.filled`` fills (docs/contract/design.md#1).
    """

    kind: str
    line: str
    what: str
    rejected: str
    why: str
    repair: str


def parse_text(markdown: str) -> RuleText:
    """A file with a title, a line and the four headings in their order.

    ValueError where it has others, nothing below one, or a line that is too long, ends with a full stop or has a field
    that is not known.
    """
    head, *sections = markdown.split("\n## ")
    kind, _, line = (part.strip() for part in head.removeprefix("# ").partition("\n"))
    named = {name.strip(): " ".join(body.split()) for name, _, body in (one.partition("\n") for one in sections)}
    if not head.startswith("# ") or not kind or list(named) != list(HEADINGS.values()) or not all(named.values()):
        raise ValueError(f"a rule's text has a title and the headings {', '.join(HEADINGS.values())}")
    if not fits(line):
        raise ValueError(f"not a line of a rule: {line!r}")
    return RuleText(kind, line, **{field: named[heading] for field, heading in HEADINGS.items()})


def fits(line: str) -> bool:
    """Whether it is a line: one sentence without its full stop, short enough, no field but those that can be filled."""
    try:
        said = line.format(tool="bash", Tool="Bash", Count="Two")
    except (KeyError, IndexError, ValueError):
        return False
    return bool(said) and "\n" not in said and len(said) <= LONGEST_LINE and not said.endswith(".")
