"""Words that speak of no stored message: settings, accounts, networks, models, the store's file, and of nothing at
all."""

from __future__ import annotations

from sessions_app.domain.protocols.table import SETTING, About, Words


def _kind(about: About, kind: str, means: str, *reads: str, general: bool = False) -> Words:
    return Words("|".join(reads), (), means, {}, "", general, about, kind)


def _setting(*reads: str, general: bool = False) -> Words:
    return _kind("setting", "", SETTING, *reads, general=general)


_SCHEMA = "The schema of a tool that the client offers, not the stored history, is refused."
_LIMIT = "A limit of the provider is reached: too many requests or tokens for now."
_BILLING = "Credit or plan is used up, or does not cover this."
_LOGIN = "The key or login is missing, wrong, expired or may not do this."
_NETWORK = "No answer came through: the provider, a proxy or the connection failed."
_MODEL = "The provider does not have this model, or not for this account."
_NOTHING = "The provider, or what stands before it, says only that something failed."
_MIGRATION = "The store's tables are of another version than this client, or a migration stopped half way."

OUTSIDE: tuple[Words, ...] = (
    _kind(
        "store",
        "migration",
        _MIGRATION,
        r"no such (column|table)|has no column named|duplicate column name|(table|index) \S+ already exists",
        r"failed to run (the )?(query|data migrations?|migrations?)|migration (\S+ )?(failed|error)"
        r"|__drizzle_migrations|cannot migrate|not empty and has no session table|does not match any known migration",
        r"without matching durable events|database (is newer|version|schema).{0,60}(newer|version|mismatch|than)"
        r"|schema version|malformed database schema|database schema has changed|migrating database",
    ),
    _kind(
        "store",
        "locked",
        "Another process holds the store.",
        r"database (table |schema )?is locked|sqlite_busy|sqlite_locked|locktimeouterror|(table|it) is locked"
        r"|locked by another|lock (is )?held by",
        r"failed to acquire.{0,30}lock|could not (acquire|obtain).{0,30}lock",
    ),
    _kind(
        "store",
        "disk",
        "The disk is full or fails.",
        r"database or disk is full|sqlite_full|enospc|no space left|disk i/o error|sqlite_ioerr|edquot"
        r"|disk quota exceeded|\beio\b|i/o error|not enough space on the disk",
    ),
    _kind(
        "store",
        "permission",
        "The file or its folder may not be read or written.",
        r"readonly database|read-only database|(unable to|cannot|could not) open (the )?database|sqlite_readonly"
        r"|sqlite_cantopen|sqlite_perm|eacces|eperm\b|erofs|read-only file system|permission denied, "
        r"|operation not permitted, |access permission denied",
    ),
    _kind(
        "store",
        "events",
        "The store's event log does not fit its sessions.",
        r"unique constraint failed: (event|event_sequence|session_message|session_input|session_inbox"
        r"|session_pending)\b",
        r"event sequence|sequence (conflict|mismatch|gap)|expected seq|aggregate_id|durable events?|event log"
        r"|projection (failed|is behind|mismatch)|session_context_epoch|event_sequence",
    ),
    _kind(
        "setting",
        "",
        _SCHEMA,
        r"invalid schema for (function|response_format|tool)",
        r"not a valid moonshot flavored json schema",
        r"input_schema[\w. ]*:? (json schema|field required|input should|does not support|invalid)",
        r"json schema is invalid",
        r"(tools|functions?|function_declarations)(\.|\[)\d+[\w.\[\]]*(parameters|input_schema|schema)\b",
        r"tools?\.function\.parameters",
        r"function_declarations.* (schema|parameters)",
        r"schema (at|for) .* (oneof|anyof|allof|enum|\$ref)",
        r"input_schema does not support (oneof|anyof|allof)",
        r"tool schema|unsupported keyword|unable to convert (the )?(tool|function).*schema",
        r"failed to (parse|compile|initialize).*(grammar|json schema|tool schema)",
    ),
    _kind(
        "setting",
        "",
        "The client offers more tools than this provider takes, or offers tools to a model that takes none.",
        r"invalid tools: array too long",
        r"no endpoints found that support (tool|the provided)",
        r"does not support (parallel tool calls|tools|tool use|tool calls|tool calling|function calling"
        r"|function calls)\b",
        r"tools? (use|calling|choice) (is|are) not supported",
        r"tool choice requires",
        r"too many tools",
        r"tool_choice is not supported|toolchoice is not supported",
        r"maximum of \d+ tools",
        r"tool names must be unique",
    ),
    _setting(
        r"max_(completion_|output_)?tokens: ",
        r"max_(completion_|output_)?tokens (must|should|is too large|exceeds|cannot|too large|limit)",
        r"max_(completion_|output_)?tokens.{0,30}(less than or equal|at most|maximum allowed|allowed number)",
        r"range of max_(completion_)?tokens should be",
        r"maxoutputtokens",
        r"(unsupported|unknown|unrecognized|unexpected|invalid) (parameter|request argument|field|keyword argument"
        r"|argument)s?( supplied)?:? (?!messages|input\[|contents|tool_call|reasoning_)\w",
        r"unrecognized request arguments?",
        r"\b(temperature|top_p|top_k|top_logprobs|presence_penalty|frequency_penalty|seed|logprobs|stream_options"
        r"|parallel_tool_calls|response_format|service_tier|verbosity|reasoning_effort|reasoning\.effort"
        r"|reasoning\.summary|thinking_budget|thinkingbudget|enable_thinking|prompt_cache_key|cache_control"
        r"|truncation)(\.\w+)?:? (and \w+ |\w+ )?(is|are|cannot|can only|does not|must be|may only|should be"
        r"|not supported|parameter)\b",
        r"unsupported value: |supported values are: .*(low|medium|high|minimal|xhigh|auto)\b",
        r"(function calling|tool use|tool calling|tools) (is|are) not enabled|support tool calling without"
        r"|cannot be used with reasoning",
        r"(?<![\w.])(thinking|output_config|reasoning|context_management|generation_?config|inferenceconfig"
        r"|toolconfig|metadata)[\w.]*: (input should|extra inputs|field required|value error|unknown|unsupported)",
        r"(?<![\w.])(tools|system|thinking|context_management|output_config)(\.[\w.]+"
        r"|\[\d+\][\w.]*): extra inputs are not permitted",
        r"budget_tokens|thinking_budget|thinking budget|thinking level|thinking_level",
        r"supports? (only )?(streaming|stream mode)|only support stream",
        r"anthropic-beta header",
        r"extra inputs are not permitted, field: (?!messages|input\[|contents)\w",
        r"property body\.(?!messages|input|contents)\w+ is unsupported",
        r"maximum of \d+ blocks with cache_control",
        r"(not|doesnt) support (the )?(thinking|reasoning|effort|temperature|prompt caching|response_format"
        r"|json mode)\b",
        r"unknown name \w+: cannot find field",
        r"unknown name \w+ at (generation_config|tools|tool_config|system_instruction|safety)",
        r"developer instruction is not enabled|system (role|instruction|prompt)s? (is|are) not (supported|enabled)",
    ),
    _kind(
        "not-history",
        "limit",
        _LIMIT,
        r"rate_limit_error|rate[ _-]?limit(ed|s)?\b.{0,60}(exceed|reach|hit|for|of|error|try)|exceed.{0,60}rate limit",
        r"ratelimiterror|rate_limit_exceeded|rate-limited|rate limited",
        r"too many (requests|tokens|concurrent)|toomanyrequests|throttlingexception|throttl(ed|ing)",
        r"resource_exhausted|resource has been exhausted|quota exceeded for|exceeded your (current )?(hourly|daily"
        r"|weekly|monthly|usage)",
        r"(usage|session|weekly|daily|hourly|5-hour|request|concurrency) limit (has been )?(reached|exceeded|hit)",
        r"limit (reached|exceeded).{0,80}(reset|try again|tokens per|requests per)|tokens per (min|day)"
        r"|requests per (min|day)",
        r"reached your .{0,40}limit|hit your .{0,40}limit|concurrency.{0,30}limit",
        r"overloaded_error|\boverloaded\b|model is (currently )?(overloaded|busy)|engine is currently overloaded",
        r"server is (busy|at capacity)|at capacity|insufficient_quota_per|quota will reset",
        r"速率限制|请求过于频繁|频率|限流|并发数?(过高|超)|达到.{0,10}上限|请求过多|访问量过大|使用上限",
        r"freeusagelimiterror|subscription quota|premium request allowance",
    ),
    _kind(
        "not-history",
        "billing",
        _BILLING,
        r"credit balance|insufficient (balance|credit|fund|quota)|insufficient_quota|more credits|can only afford",
        r"exceeded your current quota|check your plan and billing|billing (details|hard limit|not active|account)"
        r"|billing_error",
        r"payment required|payment method|creditserror|out of credits|no (remaining )?credits"
        r"|purchase (more )?credits|prepaid",
        r"free tier|arrearage|account is in good standing|subscription (is|has|required|expired|not)|spending limit"
        r"|monthly spend",
        r"欠费|余额不足|充值|账户余额|资源包|套餐",
    ),
    _kind(
        "not-history",
        "login",
        _LOGIN,
        r"authentication (fails|failed|failure|error)|api key:? \S+ (is )?invalid|authentication_error"
        r"|authenticationerror|unauthori[sz]ed\b|invalid (x-)?api[ _-]?key|incorrect api key"
        r"|api[ _-]?key (is )?(invalid|not|missing|expired|required)|api_key_invalid|invalid_api_key|no api[ _-]?key"
        r"|missing api[ _-]?key|loadapikeyerror|api key not valid",
        r"(oauth|access|refresh|bearer|security|auth|session|id) token (has |is |was |included )?.{0,40}(expired"
        r"|invalid|revoked|not found)|token (is )?expired|invalid (bearer|access|auth|oauth) token"
        r"|token refresh failed|invalid_grant",
        r"unrecognizedclientexception|expiredtokenexception|accessdeniedexception|access denied|credentials? (not"
        r"|could|are|is|expired|missing|provider)|could not load credentials|please (log|sign) ?in|not logged in"
        r"|login required|re-?authenticat",
        r"permission_error|permissiondeniederror|permission_denied|you do not have permission"
        r"|does not have access to this|not authori[sz]ed|forbidden\b|no auth credentials|user not found\."
        r"|account (is )?(disabled|suspended|deactivated)|organization has been disabled"
        r"|country, region, or territory not supported|not available in your (region|country)",
        r"provider\w*autherror|令牌|密钥|鉴权|身份验证|未授权|登录|apikey.{0,10}(无效|错误|不存在)",
    ),
    _kind(
        "not-history",
        "model",
        _MODEL,
        r"model:? \S+ (does not exist|not found|is not (found|available|supported|a valid|enabled)|was not found"
        r"|has been (retired|deprecated|removed))",
        r"model (does not exist|not found|not exist|is not supported|not supported|not available|is not available)"
        r"|modelnotfound|model_not_found|providermodelnotfound|unknown model|no such model|invalid model( name|_id"
        r"| identifier| id)?\b(?!: this model)",
        r"requested model (is not|was not|does not)|model identifier is invalid|unknown provider|no allowed providers"
        r"|not_found_error.{0,40}model:|model: [\w.:/-]+$",
        r"no endpoints (found )?(for|matching)|no (healthy |available )?(deployments?|channels?|providers?) (found "
        r"|available )?(for|with|under)|the api deployment for this resource does not exist|deploymentnotfound",
        r"try pulling it first|models/\S+ is not found|publisher model|on-demand throughput isnt supported"
        r"|inference profile|model access is denied|you dont have access to the model"
        r"|not support .{0,20}this model in your plan|model .{0,60}(retired|deprecated|decommissioned|sunset)"
        r"|failed to load model|no models? loaded",
        r"模型不存在|模型.{0,20}(不存在|已下线|无权|未开通)",
    ),
    _kind(
        "not-history",
        "network",
        _NETWORK,
        r"\beconnreset|econnrefused|etimedout|\benotfound|eai_again|epipe|ehostunreach|enetunreach|econnaborted|und_err",
        r"fetch failed|failed to fetch|socket (hang up|connection was closed|closed)|network (error|connection"
        r"|is unreachable)|connection (error|reset|refused|closed|aborted|lost|timed out)|unable to connect"
        r"|cannot connect to api|could not connect|premature close",
        r"(operation|request|connection|stream|read|gateway|response|headers?|body) (has |was )?(timed out|timeout"
        r"|time-out)|deadline exceeded|deadline_exceeded|sse (read )?timed? ?out|timeout error|apitimeouterror"
        r"|\btimeouterror",
        r"certificate|self[- ]signed|ssl(v3)? (error|alert|routines|handshake)|tls (error|handshake|connection)",
        r"bad gateway|service unavailable|gateway time-?out|upstream connect error|internal server error"
        r"|internal_server_error|server had an error|cloudflare|proxy (error|authentication)|serviceunavailable"
        r"|internalserverexception|api_error: internal|an internal error (has )?occurred|temporarily unavailable"
        r"|getaddrinfo|dns",
        r"\bstream (ended|error|closed|disconnected|interrupted)|unexpected end of stream|terminated$"
        r"|aborterror: the operation|no output generated|incomplete (chunked|stream)|other side closed",
        r"网络|超时|服务(不可用|繁忙|异常)|系统繁忙",
    ),
    _kind(
        "generic",
        "",
        _NOTHING,
        r"messages parameter is illegal|messages 参数非法|invalid api parameter|api 调用参数有误|参数有误",
        r"invalid request error|request contains an invalid argument|invalid request body|invalid argument provided",
    ),
    _kind(
        "generic",
        "",
        _NOTHING,
        r"invalid_request_body|\(no body\)|status code 400|invalid_argument$",
        r"provider returned error|upstream (error|request failed|returned)|error from (upstream|provider)$"
        r"|bad_response_status_code",
        r"bad request|unknown ?error|an unknown error|unexpected error|something went wrong|internal error"
        r"|badrequesterror|ai_apicallerror|apierror|invalid_request_error|invalid params|invalid parameter",
        r"reasoning part \S+ not found|text part \S+ not found|unavailable tool|nosuchtoolerror|interrupted|aborted"
        r"|value is not callable|finish_reason|cancelled|request failed",
        general=True,
    ),
)

STATUSES: tuple[tuple[str, Words], ...] = tuple(
    (number, words)
    for number, kind in (
        ("401", "login"),
        ("402", "billing"),
        ("403", "login"),
        ("404", "model"),
        ("408", "network"),
        ("429", "limit"),
        ("500", "network"),
        ("502", "network"),
        ("503", "network"),
        ("504", "network"),
        ("520", "network"),
        ("521", "network"),
        ("522", "network"),
        ("524", "network"),
        ("529", "limit"),
    )
    for words in OUTSIDE
    if (words.about, words.kind) == ("not-history", kind)
)
"""What an HTTP status means where no words are known."""
