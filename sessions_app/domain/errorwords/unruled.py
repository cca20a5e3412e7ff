"""Words about the history that belong to no wire rule: whoever says it, and the words of the client itself.

Facts: docs/contract/rules.md#2.10, #2.19 to #2.32; docs/contract/wire.md#f6, #f15, #f18.
"""

from __future__ import annotations

from sessions_app.domain.protocols.table import (
    CALLS,
    CHARSET,
    EMPTY,
    FIELD,
    FOREIGN,
    INPUT,
    MEDIA,
    NAME,
    NO_CALL,
    NO_RESULT,
    OVERFLOW,
    RESULTS,
    SAME_ID,
    TAIL,
    TWICE,
    Words,
    says,
)

from .senses import DAMAGED, HANGS, NO_PAIR, NOT_JSON, PAIR_FAULTS, POLICY, ROW, THOUGHT, UNICODE

_OVERFLOW = "context-overflow huge-output compaction-loop dangling-tail"

UNRULED: tuple[Words, ...] = (
    says(
        r"prompt is too long|context_length_exceeded|maximum context length|exceeds model limit"
        r"|session too large to compact|contextoverflowerror|exceeds? the context window|exceeds the (available"
        r"|maximum) context|exceed_context_size|context window exceeds|exceed context limit|maximum prompt length"
        r"|prompt exceeds max length|model_max_prompt_tokens_exceeded|(input|prompt) token count .{0,40}exceeds"
        r"|input is too long for requested model|exceeded model token limit"
        r"|tokens to keep from the initial prompt is greater|when context the overflows"
        r"|longer than the maximum model length|range of input length should be|max_tokens must be at least 1, got -"
        r"|prompt 超长|maximum number of tokens allowed|reduce the length of the messages",
        _OVERFLOW,
        OVERFLOW,
    ),
    says(r"string too long", "huge-output call-id-charset", OVERFLOW, general=True),
    says(
        r"tool results? (is|are) missing for tool calls?|missingtoolresultserror|did not find \d+ tool_result block"
        r"|must begin with a matching number of tool_result",
        CALLS,
        NO_RESULT,
    ),
    says(r"tool results tool id.{0,80}not found", RESULTS, NO_CALL),
    says(r"tool call result does not follow|tool call and result not match", PAIR_FAULTS, NO_PAIR),
    says(r"tool call id is invalid", f"call-id-charset {PAIR_FAULTS}", CHARSET),
    says(r"duplicate provider tool call id", TWICE, SAME_ID),
    says(r"value not found in (tool|call) ids", RESULTS, NO_CALL),
    says(
        r"source tool \S+ not found for tool use block",
        "history-shape-foreign",
        FOREIGN,
        speaks="anthropic-messages",
    ),
    says(
        r"(unknown|unrecognized|unsupported) parameters?:? (messages|input)\["
        r"|invalid json payload received\. unknown name \w+ at contents",
        "history-shape-foreign",
        FOREIGN,
    ),
    says(r"function name is invalid|name cannot be empty", "tool-name-invalid", NAME),
    says(r"property \S*reasoning_content is unsupported", "history-shape-foreign reasoning-field-missing", FIELD),
    says(
        r"\bsignature: field required",
        "thinking-unsigned thinking-lost-on-error",
        "A thinking block has no signature, mostly because its stream was cut off.",
        speaks="anthropic-messages",
    ),
    says(r"corrupted thought signature", "thought-signature-missing", THOUGHT),
    says(
        r"cannot unmarshal \w+ into go struct field chatrequest\.messages\.tool_calls|parse tool call arguments",
        "tool-input-malformed",
        INPUT,
    ),
    says(
        r"toolresult\.content\S* is invalid",
        "tool-input-malformed history-shape-foreign",
        INPUT,
        speaks="bedrock-converse",
    ),
    says(
        r"assistant messages at the end of the list",
        "assistant-tail role-order",
        TAIL,
    ),
    says(
        r"unexpected end of hex escape|lone (leading |trailing )?surrogate|unpaired surrogate|surrogates not allowed",
        "invalid-unicode",
        UNICODE,
    ),
    says(
        r"message not found: msg_",
        "dangling-parent",
        "An answer points to a message that is not in the session.",
    ),
    says(
        r"session not found",
        "hidden-project hidden-directory hidden-path hidden-generation undecodable-row",
        "The client does not find the session: its row is hidden from this folder, or one of its rows cannot be read.",
    ),
    says(r"contents is not specified", "empty-message empty-content", "The history lowers to no message at all."),
    says(r"session \S+ is busy|busyerror", "stuck-tool open-turn", HANGS),
    says(
        r"missing key at |expected [\w ]+, (got|received) |do not match the modelmessage\[\] schema|schemaerror",
        "undecodable-row",
        ROW,
        general=True,
    ),
    says(
        r"functionality not supported|url scheme must be http|unknown variant image_url|not support image input"
        r"|support image input|maximum of \d+ pdf pages|image\.source\.base64\.media_type|image media type"
        r"|unsupported image|invalid_image",
        "media-rejected",
        MEDIA,
    ),
    says(
        r"invalid anthropic provider options",
        "thinking-unsigned history-shape-foreign",
        FOREIGN,
        speaks="anthropic-messages",
    ),
    says(
        r"missing field content|prompt parameter was not received|未正常接收到prompt|cannot be empty when status value"
        r"|empty text parameter|empty tool_calls is not supported|chat content is empty|at least one content element",
        "empty-content",
        EMPTY,
    ),
    says(r"text cannot be empty|must not be empty|must be non-empty", "empty-content", EMPTY, general=True),
    says(
        r"disk image is malformed|sqlite_corrupt|file is not a database|btreeinitpage|sqlite_notadb",
        "sqlite-corrupt",
        DAMAGED,
    ),
    says(
        r"unexpected end of json|unexpected eof|syntaxerror: .*json|json parse error",
        "corrupt-json",
        NOT_JSON,
    ),
    says(r"foreign key constraint failed", "orphan-row", "A row belongs to a row that is not there."),
    says(
        r"prompt injection patterns detected|request blocked: prompt injection|datainspectionfailed"
        r"|content management policy|content moderation|responsibleaipolicyviolation|不安全或敏感内容",
        "content-policy-text",
        POLICY,
    ),
)
