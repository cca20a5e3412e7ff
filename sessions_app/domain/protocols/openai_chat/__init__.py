"""OpenAI Chat Completions and the servers that are compatible with it (docs/contract/wire.md#2)."""
