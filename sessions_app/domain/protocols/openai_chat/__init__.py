"""OpenAI Chat Completions and the servers that are compatible with it (wire-rules 2)."""
