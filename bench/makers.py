"""What providers leave in stored rows: names of calls, and what signs or seals the reasoning."""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass
from typing import Any, Literal

type Seal = Literal["signature", "encrypted", "thought", ""]

_SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Maker:
    """A provider's model: how often it is used, how its calls are named, and how it takes its reasoning back."""

    provider: str
    model: str
    share: float
    call: str
    seal: Seal = ""
    key: str = ""
    silent: bool = False
    """Its thinking has no text, only the seal."""
    images: bool = True
    thinks: float = 0.7
    """Share of its steps that have reasoning, behind the first of a turn."""

    def call_id(self, dice: random.Random) -> str:
        return self.call + "".join(dice.choices(_SIGNS, k=16 if not self.call else 24))

    def reasoning(self, dice: random.Random, text: str) -> dict[str, Any]:
        """Members of a reasoning part, without its times."""
        part: dict[str, Any] = {"type": "reasoning", "text": "" if self.silent else text}
        return part | self._sealed(dice, "rs_", sealed=True)

    def beside(self, dice: random.Random, prefix: str, *, first: bool) -> dict[str, Any]:
        """What a text (``msg_``) or call (``fc_``) carries itself; Gemini signs only the ``first`` call of a step."""
        if self.seal == "encrypted":
            return self._sealed(dice, prefix, sealed=False)
        return self._sealed(dice, prefix, sealed=True) if self.seal == "thought" and first else {}

    def _sealed(self, dice: random.Random, prefix: str, *, sealed: bool) -> dict[str, Any]:
        if self.seal == "encrypted":
            state = {"itemId": prefix + dice.randbytes(24).hex()}
            state |= {"reasoningEncryptedContent": _fernet(dice, 600)} if sealed else {}
        elif self.seal == "signature":
            state = {"signature": _noise(dice, 300)}
        elif self.seal == "thought":
            state = {"thoughtSignature": _noise(dice, 200)}
        else:
            return {}
        return {"metadata": {self.key: state}}


MAKERS = (
    Maker("anthropic", "claude-sonnet-4-5", 0.30, "toolu_01", "signature", "anthropic"),
    Maker("anthropic", "claude-opus-4-8", 0.15, "toolu_01", "signature", "anthropic", silent=True),
    Maker("openai", "gpt-5", 0.20, "call_", "encrypted", "openai"),
    Maker("google", "gemini-3-pro-preview", 0.10, "", "thought", "google"),
    Maker("amazon-bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", 0.05, "tooluse_", "signature", "bedrock"),
    Maker("zai", "glm-4.6", 0.10, "call_", images=False),
    Maker("deepseek", "deepseek-reasoner", 0.10, "call_00_", images=False, thinks=1.0),
)


def maker(dice: random.Random) -> Maker:
    return dice.choices(MAKERS, [one.share for one in MAKERS])[0]


def _fernet(dice: random.Random, size: int) -> str:
    """As OpenAI seals: a version and the first bytes of a time, so that all begin alike."""
    return base64.urlsafe_b64encode(b"\x80\0\0\0\0" + dice.randbytes(size)).decode()


def _noise(dice: random.Random, size: int) -> str:
    return base64.b64encode(dice.randbytes(size)).decode()
