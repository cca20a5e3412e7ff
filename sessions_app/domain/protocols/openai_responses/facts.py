"""Tag, certainty and causes of the rules of wire-rules 3b."""

from __future__ import annotations

from sessions_app.domain.protocols.checking import PAIRING, SCHEMA, SEMANTIC, SIGNATURE, RuleFacts

_TWICE = ("duplicate-call-id-in-message", "duplicate-call-id-across-turns")
_UNPAIRED = ("reasoning-item-unpaired",)
_MISSING = ("item-reference-missing",)

FACTS: dict[str, RuleFacts] = {
    "R1": RuleFacts("P", "documented", PAIRING, ("orphan-tool-use", "compaction-cuts-tool-pair")),
    "R2": RuleFacts(
        "P",
        "documented",
        PAIRING,
        ("orphan-tool-result", "reasoning-item-unpaired", "compaction-cuts-tool-pair"),
    ),
    "R3": RuleFacts("P", "documented", PAIRING, _UNPAIRED),
    "R4": RuleFacts("P", "reported", PAIRING, _UNPAIRED),
    "R5": RuleFacts("P", "documented", SCHEMA, ("history-shape-foreign",)),
    "R6": RuleFacts("P", "reported", SCHEMA, ("history-shape-foreign",)),
    "R7": RuleFacts("P", "documented", SCHEMA, ("call-id-charset",)),
    "R8": RuleFacts("P", "reported", PAIRING, (*_TWICE, "item-reference-missing")),
    "R9": RuleFacts("P", "reported", SIGNATURE, _MISSING),
    "R10": RuleFacts("P", "reported", SIGNATURE, ("encrypted-reasoning-foreign",)),
    "R11": RuleFacts("P", "documented", SCHEMA, ("history-shape-foreign",)),
    "R12": RuleFacts("P", "documented", SCHEMA, ("history-shape-foreign", "tool-input-malformed")),
    "R13": RuleFacts("P", "reported", SCHEMA, ("history-shape-foreign",)),
    "R14": RuleFacts("P", "documented", SCHEMA, ("tool-name-invalid", "tool-input-malformed", "invalid-unicode")),
    "R15": RuleFacts("R", "documented", SEMANTIC, _MISSING),
    "R16": RuleFacts("P", "reported", PAIRING, _TWICE),
    "R17": RuleFacts("P", "reported", SEMANTIC, ("reasoning-field-missing",)),
    "A31": RuleFacts("P", "reported", SCHEMA, ("invalid-unicode",)),
    "R-size": RuleFacts("P", "documented", SCHEMA, ("huge-output", "media-rejected")),
    "R-media": RuleFacts("P", "reported", SEMANTIC, ("media-rejected",)),
}
"""``R-size`` and ``R-media`` are what wire-rules 3a and rules 2.3, 2.10 say about sizes and images; they have no number
of their own."""
