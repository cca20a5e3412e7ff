"""The rules of the OpenAI Responses API (docs/contract/wire.md#3b).

``R-size`` and ``R-media`` are what docs/contract/wire.md#3a and docs/contract/rules.md#2.3, #2.10 say about sizes and
images; they have no number of their own.
"""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    ARRAY_TOO_LONG,
    CHARSET,
    FIELD,
    FOREIGN,
    INPUT,
    MEDIA,
    NAME,
    NAME_PATTERN,
    NO_CALL,
    NO_RESULT,
    OVERFLOW,
    PAIRING,
    RESULTS,
    SAME_ID,
    SCHEMA,
    SEMANTIC,
    SIGNATURE,
    STRING_TOO_LONG,
    TWICE,
    by_code,
    half_characters,
    only_read,
    rule,
    says,
    unchecked,
)

_ABSENT = "Missing required parameter: '{position}'."
_NOT_KEPT = says(
    r"items are not persisted when store|item with id \S+ not found",
    "item-reference-missing",
    "An item is named by an id that the server does not hold.",
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to"
    " true, or remove this item from your input.",
)

TABLE = by_code(
    rule(
        "R1",
        "P",
        "documented",
        PAIRING,
        says(
            r"no tool output found for function call",
            "orphan-tool-use compaction-cuts-tool-pair",
            NO_RESULT,
            "No tool output found for function call {id}.",
        ),
    ),
    rule(
        "R2",
        "P",
        "documented",
        PAIRING,
        says(
            r"no tool call found for function call output",
            f"{RESULTS} reasoning-item-unpaired",
            NO_CALL,
            "No tool call found for function call output with call_id {id}.",
        ),
    ),
    rule(
        "R3",
        "P",
        "documented",
        PAIRING,
        says(
            r"without its required following item",
            "reasoning-item-unpaired",
            "A reasoning item is sent without the message or call that was generated after it.",
            "Item '{id}' of type 'reasoning' was provided without its required following item.",
        ),
    ),
    rule(
        "R4",
        "P",
        "reported",
        PAIRING,
        says(
            r"without its required reasoning item",
            "reasoning-item-unpaired",
            "A message or call is sent with its id, but without the reasoning item it was generated after.",
            "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item.",
        ),
        note="A warning: which reasoning an item was generated after is not stored.",
    ),
    rule(
        "R5",
        "P",
        "documented",
        SCHEMA,
        says(
            r"expected an id that begins with",
            "history-shape-foreign",
            FOREIGN,
            "Invalid '{position}': '{id}'. Expected an ID that begins with '{prefix}'.",
        ),
    ),
    rule(
        "R6",
        "P",
        "reported",
        SCHEMA,
        says(
            r"expected an id that contains letters|input\[\d+\]\.id: string too long",
            "history-shape-foreign item-reference-missing",
            FOREIGN,
            "Invalid '{position}': '{id}'. Expected an ID that contains letters, numbers, underscores, or dashes, but"
            " this value contained additional characters.",
            long=STRING_TOO_LONG,
        ),
    ),
    rule(
        "R7",
        "P",
        "documented",
        SCHEMA,
        says(
            r"input\[\d+\]\.call_id: (string too long|empty string)",
            "call-id-charset",
            CHARSET,
            STRING_TOO_LONG,
            empty="Invalid '{position}': empty string. Expected a string with minimum length 1, but got an empty string"
            " instead.",
        ),
    ),
    rule(
        "R8",
        "P",
        "reported",
        PAIRING,
        says(
            r"duplicate item found with id",
            f"{TWICE} item-reference-missing",
            "The same item is sent twice.",
            "Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
        ),
    ),
    rule(
        "R16",
        "P",
        "reported",
        PAIRING,
        says(
            r"duplicate function_call_output",
            TWICE,
            SAME_ID,
            "Duplicate function_call_output for call_id '{id}'. Each function_call must have exactly one matching"
            " function_call_output",
        ),
        says("", TWICE, SAME_ID, call="call_id '{id}' of {position} is already used by {earlier}"),
        note="A second output is refused ([its text](contract/rules.md#2.11)); a second call alone is a warning (C).",
    ),
    rule(
        "R9",
        "P",
        "reported",
        SIGNATURE,
        _NOT_KEPT,
        note="Without storage; with it, whether the server still holds the id is not checkable offline.",
    ),
    rule(
        "R10",
        "P",
        "reported",
        SIGNATURE,
        says(
            r"encrypted content .*could not be verified|could not be decrypted or parsed|not issued to this"
            r" caller|invalid_encrypted_content",
            "encrypted-reasoning-foreign",
            "Encrypted reasoning was made under another account, key, region or model.",
            "The encrypted content {start}... could not be verified. Reason: Encrypted content could not be decrypted"
            " or parsed.",
        ),
        note="Who encrypted the content is not checkable offline; content that does not look like OpenAI's is a"
        " warning.",
    ),
    rule(
        "R11",
        "P",
        "documented",
        SCHEMA,
        says(
            r"supported values are: (output_text and refusal|input_text)",
            "history-shape-foreign",
            FOREIGN,
            "Invalid value: '{kind}'. Supported values are: {allowed}.",
        ),
    ),
    rule(
        "R13",
        "P",
        "reported",
        SCHEMA,
        says(r"input\[\w+\]\.content: array too long", "history-shape-foreign", FOREIGN, ARRAY_TOO_LONG),
    ),
    rule(
        "R14",
        "P",
        "documented",
        SCHEMA,
        says(
            r"input\[\w+\]\.name: (string (does not match|too long)|empty string)",
            "tool-name-invalid invalid-unicode",
            NAME,
            NAME_PATTERN,
            long=STRING_TOO_LONG,
        ),
        says(
            r"input\[\w+\]\.arguments: expected a string",
            "tool-input-malformed",
            INPUT,
            arguments="Invalid type for '{position}': expected a string, but got an object instead.",
        ),
    ),
    rule(
        "R-size",
        "P",
        "documented",
        SCHEMA,
        says(
            r"input\[\w+\]\.(?!(?:id|call_id|name):)\w+: string too long",
            "huge-output",
            OVERFLOW,
            STRING_TOO_LONG,
        ),
        says(
            r"input\[\w+\]\.\w+\[\d+\]\.image_url: string too long",
            "media-rejected",
            MEDIA,
            image=STRING_TOO_LONG.replace("{position}", "{position}.image_url"),
        ),
        says(r"invalid input: array too long", "context-overflow", OVERFLOW, items=ARRAY_TOO_LONG),
        note="[Limits](contract/wire.md#3a) that have no number.",
    ),
    rule(
        "R12",
        "P",
        "documented",
        SCHEMA,
        says(
            r"missing required parameter: input\[\w+\]\.(?!arguments|encrypted_content)",
            "history-shape-foreign",
            FOREIGN,
            _ABSENT,
        ),
        says(
            r"missing required parameter: input\[\w+\]\.arguments",
            "tool-input-malformed",
            INPUT,
            arguments=_ABSENT,
        ),
    ),
    rule(
        "R15",
        "R",
        "documented",
        SEMANTIC,
        says(
            r"missing required parameter: input\[\w+\]\.encrypted_content",
            "item-reference-missing",
            "Reasoning is sent with neither its encrypted content nor an id that the server holds.",
            _ABSENT,
        ),
        only_read(_NOT_KEPT),
        note="In the words of R12 or R9.",
    ),
    rule(
        "R17",
        "P",
        "reported",
        SEMANTIC,
        says(
            r"reasoning_text in the thinking mode must be passed back",
            "reasoning-field-missing",
            FIELD,
            "The `reasoning_text` in the thinking mode must be passed back to the API.",
        ),
        note="Profile deepseek, thinking on.",
    ),
    unchecked("R18", "No rule."),
    rule(
        "R-media",
        "P",
        "reported",
        SEMANTIC,
        says(
            r"does not represent a valid image|payload could not be decoded|must contain valid base64|invalid file"
            r" data: ",
            "media-rejected",
            MEDIA,
            "The image data you provided does not represent a valid image. Please check your input and try again with"
            " one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
        ),
        note="[Texts](contract/rules.md#2.3) that have no number.",
    ),
    half_characters(),
)
