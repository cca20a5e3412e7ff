"""The Anthropic Messages API (wire-rules 1)."""
