"""Provider state one level too deep: 2.x took 1.x rows over with their state still keyed by provider
(docs/contract/formats.md#c3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sessions_app.domain.model import Message, Part
from sessions_app.domain.repair import Edit, JsonPath

from .context import Context
from .finding import Finding, safe
from .operations import edit_part
from .provider_state import states
from .registration import rule

_PROVIDERS: Final = frozenset(
    {
        *("anthropic", "openai", "google", "vertex", "bedrock", "azure", "copilot"),
        *("openrouter", "xai", "mistral", "groq", "deepseek", "openaiCompatible"),
    }
)
"""The keys under which 1.x kept provider state."""


def nested(message: Message, part: Part) -> list[tuple[JsonPath, str, Mapping[str, Any]]]:
    """Where a part's provider state stands under a provider's name once too often: the place, that name, and the state
    as it should be (what stands beside it stays)."""
    if not message.generation:
        return []
    found: list[tuple[JsonPath, str, Mapping[str, Any]]] = []
    for path, value in (*states(message, part), *_results(message, part)):
        named = [key for key in value if key in _PROVIDERS or key == message.provider]
        if named and all(isinstance(held, dict) for held in value.values()):
            own = named[0]
            found.append((path, own, {**{key: held for key, held in value.items() if key != own}, **value[own]}))
    return found


def _results(message: Message, part: Part) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """The state that came with a tool's result; in generation 1 keyed by provider."""
    if message.generation > 1:
        if isinstance(held := part.data.get("providerResultState"), dict):
            yield ("providerResultState",), held
        return
    holder = part.data.get("provider")
    keyed = holder.get("resultMetadata") if isinstance(holder, dict) else None
    for key, held in keyed.items() if isinstance(keyed, dict) else ():
        if isinstance(held, dict):
            yield ("provider", "resultMetadata", key), held


@rule("provider-state-nested", severity="blocked", safety="safe", needs="v2")
def find(context: Context) -> Iterator[Finding]:
    """State that is stored, but not where the client looks for it."""
    for message in context.messages if context.v2 else ():
        places = {part.id: (part, found) for part in message.parts if (found := nested(message, part))}
        if not places:
            continue
        parts = [part for part, _ in places.values()]
        why = "the client looks for it one level higher"
        mend = [
            edit_part(part, [Edit(path, state) for path, _, state in found], why) for part, found in places.values()
        ]
        names = sorted({name for _, found in places.values() for _, name, _ in found})
        yield context.finding(
            f"{message.id} keeps signatures and other provider state under {', '.join(map(repr, names))}, one level"
            " deeper than the client looks, so they are not sent",
            safe("flatten", "Move it up to where the client looks", *mend),
            messages=[message],
            parts=parts,
            refusal=context.any_refusal(messages=[message], parts=message.parts),
            details={"keys": names},
        )
