"""Shapes in which a session is handed back: fresh ids, Markdown for a ticket, a redacted copy."""
