"""The strict servers behind openai-chat, as data (docs/contract/wire.md#2c). A target's ``profile`` names one.

``soft`` lists rules of OpenAI itself that the server is not known to enforce: they become warnings. ``rules`` lists the
server's own (S1 to S24). ``whole_request_ids``: call ids must be unique over the whole request, not only within a
message (docs/contract/rules.md#2.11).
"""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.domain.protocols.openai_chat.table import NOT_PROBED


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a server (or of all whose make is not known)."""

    title: str
    rules: frozenset[str] = frozenset()
    soft: frozenset[str] = NOT_PROBED
    whole_request_ids: bool = False
    pairs_by_position: bool = False
    """Each result belongs to the call before it, so an id that comes again in a later turn does no harm at all."""
    measured_words: bool = False
    """Words as in the recordings of the corpus, which add the position in brackets."""


def _rules(*names: str) -> frozenset[str]:
    return frozenset(names)


PROFILES: dict[str, Profile] = {
    "": Profile("a compatible server of unknown make", measured_words=True),
    "openai": Profile("OpenAI", soft=frozenset()),
    "azure": Profile("Azure OpenAI", _rules("S20"), frozenset()),
    "xai": Profile("xAI"),
    "openrouter": Profile("a router in front of many servers"),
    "copilot": Profile("GitHub Copilot", _rules("S24")),
    "deepseek": Profile("DeepSeek", _rules("S1", "S2", "S3", "S4"), NOT_PROBED - {"O5"}, whole_request_ids=True),
    "moonshot": Profile("Moonshot (Kimi)", _rules("S5", "S6", "S7", "S8")),
    "mistral": Profile("Mistral", _rules("S9", "S10", "S11", "S12", "S13", "S14", "S15", "S16", "S17")),
    "groq": Profile("Groq", _rules("S18")),
    "fireworks": Profile("Fireworks", _rules("S19")),
    "vllm": Profile("vLLM or a Hugging Face chat template", _rules("S21")),
    "dashscope": Profile("DashScope (Qwen)", _rules("S22")),
    "gemini-openai": Profile("Gemini's OpenAI endpoint", _rules("S23")),
    "local": Profile("a local server (llama.cpp and the like)", pairs_by_position=True),
}


def profile_named(name: str) -> Profile:
    """The profile of a target; a name of another protocol's, or one nobody knows, counts as a server of unknown
    make."""
    return PROFILES.get(name, PROFILES[""])
