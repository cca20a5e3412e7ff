"""Tag, certainty and causes of the rules of wire-rules 2b and 2c."""

from __future__ import annotations

from sessions_app.domain.protocols.checking import PAIRING, SCHEMA, SEMANTIC, RuleFacts

_ORPHAN = ("orphan-tool-use", "step-boundary-lost", "compaction-cuts-tool-pair")
_RESULT = ("orphan-tool-result", "compaction-cuts-tool-pair")
_EMPTY = ("empty-content", "thinking-only-message")
_FIELD = ("reasoning-field-missing",)
_INPUT = ("tool-input-malformed",)
_TWICE = ("duplicate-call-id-in-message", "call-id-charset")

FACTS: dict[str, RuleFacts] = {
    "O1": RuleFacts("P", "measured", PAIRING, _ORPHAN),
    "O2": RuleFacts("P", "reported", PAIRING, _RESULT),
    "O3": RuleFacts("P", "reported", PAIRING, _RESULT),
    "O4": RuleFacts("P", "measured", SCHEMA, ("empty-content",)),
    "O5": RuleFacts("P", "measured", SEMANTIC, _EMPTY),
    "O6": RuleFacts("P", "measured", SEMANTIC, ("empty-content",)),
    "O7": RuleFacts("P", "measured", SCHEMA, ("history-shape-foreign",)),
    "O8": RuleFacts("P", "measured", SCHEMA, ("empty-message",)),
    "O9": RuleFacts("P", "reported", SCHEMA, ("call-id-charset",)),
    "O10": RuleFacts("P", "reported", SCHEMA, ("tool-name-invalid", "invalid-unicode")),
    "O11": RuleFacts("R", "reported", SCHEMA),
    "O12": RuleFacts("P", "documented", SCHEMA, ("media-rejected",)),
    "O13": RuleFacts("P", "documented", SCHEMA, _INPUT),
    "O14": RuleFacts("R", "measured", SCHEMA),
    "O15": RuleFacts("R", "documented", SCHEMA),
    "O18": RuleFacts("P", "measured", PAIRING, _TWICE),
    "A31": RuleFacts("P", "reported", SCHEMA, ("invalid-unicode",)),
    "S1": RuleFacts("P", "documented", SEMANTIC, _FIELD),
    "S2": RuleFacts("P", "uncertain", SEMANTIC, _FIELD),
    "S3": RuleFacts("P", "reported", PAIRING, _ORPHAN),
    "S4": RuleFacts("P", "uncertain", SEMANTIC, ("empty-content",)),
    "S5": RuleFacts("P", "reported", SEMANTIC, _FIELD),
    "S6": RuleFacts("P", "reported", PAIRING, _RESULT),
    "S7": RuleFacts("P", "reported", SEMANTIC, _EMPTY),
    "S8": RuleFacts("P", "reported", PAIRING, _ORPHAN),
    "S9": RuleFacts("P", "documented", SCHEMA, ("call-id-charset",)),
    "S10": RuleFacts("P", "uncertain", SEMANTIC, ("role-order",)),
    "S11": RuleFacts("P", "documented", PAIRING, (*_ORPHAN, "orphan-tool-result")),
    "S12": RuleFacts("P", "documented", PAIRING, (*_TWICE, "orphan-tool-result")),
    "S13": RuleFacts("T", "documented", SEMANTIC, ("assistant-tail",)),
    "S14": RuleFacts("P", "documented", SEMANTIC, _EMPTY),
    "S15": RuleFacts("P", "documented", SEMANTIC, ("role-order",)),
    "S16": RuleFacts("P", "documented", SCHEMA, ("tool-name-invalid", "tool-input-malformed")),
    "S17": RuleFacts("P", "documented", SEMANTIC, ("role-order",)),
    "S18": RuleFacts("P", "reported", SCHEMA, ("history-shape-foreign",)),
    "S19": RuleFacts("P", "reported", SCHEMA, ("history-shape-foreign",)),
    "S21": RuleFacts("P", "uncertain", SEMANTIC, ("role-order", "tool-input-malformed")),
    "S22": RuleFacts("P", "reported", PAIRING, (*_ORPHAN, *_INPUT)),
    "S23": RuleFacts("P", "documented", SEMANTIC, ("thought-signature-missing",)),
    "S24": RuleFacts("T", "reported", SEMANTIC, ("assistant-tail",)),
}
