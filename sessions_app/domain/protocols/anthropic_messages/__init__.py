"""The Anthropic Messages API (docs/contract/wire.md#1)."""
