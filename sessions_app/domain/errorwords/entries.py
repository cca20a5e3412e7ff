"""The shape of an entry, the protocols' names and the sentences that several entries share."""

from __future__ import annotations

import re
from dataclasses import dataclass

ANTHROPIC = "anthropic-messages"
CHAT = "openai-chat"
RESPONSES = "openai-responses"
GEMINI = "gemini"
BEDROCK = "bedrock-converse"


@dataclass(frozen=True, slots=True)
class Words:
    """``protocol`` is "" where the text does not tell, or where it is the client's own and no provider is involved."""

    pattern: re.Pattern[str]
    protocol: str
    rules: tuple[str, ...]
    faults: tuple[str, ...]
    means: str
    general: bool = False
    """Words that many providers use for many things: read so only where nothing more exact fits."""


def words(pattern: str, protocol: str, rules: str, faults: str, means: str, general: bool = False) -> Words:
    """An entry; ``rules`` and ``faults`` are lists with blanks between."""
    return Words(re.compile(pattern), protocol, tuple(rules.split()), tuple(faults.split()), means, general)


CALLS = "orphan-tool-use step-boundary-lost compaction-cuts-tool-pair"
RESULTS = "orphan-tool-result compaction-cuts-tool-pair"
TWICE = "duplicate-call-id-in-message duplicate-call-id-across-turns"
LONG = "context-overflow huge-output compaction-loop dangling-tail"
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
