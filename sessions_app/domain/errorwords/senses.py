"""Reading by sense, where no known sentence is there: providers, gateways and versions put the same complaint in
their own words. A sense is what a sentence must speak of and what it must say about that."""

from __future__ import annotations

from dataclasses import dataclass

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
    ORDER,
    OVERFLOW,
    RESULTS,
    SAME_ID,
    TAIL,
    TWICE,
)

from .patterns import compiled

UNICODE = "A text or an argument holds half of a surrogate pair or another character that is no valid JSON."
POLICY = "A filter in front of the provider refuses a stored text."
ROW = "The client cannot read a row: a required field is missing or has another type."
NOT_JSON = "A stored row or file does not hold JSON."
DAMAGED = "The database file itself is damaged."
SIGNATURE = "The signature of a thinking block is missing, foreign or no longer valid."
ALTERED = "A thinking block of the latest assistant turn is not what the model wrote, or stands elsewhere."
UNPAIRED = "A reasoning item and what was generated after it are not sent together."
NOT_HELD = "An item is named by an id that the server does not hold."
FOREIGN_REASONING = "Encrypted reasoning was made under another account, key, region or model."
THOUGHT = "A function call has no genuine thought signature; another model made it, or an adapter lost it."
HANGS = "The client still holds a turn or a tool of this session as running."
NO_PAIR = "Tool calls and tool results do not match."
PAIR_FAULTS = "orphan-tool-use orphan-tool-result compaction-cuts-tool-pair step-boundary-lost"

_CALL = r"\btool[_ ]?(use|call)s?\b|function[_ ]?calls?\b|tooluse\b|functioncall\b|call_ids?\b|工具调用"
_RESULT = (
    r"\btool[_ ]?(call[_ ])?(result|response|output|message)s?\b|toolresult|function[_ ]?(call[_ ])?(response|output"
    r"|result)s?\b|role:? tool\b|工具(结果|返回)"
)
_BAD = (
    r"invalid|unsupported|not support|not valid|not allowed|malformed|could not|cannot|unable|failed|fail to|corrupt"
    r"|exceed|too (large|big|many|small|long)|must|should|expected|maximum|limit|at most|no more than|only|password"
    r"|unknown|missing|does not|doesnt|not accept|不支持|无效|错误|过大|失败"
)


@dataclass(frozen=True, slots=True)
class Sense:
    """``needs``: all of these patterns are in one message."""

    faults: tuple[str, ...]
    means: str
    needs: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """A normalised text speaks of this."""
        return all(compiled(need).search(text) for need in self.needs)


def _sense(faults: str, means: str, *needs: str) -> Sense:
    return Sense(tuple(faults.split()), means, needs)


SENSES: tuple[Sense, ...] = (
    _sense(
        "sqlite-corrupt", DAMAGED, r"sqlite|database|btree|\bdb\b", r"malformed|corrupt|not a database|notadb|damaged"
    ),
    _sense(
        "stuck-tool open-turn", HANGS, r"session", r"\bis busy\b|already (running|processing|in progress)|in use by"
    ),
    _sense("thought-signature-missing", THOUGHT, r"thought[_ ]?signature"),
    _sense(
        "thinking-altered thinking-unsigned",
        ALTERED,
        r"thinking",
        r"modif|must remain|altered|original response|changed",
    ),
    _sense("thinking-unsigned thinking-stale", SIGNATURE, r"thinking|reasoning", r"signature"),
    _sense(
        "thinking-not-first thinking-lost-on-error thinking-unsigned",
        "Thinking is on, and the last assistant turn with tool calls does not start with a thinking block.",
        r"\bthinking\b.{0,80}(block|content)|redacted_thinking",
        r"start with|\bfirst\b|expected|must begin|preced",
    ),
    _sense(
        "encrypted-reasoning-foreign",
        FOREIGN_REASONING,
        r"encrypted",
        r"content|reasoning",
        r"verif|decrypt|pars|invalid|issued",
    ),
    _sense(
        f"{RESULTS} orphan-tool-use",
        NO_CALL,
        r"\b(tool[_ ])?(call|use)[_ ]?ids?\b",
        r"not found|unknown|no such|does not exist|not exist|no (matching|corresponding)|was not (issued|made)",
    ),
    _sense(
        "item-reference-missing",
        NOT_HELD,
        r"\bitems?\b|previous_response|response with id",
        r"not found|not persisted|does not exist|no longer|could not find|deleted|unknown item",
    ),
    _sense(
        "reasoning-item-unpaired",
        UNPAIRED,
        r"\breasoning\b|\brs_",
        r"without|required following|its required|must be followed|orphan|no following|has no",
    ),
    _sense(
        "reasoning-field-missing",
        FIELD,
        r"reasoning[_ ](content|text|details|field)",
        r"missing|must|required|passed back|pass back|expected|缺少|必须",
    ),
    _sense(
        "history-shape-foreign reasoning-field-missing",
        FOREIGN,
        r"reasoning[_ ]?(content|text|details)?|thinking",
        r"(messages|input|contents|assistant)",
        r"unsupported|not (permitted|supported|allowed)|unknown|unexpected|extra|unrecognized",
    ),
    _sense(
        f"{TWICE} call-id-charset",
        SAME_ID,
        r"tool|call|function|\bid\b|重复",
        r"duplicat|must be unique|not unique|(two|several|multiple|2) .{0,30}same|already (used|exist|handled)"
        r"|more than once|multiple (tool_)?results|重复",
    ),
    _sense(
        PAIR_FAULTS,
        NO_PAIR,
        rf"(number|count) of .{{0,40}}({_RESULT}|{_CALL})|(same|equal) number",
        r"equal|same|match|mismatch|differ",
    ),
    _sense(
        f"{CALLS} orphan-tool-result",
        NO_RESULT,
        rf"{_CALL}|assistant message",
        r"(without|missing|\bno|lack\w*|did not have|not have|need\w*|requires?|expected|have a|not followed by"
        r"|followed by|corresponding|matching|each).{0,60}(result|response|output|tool message)|but the next message"
        r"|unanswered|unresolved|not (been )?answered|did not find|missing tool|没有.{0,20}(结果|响应)|缺少",
    ),
    _sense(
        f"{RESULTS} orphan-tool-use",
        NO_CALL,
        _RESULT,
        r"unexpected|no (matching|corresponding|preceding|previous|tool)|without|not found|must (follow|be a response"
        r"|come)|preceding|preceeding|previous|does not (match|follow|exist)|not match|orphan|unknown|invalid"
        r"|不匹配|找不到",
    ),
    _sense(PAIR_FAULTS, NO_PAIR, _CALL, r"not match|mismatch|does not follow|out of order|不匹配|不一致|对应"),
    _sense(
        "tool-name-invalid",
        NAME,
        r"(function|tool)[ _.]?(call )?(response\.)?names?\b|(tool_use|tooluse|function|function_call"
        r"|function_response|custom)\.name|\]\.name\b|\bname\b.{0,30}(function|tool)",
        r"pattern|invalid|must|empty|too long|a-z|characters|length",
    ),
    _sense(
        "tool-input-malformed",
        INPUT,
        r"\barguments?\b|(tool_?use|tooluse)[./]input|tool (call )?input|tool_calls|参数.{0,10}json",
        r"json\b|object\b|dictionary|\bmap\b|\bparse|unmarshal|decode|unterminated|expected a string|invalid type",
    ),
    _sense(
        "call-id-charset",
        CHARSET,
        r"\b(tool|call|function)[_ ]?(call|use)?[_ ]?ids?\b|tooluseid|\bcall_id\b|tool_use_id|tool_use\.id",
        r"pattern|invalid|must|length|too (long|short)|alphanumeric|a-z|format|empty|characters|无效",
    ),
    _sense(
        "invalid-unicode",
        UNICODE,
        r"surrogate|utf-?(8|16)|unicode|hex escape|escape sequence|control character|body is not valid json"
        r"|\\ud[89a-f]",
    ),
    _sense(
        "media-rejected",
        MEDIA,
        r"\b(images?|pictures?|pdfs?|documents?|media|media_type|mime|mimetype|audio|video|base64|attachments?|vision"
        r"|multimodal|modalit(y|ies)|image_urls?|input_image|input_file|file_data|inlinedata|inline_data)\b|图片|图像|文件类型",
        _BAD,
    ),
    _sense(
        "content-policy-text",
        POLICY,
        r"content|prompt|request|input|output|message|response|text|内容|输入",
        r"polic(y|ies)\b|inappropriate|moderation|flagged|content[ _-]?filter|content_filter|sensitive|prohibited"
        r"|jailbreak|injection|harmful|datainspection|responsibleai|safety (system|filter|reason)|敏感|违规|不安全"
        r"|审核",
    ),
    _sense(
        "context-overflow huge-output compaction-loop",
        OVERFLOW,
        r"context|\btokens?\b|\bprompt\b|\binput\b|sequence|max_model_len|model length|payload|request (body|entity"
        r"|size)|上下文|输入|提示词|长度",
        r"exceed|too (long|large|many|big)|longer than|greater than|larger than|more than|overflow|is full"
        r"|window full|over the|maximum|max length|over the|not enough|does not fit|reduce the length|less than"
        r"|fewer than|at most|up to|must be <|超|过长",
    ),
    _sense(
        "assistant-tail",
        TAIL,
        r"prefill|last (message|role|turn)|final (message|position|turn|assistant)|(ends?|ending) with"
        r"|end of the (list|conversation)",
        r"user|assistant|model|tool|role",
    ),
    _sense(
        "role-order",
        ORDER,
        r"\broles?\b|\bturns?\b|conversation|first message|messages?",
        r"alternat|after role|must (start|begin) with|in a row|consecutive|successive|first .{0,30}must|out of order"
        r"|first (message|role)|roles are supported|should be .{0,20}role",
    ),
    _sense(
        "empty-content thinking-only-message",
        EMPTY,
        r"content|\btext\b|messages?|\bparts?\b|\bprompt\b|\binput\b|内容|消息",
        r"\bempty\b|blank|non-empty|whitespace|must not be null|got null|is null|at least one|no content"
        r"|missing field content|content.{0,20}(required|missing)|minimum length|为空|不能为空|空",
    ),
    _sense(
        "history-shape-foreign",
        FOREIGN,
        r"messages?[.\[]\d|input\[\d|contents\[\d|role:? ?(assistant|user|tool)|\bcontent\b",
        r"unsupported|not (permitted|supported|allowed)|unknown|unexpected|\bextra\b|invalid (type|value)"
        r"|unrecognized|cannot find|additional propert|does not match|expected|unmarshal|deserialize",
    ),
    _sense(
        "corrupt-json",
        NOT_JSON,
        r"json",
        r"syntaxerror|unexpected (token|end|eof|character|identifier)|unterminated|unrecognized token"
        r"|expected property name|expected (double|,)|bad control|parse error|unable to parse|not valid json",
    ),
    _sense(
        "undecodable-row",
        ROW,
        r"schema|zod|parseerror|decode|invalid_type|missing key|expected",
        r"expected|missing|received|got|invalid|does not match|required",
    ),
)
