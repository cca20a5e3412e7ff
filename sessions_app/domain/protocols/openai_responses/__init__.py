"""The OpenAI Responses API (docs/contract/wire.md#3)."""
