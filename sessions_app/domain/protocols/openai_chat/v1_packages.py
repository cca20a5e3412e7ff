"""Chat messages of the packages that write them otherwise than ``@ai-sdk/openai-compatible``
(docs/contract/wire.md#6.9)."""

from __future__ import annotations

from sessions_app.domain.protocols.openai_chat.v1_compatible import Compatible, Json, joined, plain_call
from sessions_app.domain.protocols.v1_prompt import PromptMessage, image, own, said, unsupported
from sessions_app.domain.wire.lowered import LoweringError, Origin


class Bare(Compatible):
    """Calls and results carry nothing of their package, and reasoning is not sent back."""

    def assistant(self, message: PromptMessage, place: int) -> Json:
        return self.with_calls({"role": "assistant", "content": joined("text", message.blocks)}, message)

    def call(self, block: Json) -> Json:
        return plain_call(block)

    def tool(self, block: Json) -> Json:
        return {"role": "tool", "tool_call_id": block["id"], "content": said(block)}


class ImagesOnly(Bare):
    """No other file than an image is taken."""

    def file(self, block: Json, origin: Origin, index: int) -> Json:
        if not block["mediaType"].startswith("image/"):
            raise unsupported(self.refused(block["mediaType"]), origin)
        return {"type": "image_url", "image_url": {"url": image(block)}}

    def refused(self, media_type: str) -> str:
        """What is not supported, in the package's words."""
        return f"file part media type {media_type}"


class Xai(ImagesOnly):
    """xAI's chat completions, which the client asks only of a provider id of one's own (docs/contract/wire.md#6.9)."""


class OpenAI(Bare):
    """OpenAI's own chat completions: calls without words have no content; a PDF is named by its place."""

    def assistant(self, message: PromptMessage, place: int) -> Json:
        return _without_words(super().assistant(message, place))

    def file(self, block: Json, origin: Origin, index: int) -> Json:
        if block["mediaType"].startswith("text/"):
            raise unsupported(f"file part media type {block['mediaType']}", origin)
        return super().file(block, origin, index)

    def unnamed(self, index: int) -> str:
        return f"part-{index}.pdf"


class Groq(ImagesOnly):
    """Reasoning is called ``reasoning`` (S18)."""

    def assistant(self, message: PromptMessage, place: int) -> Json:
        thought = joined("reasoning", message.blocks)
        return super().assistant(message, place) | ({"reasoning": thought} if thought else {})

    def refused(self, media_type: str) -> str:
        """The same words for every kind."""
        return "Non-image file content parts"


class Newer(Compatible):
    """A newer form of the compatible package: calls without words have no content."""

    def assistant(self, message: PromptMessage, place: int) -> Json:
        return _without_words(super().assistant(message, place))


class Cerebras(Newer):
    """Reasoning is called ``reasoning``."""

    def assistant(self, message: PromptMessage, place: int) -> Json:
        result = super().assistant(message, place)
        thought = result.pop("reasoning_content", None)
        return result if thought is None else {"reasoning": thought, **result}


class DeepSeek(Bare):
    """A user's files are dropped without a word; reasoning goes back for the turn that is open, and for every answer
    of models from V4 on, there even where there is none."""

    def user(self, message: PromptMessage, place: int) -> Json:
        return {"role": "user", "content": joined("text", message.blocks)}

    def assistant(self, message: PromptMessage, place: int) -> Json:
        result = super().assistant(message, place)
        model = self.target.model
        always = "deepseek-v4" in model or model.startswith(("deepseek-flash", "deepseek-pro"))
        asked = max((at for at, one in enumerate(self.prompt) if one.role == "user"), default=-1)
        reasons = any(block["type"] == "reasoning" for block in message.blocks)
        if always or (reasons and place > asked):
            result["reasoning_content"] = joined("reasoning", message.blocks)
        return result


class Mistral(Bare):
    """Reasoning stands in the content; a last answer is a prefix (S13); results say their tool's name."""

    def user(self, message: PromptMessage, place: int) -> Json:
        return {"role": "user", "content": self.parts(message)}

    def assistant(self, message: PromptMessage, place: int) -> Json:
        text, parts, thinks = "", [], False
        for block, origin in message.pairs():
            if block["type"] == "tool-result":
                words = "Unsupported content type in assistant message: tool-result"
                raise LoweringError("unsupported-content", words, origin)
            if block["type"] == "tool-call":
                continue
            text += block["text"]
            thinking = own(block, "mistral").get("thinking") if block["type"] == "reasoning" else None
            if isinstance(thinking, dict) and thinking.get("type") == "thinking":
                thinks = True
                parts.append(thinking)
            else:
                parts.append({"type": "text", "text": block["text"]})
        result: Json = {"role": "assistant", "content": parts if thinks else text}
        if place == len(self.prompt) - 1:
            result["prefix"] = True
        return self.with_calls(result, message)

    def tool(self, block: Json) -> Json:
        return {"role": "tool", "name": block["name"], "tool_call_id": block["id"], "content": said(block)}

    def file(self, block: Json, origin: Origin, index: int) -> Json:
        if block["mediaType"].startswith("image/"):
            return {"type": "image_url", "image_url": image(block)}
        if block["mediaType"] == "application/pdf":
            return {"type": "document_url", "document_url": image(block)}
        raise unsupported("Only images and PDF file parts are supported", origin)


class Copilot(ImagesOnly):
    """Reasoning goes back only with what Copilot sealed it with; calls and results carry their state as it is."""

    def assistant(self, message: PromptMessage, place: int) -> Json:
        result: Json = {"role": "assistant", "content": joined("text", message.blocks) or None}
        thoughts = [block["text"] for block in message.blocks if block["type"] == "reasoning" and block["text"]]
        sealed = next(filter(None, (own(block, "copilot").get("reasoningOpaque") for block in message.blocks)), None)
        if sealed:
            result |= {"reasoning_text": thoughts[-1]} if thoughts else {}
            result["reasoning_opaque"] = sealed
        return self.with_calls(result, message)

    def call(self, block: Json) -> Json:
        return plain_call(block) | _state(block)

    def tool(self, block: Json) -> Json:
        return super().tool(block) | _state(block)


def _state(block: Json) -> Json:
    """Item ids are taken out before (docs/contract/wire.md#6.1.9.5)."""
    return {key: value for key, value in own(block, "copilot").items() if key != "itemId"}


def _without_words(result: Json) -> Json:
    return {**result, "content": result["content"] or None} if "tool_calls" in result else result
