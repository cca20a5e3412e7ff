"""Google Gemini generateContent (docs/contract/wire.md#4)."""
