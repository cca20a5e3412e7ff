"""Tag, certainty and causes of the rules of wire-rules 5b."""

from __future__ import annotations

from sessions_app.domain.protocols.checking import PAIRING, SCHEMA, SEMANTIC, SIGNATURE, RuleFacts

_EMPTY = ("empty-content", "thinking-only-message", "thinking-unsigned")

FACTS: dict[str, RuleFacts] = {
    "B1": RuleFacts("P", "documented", SEMANTIC, ("role-order",)),
    "B2": RuleFacts("P", "documented", SEMANTIC, ("role-order",)),
    "B3": RuleFacts("P", "documented", PAIRING, ("orphan-tool-use", "step-boundary-lost", "compaction-cuts-tool-pair")),
    "B4": RuleFacts("P", "documented", PAIRING, ("orphan-tool-result", "compaction-cuts-tool-pair")),
    "B5": RuleFacts("R", "documented", SCHEMA),
    "B6": RuleFacts("P", "documented", SEMANTIC, ("empty-content",)),
    "B7": RuleFacts("P", "documented", SEMANTIC, _EMPTY),
    "B8": RuleFacts("P", "documented", SCHEMA, ("tool-input-malformed",)),
    "B9": RuleFacts("P", "documented", SCHEMA, ("call-id-charset", "tool-name-invalid")),
    "B10": RuleFacts("P", "reported", SCHEMA, ("call-id-charset",)),
    "B11": RuleFacts("R", "reported", SCHEMA),
    "B12": RuleFacts("P", "documented", SIGNATURE),
    "B13": RuleFacts("R", "documented", SCHEMA),
    "B14": RuleFacts("P", "documented", SCHEMA, ("history-shape-foreign",)),
    "B15": RuleFacts("P", "documented", SCHEMA, ("media-rejected",)),
}
