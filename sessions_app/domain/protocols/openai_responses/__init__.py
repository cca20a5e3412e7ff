"""The OpenAI Responses API (wire-rules 3)."""
