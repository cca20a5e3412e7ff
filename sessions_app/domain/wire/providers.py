"""Provider ids the clients know: which wire format, which package, which strict-server profile
(docs/contract/design.md#target).

Data only. Sources: docs/contract/wire.md#2c (strict servers), docs/contract/wire.md#6.1 (packages); the rest is the
public catalogue of provider ids that the V1 client ships with. A provider that is not listed is a compatible server of
unknown make.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sessions_app.domain.wire.names import ProtocolName

ANTHROPIC = "@ai-sdk/anthropic"
COMPATIBLE = "@ai-sdk/openai-compatible"
OPENAI = "@ai-sdk/openai"
GOOGLE = "@ai-sdk/google"
BEDROCK = "@ai-sdk/amazon-bedrock"
COPILOT = "@ai-sdk/github-copilot"
VERTEX_CLAUDE = "@ai-sdk/google-vertex/anthropic"

AZURE = "@ai-sdk/azure"
VERTEX = "@ai-sdk/google-vertex"
MANTLE = "@ai-sdk/amazon-bedrock/mantle"
OPENROUTER = "@openrouter/ai-sdk-provider"
XAI = "@ai-sdk/xai"

PACKAGES: dict[str, ProtocolName] = {
    ANTHROPIC: "anthropic-messages",
    VERTEX_CLAUDE: "anthropic-messages",
    OPENAI: "openai-responses",
    AZURE: "openai-responses",
    MANTLE: "openai-responses",
    GOOGLE: "gemini",
    VERTEX: "gemini",
    BEDROCK: "bedrock-converse",
    **dict.fromkeys((COMPATIBLE, COPILOT, OPENROUTER, XAI), "openai-chat"),
    **{
        f"@ai-sdk/{name}": "openai-chat"
        for name in (
            *("alibaba", "cerebras", "cohere", "deepinfra", "deepseek", "gateway"),
            *("groq", "mistral", "perplexity", "togetherai", "vercel"),
        )
    },
}
"""What a package speaks for a provider id of one's own: some providers of the table go another way by id or model."""

DEFAULT_PACKAGE: dict[ProtocolName, str] = {
    "anthropic-messages": ANTHROPIC,
    "openai-chat": COMPATIBLE,
    "openai-responses": OPENAI,
    "gemini": GOOGLE,
    "bedrock-converse": BEDROCK,
}
"""The package that writes a protocol where the provider's own does not."""

OLDER_ANTHROPIC = "anthropic-older"
"""Profile of servers that speak anthropic-messages and are not run by a vendor we know: they are judged by what the
corpus' strict provider refused (docs/contract/wire.md#6.8.d)."""


@dataclass(frozen=True, slots=True)
class ByModel:
    """Models of a provider whose id holds ``fragment`` go another way than the provider's other models."""

    fragment: str
    protocol: ProtocolName
    package: str


@dataclass(frozen=True, slots=True)
class Provider:
    """How the client talks to a provider. ``profile`` names the rules of a strict server of openai-chat, or of an older
    server of anthropic-messages ("" = the vendor's own API); ``hosts`` are the ends of host names it answers at."""

    protocol: ProtocolName
    package: str
    profile: str = ""
    by_model: tuple[ByModel, ...] = ()
    hosts: tuple[str, ...] = ()


def _chat(profile: str = "", package: str = COMPATIBLE, hosts: tuple[str, ...] = ()) -> Provider:
    return Provider("openai-chat", package, profile, hosts=hosts)


_MOONSHOT = _chat("moonshot", hosts=("moonshot.ai", "moonshot.cn"))
_FIREWORKS = _chat("fireworks", hosts=("fireworks.ai",))
_DASHSCOPE = _chat("dashscope", hosts=("aliyuncs.com",))
_VLLM = _chat("vllm")
_LOCAL = _chat("local")
_AZURE = Provider("openai-responses", AZURE, "azure", hosts=("openai.azure.com", "cognitiveservices.azure.com"))
_CLAUDE_ON_VERTEX = ByModel("claude", "anthropic-messages", VERTEX_CLAUDE)
_COPILOT = Provider(
    "openai-chat",
    COPILOT,
    "copilot",
    by_model=(ByModel("gpt-5-mini", "openai-chat", COPILOT), ByModel("gpt-5", "openai-responses", COPILOT)),
    hosts=("githubcopilot.com",),
)
_ZEN = Provider(
    "openai-chat",
    COMPATIBLE,
    by_model=(
        ByModel("claude", "anthropic-messages", ANTHROPIC),
        ByModel("gpt-", "openai-responses", OPENAI),
        ByModel("gemini", "gemini", GOOGLE),
    ),
    hosts=("opencode.ai",),
)

PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider("anthropic-messages", ANTHROPIC, hosts=("anthropic.com",)),
    "google-vertex-anthropic": Provider("anthropic-messages", VERTEX_CLAUDE),
    "kimi-for-coding": Provider("anthropic-messages", ANTHROPIC, OLDER_ANTHROPIC, hosts=("kimi.com",)),
    "minimax": Provider("anthropic-messages", ANTHROPIC, OLDER_ANTHROPIC, hosts=("minimax.io", "minimaxi.com")),
    "openai": Provider("openai-responses", OPENAI, "openai", hosts=("openai.com", "chatgpt.com")),
    "xai": Provider("openai-responses", XAI, "xai", hosts=("x.ai",)),
    "azure": _AZURE,
    "azure-cognitive-services": _AZURE,
    "google": Provider("gemini", GOOGLE, "gemini-openai", hosts=("generativelanguage.googleapis.com",)),
    "google-vertex": Provider("gemini", VERTEX, by_model=(_CLAUDE_ON_VERTEX,), hosts=("aiplatform.googleapis.com",)),
    "amazon-bedrock": Provider("bedrock-converse", BEDROCK, hosts=("amazonaws.com",)),
    "github-copilot": _COPILOT,
    "github-copilot-enterprise": _COPILOT,
    "opencode": _ZEN,
    "opencode-go": _ZEN,
    "mistral": _chat("mistral", "@ai-sdk/mistral", ("mistral.ai",)),
    "deepseek": _chat("deepseek", hosts=("deepseek.com",)),
    "moonshot": _MOONSHOT,
    "moonshotai": _MOONSHOT,
    "moonshotai-cn": _MOONSHOT,
    "kimi": _MOONSHOT,
    "groq": _chat("groq", "@ai-sdk/groq", ("groq.com",)),
    "fireworks": _FIREWORKS,
    "fireworks-ai": _FIREWORKS,
    "alibaba": _DASHSCOPE,
    "alibaba-cn": _DASHSCOPE,
    "dashscope": _DASHSCOPE,
    "qwen": _DASHSCOPE,
    "vllm": _VLLM,
    "huggingface": _chat("vllm", hosts=("huggingface.co",)),
    "openrouter": _chat("openrouter", OPENROUTER, ("openrouter.ai",)),
    "vercel": _chat("openrouter", "@ai-sdk/gateway", ("ai-gateway.vercel.sh",)),
    "llama.cpp": _LOCAL,
    "llamacpp": _LOCAL,
    "lmstudio": _LOCAL,
    "ollama": _LOCAL,
    "local": _LOCAL,
    "cerebras": _chat(package="@ai-sdk/cerebras", hosts=("cerebras.ai",)),
    "cohere": _chat(package="@ai-sdk/cohere", hosts=("cohere.com",)),
    "deepinfra": _chat(package="@ai-sdk/deepinfra", hosts=("deepinfra.com",)),
    "perplexity": _chat(package="@ai-sdk/perplexity", hosts=("perplexity.ai",)),
    "togetherai": _chat(package="@ai-sdk/togetherai", hosts=("together.xyz", "together.ai")),
    "baseten": _chat(hosts=("baseten.co",)),
    "chutes": _chat(hosts=("chutes.ai",)),
    "github-models": _chat("azure", hosts=("models.github.ai",)),
    "inference": _chat(),
    "nvidia": _chat("vllm", hosts=("nvidia.com",)),
    "zai": _chat(hosts=("z.ai",)),
    "zai-coding-plan": _chat(hosts=("z.ai",)),
    "zhipuai": _chat(hosts=("bigmodel.cn",)),
    "zhipuai-coding-plan": _chat(hosts=("bigmodel.cn",)),
}

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")  # noqa: S104 - names to recognise, nothing is bound


@dataclass(frozen=True, slots=True)
class Route:
    """Where a provider's model goes: protocol, package and profile. ``known`` is false for an id that the table does
    not list."""

    protocol: ProtocolName
    package: str
    profile: str
    known: bool


def route(provider: str, model: str, base_url: str = "", package: str = "", completions: bool = False) -> Route:
    """The way of ``provider/model``; an unknown provider is recognised by the host of ``base_url``, else by the model
    id alone (docs/contract/design.md#target: an id with "claude" speaks anthropic-messages, every other
    openai-chat). A ``package`` that the client's configuration names decides, where it is one that is known;
    ``completions`` asks Azure for chat completions."""
    way = _table_route(provider, model, base_url)
    if package == way.package:
        return replace(way, protocol="openai-chat") if completions and package == AZURE else way
    protocol = PACKAGES.get(package)
    if protocol is None:
        return way
    if completions and package == AZURE:
        protocol = "openai-chat"
    if protocol == way.protocol:
        return replace(way, package=package)
    return Route(protocol, package, OLDER_ANTHROPIC if protocol == "anthropic-messages" else "", way.known)


def _table_route(provider: str, model: str, base_url: str) -> Route:
    entry = PROVIDERS.get(provider.lower()) or _by_host(base_url)
    if entry is None:
        if "claude" in model.lower():
            return Route("anthropic-messages", ANTHROPIC, OLDER_ANTHROPIC, known=False)
        return Route("openai-chat", COMPATIBLE, "", known=False)
    for special in entry.by_model:
        if special.fragment in model.lower():
            return Route(special.protocol, special.package, entry.profile, known=True)
    return Route(entry.protocol, entry.package, entry.profile, known=True)


def _by_host(base_url: str) -> Provider | None:
    host = base_url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
    if not host:
        return None
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name in LOCAL_HOSTS:
        return _LOCAL
    for entry in PROVIDERS.values():
        if any(name == end or name.endswith("." + end) for end in entry.hosts):
            return entry
    return None
