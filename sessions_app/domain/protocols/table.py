"""The shape of a wire rule's entry: what it is, what a server says when it is broken, and what that means.

Every protocol's package has a module ``table`` with ``TABLE``, an entry per rule. Checks raise a rule by its code and
take the text from there; ``errorwords`` reads pasted errors with its patterns; docs/wire-rules.md is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sessions_app.domain.wire.names import ProtocolName
from sessions_app.domain.wire.verdict import Certainty, Tag

SCHEMA, SEMANTIC, PAIRING, SIGNATURE = range(4)
"""The order in which a provider is believed to look (docs/contract/wire.md#1b, notes): what it would say
first comes first."""


type About = Literal["history", "setting", "not-history", "store", "generic"]
"""The class of what an error says. ``history``: the stored conversation is refused or cannot be read. ``setting``: a
parameter or tool schema of the request. ``not-history``: the account, the network or the model. ``store``: the file
that holds the sessions. ``generic``: nothing is said."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """One thing that a server says, to read and to write.

    ``reads`` is a pattern for pasted errors in the form that ``errorwords.normalised`` gives them ("" = nobody pastes
    this: Suture's own warning). ``texts`` are what a violation says, by name ("" = the usual one), as templates for
    ``str.format`` with the field ``position`` and those that the check gives. ``faults`` are the codes of rules.md that
    these words can come from, ``means`` a sentence for people. ``speaks`` is the protocol whose words they are ("" =
    the text does not tell, None = the table's own).
    """

    reads: str
    faults: tuple[str, ...]
    means: str
    texts: Mapping[str, str]
    speaks: ProtocolName | Literal[""] | None = None
    general: bool = False
    """Words that many providers use for many things: read so only where nothing more exact fits."""
    stated: About | None = None
    """Its class, where it does not follow from the faults."""
    kind: str = ""
    """What of ``not-history`` or ``store`` it is."""

    @property
    def about(self) -> About:
        """The class of what is said: of the history where there are faults, else of a setting."""
        return self.stated or ("history" if self.faults else "setting")


@dataclass(frozen=True, slots=True)
class WireRule:
    """A rule of what a protocol accepts.

    ``rank`` says when a provider looks at it. ``vendor_only``: known of the vendor itself; where a server of another
    make has not shown it, it is a warning. ``checked`` is false for what no check can raise: no rule at all, or nothing
    that can be told offline; ``note`` then says which.
    """

    code: str
    tag: Tag
    certainty: Certainty
    rank: int
    words: tuple[Words, ...]
    vendor_only: bool = False
    note: str = ""
    checked: bool = True

    @property
    def faults(self) -> tuple[str, ...]:
        """All codes of rules.md that the rule can come from."""
        return tuple(dict.fromkeys(fault for words in self.words for fault in words.faults))

    def saying(self, name: str) -> Words:
        """The words that hold the text ``name``. Raises ``KeyError`` where none does."""
        for words in self.words:
            if name in words.texts:
                return words
        raise KeyError(f"{self.code} says nothing named {name!r}")


def says(
    reads: str,
    faults: str,
    means: str,
    text: str = "",
    /,
    *,
    speaks: ProtocolName | Literal[""] | None = None,
    general: bool = False,
    **texts: str,
) -> Words:
    """``Words`` with the usual ``text`` and further ones by name; ``faults`` is a list with blanks between."""
    named = {"": text, **texts} if text else texts
    return Words(reads, tuple(faults.split()), means, named, speaks, general)


def only_read(words: Words) -> Words:
    """The words for a rule that says it otherwise itself: read alike, never written."""
    return replace(words, texts={})


def rule(
    code: str,
    tag: Tag,
    certainty: Certainty,
    rank: int,
    *words: Words,
    vendor_only: bool = False,
    note: str = "",
) -> WireRule:
    """A rule that a check raises."""
    return WireRule(code, tag, certainty, rank, words, vendor_only, note)


def unchecked(code: str, note: str, *words: Words) -> WireRule:
    """What is listed and perhaps read, and never raised."""
    return WireRule(code, "P", "uncertain", SCHEMA, words, note=note, checked=False)


def by_code(*rules: WireRule) -> dict[str, WireRule]:
    """The table, in the order in which words are read: the first that fit are the likeliest reading."""
    return {entry.code: entry for entry in rules}


def vendor_only(table: Mapping[str, WireRule]) -> frozenset[str]:
    """The rules that are warnings on a server of another make than the vendor's."""
    return frozenset(code for code, entry in table.items() if entry.vendor_only)


# What several tables say: faults, and sentences for people.

CALLS = "orphan-tool-use step-boundary-lost compaction-cuts-tool-pair"
RESULTS = "orphan-tool-result compaction-cuts-tool-pair"
TWICE = "duplicate-call-id-in-message duplicate-call-id-across-turns"

NO_RESULT = "A tool call reaches the provider without its result right behind it."
NO_CALL = "A tool result reaches the provider without the call it answers."
SAME_ID = "Two tool calls, or two results, carry the same id."
EMPTY = "A message or a text in it is empty or blank."
MEDIA = "An image or file in the history is too big, broken, mislabelled or in a place where this provider takes none."
ORDER = "The messages are in an order, or under roles, that this provider does not take."
FIELD = "The provider wants its reasoning field back on assistant messages, and a turn in the history has none."
CHARSET = "A tool call id holds characters, or has a length, that this provider does not take."
NAME = "A tool name in the history is empty, too long or holds characters that this provider does not take."
INPUT = "The arguments of a tool call are not the JSON object that the provider expects."
FOREIGN = "The history holds a shape that another provider, tool or version wrote."
TAIL = "The request ends with an assistant message; this model wants a user message last."
SETTING = "A setting of the request, not the stored history, is refused by this model."
OVERFLOW = "The history, or one output in it, is larger than the provider takes."

BODY_IS_NO_JSON = says(
    r"no low surrogate|body is not valid json",
    "invalid-unicode",
    "A text or an argument holds half of a surrogate pair, so the request is no valid JSON.",
    # The column is one of the client's whole request, which holds prompts that no store keeps.
    "The request body is not valid JSON: no low surrogate in string: line 1 column N (char N)",
    speaks="",
)
"""A31, which several protocols have."""


def half_characters(vendor_only: bool = False, note: str = "") -> WireRule:
    """A31 for the table of a protocol."""
    return rule("A31", "P", "reported", SCHEMA, BODY_IS_NO_JSON, vendor_only=vendor_only, note=note)


STRING_TOO_LONG = (
    "Invalid '{position}': string too long. Expected a string with maximum length {limit}, but got a string with length"
    " {length} instead."
)
ARRAY_TOO_LONG = (
    "Invalid '{position}': array too long. Expected an array with maximum length {limit}, but got an array with length"
    " {length} instead."
)
NAME_PATTERN = (
    "Invalid '{position}': string does not match pattern. Expected a string that matches the pattern"
    " '^[a-zA-Z0-9_-]+$'."
)
"""What OpenAI says in its Chat and Responses APIs alike."""
