"""The rules of Gemini's generateContent (docs/contract/wire.md#4b)."""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    EMPTY,
    NAME,
    NO_CALL,
    ORDER,
    OVERFLOW,
    PAIRING,
    RESULTS,
    SCHEMA,
    SEMANTIC,
    SETTING,
    SIGNATURE,
    by_code,
    rule,
    says,
    unchecked,
)

UNSIGNED_CALL = says(
    r"missing a thought_signature",
    "thought-signature-missing",
    "A function call of the current turn has no thought signature; another model made it, or an adapter lost it.",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly,"
    " and missing thought_signature may lead to degraded model performance. Additional data, function call"
    " `default_api:{name}` , position {number}. Please refer to"
    " https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
    speaks="gemini",
)
_BEHIND_USER = r"function call turn comes immediately after a user turn"
_TAIL = "Requests ending with a model turn are not supported."
_TAIL_READS = r"requests ending with a model turn are not supported"
_TAIL_MEANS = (
    "The request ends with a model turn, or text or media stand beside function responses (the same words for both)."
)

TABLE = by_code(
    rule(
        "G1",
        "P",
        "documented",
        PAIRING,
        says(
            r"number of function response parts is equal to the number of function call parts",
            "orphan-tool-use orphan-tool-result compaction-cuts-tool-pair",
            "A turn with function calls is not followed by exactly as many responses.",
            "Please ensure that the number of function response parts is equal to the number of function call parts of"
            " the function call turn.",
        ),
    ),
    rule(
        "G2",
        "P",
        "documented",
        PAIRING,
        says(
            _BEHIND_USER,
            f"{RESULTS} role-order",
            ORDER,
            "Please ensure that function call turn comes immediately after a user turn or after a function response"
            " turn.",
        ),
    ),
    rule(
        "G3",
        "P",
        "reported",
        PAIRING,
        says(
            r"function response turn comes immediately after",
            f"{RESULTS} role-order",
            NO_CALL,
            "Please ensure that function response turn comes immediately after a function call turn.",
        ),
    ),
    rule("G4", "P", "documented", SIGNATURE, UNSIGNED_CALL),
    rule(
        "G5",
        "P",
        "reported",
        SIGNATURE,
        says(
            r"thought signature is not valid",
            "thought-signature-missing",
            "A thought signature is not genuine, or belongs to another model or route.",
            "Thought signature is not valid",
        ),
        note="Genuineness is not checkable offline; what is no base64 is a warning.",
    ),
    rule(
        "G6",
        "P",
        "documented",
        SCHEMA,
        says(
            r"required oneof field data must have one initialized field",
            "empty-content",
            EMPTY,
            "* GenerateContentRequest.{position}: required oneof field 'data' must have one initialized field",
        ),
    ),
    rule(
        "G7",
        "P",
        "documented",
        SCHEMA,
        says(
            r"must include at least one parts field|contents\.parts must not be empty",
            "empty-content empty-message",
            EMPTY,
            "* GenerateContentRequest.{position}: contents.parts must not be empty.",
            vertex="Unable to submit request because it must include at least one parts field, which describes the"
            " prompt input.",
        ),
    ),
    rule("G8", "T", "documented", SEMANTIC, says(_TAIL_READS, "assistant-tail", _TAIL_MEANS, _TAIL)),
    rule(
        "G9",
        "P",
        "reported",
        SEMANTIC,
        says(_TAIL_READS, "history-shape-foreign media-rejected", _TAIL_MEANS, _TAIL),
        note="In the words of G8.",
    ),
    rule(
        "G10",
        "P",
        "documented",
        SCHEMA,
        says(
            r"please use a valid role: user, model",
            "history-shape-foreign",
            ORDER,
            "Please use a valid role: user, model.",
        ),
    ),
    rule(
        "G11",
        "P",
        "documented",
        SCHEMA,
        says(
            r"invalid function name\. must start with",
            "tool-name-invalid",
            NAME,
            "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9),"
            " underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        ),
        note="65 to 128 characters are a warning.",
    ),
    unchecked(
        "G12",
        "Follows from G2; a text history may start with the model.",
        says(_BEHIND_USER, "role-order", ORDER),
        says(r"history must start with a user turn", "role-order", ORDER),
    ),
    rule(
        "G13",
        "R",
        "uncertain",
        SCHEMA,
        says(
            r"request payload size exceeds the limit",
            "media-rejected huge-output",
            OVERFLOW,
            "Request payload size exceeds the limit: {limit} bytes.",
        ),
        note="A warning: more than documented was accepted.",
    ),
    rule(
        "G14",
        "R",
        "documented",
        SCHEMA,
        says(
            r"generatecontentrequest\.tools.*(missing field|only allowed for string type|property is not defined)",
            "",
            SETTING,
            items="* GenerateContentRequest.{position}.items: missing field.",
            enum="* GenerateContentRequest.{position}.enum: only allowed for STRING type",
            required="* GenerateContentRequest.{position}.required: property is not defined: {name}",
        ),
        note="Where the body carries tools.",
    ),
    unchecked("G15", "No rule."),
)
