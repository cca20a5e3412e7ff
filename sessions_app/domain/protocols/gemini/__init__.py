"""Google Gemini generateContent (wire-rules 4)."""
