"""The rules of AWS Bedrock Converse (docs/contract/wire.md#5b).

Behind it Claude and Mistral speak in their own words.
"""

from __future__ import annotations

from dataclasses import replace

from sessions_app.domain.protocols.anthropic_messages.table import BLANK_TEXT, EMPTY_TEXT, MANY_MARKS
from sessions_app.domain.protocols.openai_chat.servertable import NINE_CHARACTERS
from sessions_app.domain.protocols.table import (
    CALLS,
    CHARSET,
    EMPTY,
    FOREIGN,
    INPUT,
    MEDIA,
    NAME,
    NO_CALL,
    NO_RESULT,
    ORDER,
    PAIRING,
    RESULTS,
    SCHEMA,
    SEMANTIC,
    SETTING,
    SIGNATURE,
    Words,
    by_code,
    rule,
    says,
)

_PREFIX = "The model returned the following errors: "
_VALUE = "Value '{value}' at '{position}' failed to satisfy constraint: Member must"
_LONG = _VALUE + " have length less than or equal to 64"
_EMPTY = _VALUE + " have length greater than or equal to 1"


def _behind(words: Words, name: str = "") -> Words:
    """What a model says, as the service hands it on: its usual text under ``name``."""
    return replace(words, texts={name: _PREFIX + words.texts[""]})


TABLE = by_code(
    rule(
        "B1",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"conversation must start with a user message\.",
            "role-order",
            ORDER,
            "A conversation must start with a user message. Try again with a conversation that starts with a user"
            " message.",
        ),
    ),
    rule(
        "B2",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"conversation must alternate between user and assistant roles",
            "role-order",
            ORDER,
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates"
            " between user and assistant roles and try again.",
        ),
    ),
    rule(
        "B3",
        "P",
        "documented",
        PAIRING,
        says(
            r"expected toolresult blocks at messages",
            CALLS,
            NO_RESULT,
            "Expected toolResult blocks at {position} for the following Ids: {ids}",
        ),
    ),
    rule(
        "B4",
        "P",
        "documented",
        PAIRING,
        says(
            r"number of toolresult blocks at .* exceeds",
            RESULTS,
            NO_CALL,
            "The number of toolResult blocks at {position} exceeds the number of toolUse blocks of previous turn.",
        ),
    ),
    rule(
        "B5",
        "R",
        "documented",
        SCHEMA,
        says(
            r"toolconfig field must be defined",
            "",
            SETTING,
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        ),
        note="Where the body carries toolConfig: the client adds tools itself.",
    ),
    rule(
        "B6",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"text field in the contentblock object .* is blank",
            "empty-content",
            EMPTY,
            "The text field in the ContentBlock object at {position} is blank. Add text to the text field, and try"
            " again.",
        ),
        _behind(EMPTY_TEXT, "claude-empty"),
        _behind(BLANK_TEXT, "claude-blank"),
        note="In Claude's words for Claude. A warning beside signed reasoning.",
    ),
    rule(
        "B7",
        "P",
        "documented",
        SEMANTIC,
        says(
            r"content field in the message object|nothing available to cache",
            "empty-content thinking-unsigned thinking-only-message",
            EMPTY,
            "The content field in the Message object at {position} is empty. Add a ContentBlock object to the content"
            " field and try again.",
            cache="There is nothing available to cache. Please remove the invalid cache point and try again.",
        ),
    ),
    rule(
        "B8",
        "P",
        "documented",
        SCHEMA,
        says(
            r"tooluse\.input is invalid|provide a json object for the field",
            "tool-input-malformed",
            INPUT,
            "The format of the value at {position} is invalid. Provide a json object for the field and try again.",
        ),
    ),
    rule(
        "B9",
        "P",
        "documented",
        SCHEMA,
        says(
            r"tooluseid failed to satisfy constraint",
            "call-id-charset",
            CHARSET,
            id=_VALUE + " satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
            id_long=_LONG,
            id_empty=_EMPTY,
        ),
        says(
            r"tooluse\.name failed to satisfy constraint",
            "tool-name-invalid",
            NAME,
            name=_VALUE + " satisfy regular expression pattern: [a-zA-Z0-9_-]+",
            name_long=_LONG,
            name_empty=_EMPTY,
        ),
    ),
    rule("B10", "P", "reported", SCHEMA, _behind(NINE_CHARACTERS), note="Mistral's S9 behind the service's prefix."),
    rule(
        "B11",
        "R",
        "reported",
        SCHEMA,
        _behind(MANY_MARKS),
        says(r"did not allow prompt caching", "", SETTING),
        note="Whether a model supports caching is not checked.",
    ),
    rule(
        "B12",
        "P",
        "documented",
        SIGNATURE,
        says("", "", "Claude's own rules, behind the service's prefix.", _PREFIX + "{error}"),
        note="The body is read as a Messages body and judged by its rules.",
    ),
    rule(
        "B13",
        "R",
        "documented",
        SCHEMA,
        says(
            r"unknown parameter in (toolconfig|inferenceconfig)",
            "",
            SETTING,
            choice="Unknown parameter in toolConfig.toolChoice: {names}, must be one of: auto, any, tool",
            top_k="Unknown parameter in inferenceConfig: topK, must be one of: maxTokens, temperature, topP,"
            " stopSequences",
        ),
        note="Where the body carries these parameters.",
    ),
    rule(
        "B14",
        "P",
        "documented",
        SCHEMA,
        says(r"unexpected field type", "history-shape-foreign", FOREIGN, "Unexpected field type at {position}"),
    ),
    rule(
        "B15",
        "P",
        "documented",
        SCHEMA,
        says(
            r"document file name can only contain|text block is required beside a document",
            "media-rejected",
            MEDIA,
            "The document file name can only contain alphanumeric characters, whitespace characters, hyphens,"
            " parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.",
            text="A text block is required beside a document at {content}",
        ),
    ),
)
