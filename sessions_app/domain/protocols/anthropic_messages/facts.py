"""Tag, certainty and causes of every rule of wire-rules 1b, and the servers of unknown make."""

from __future__ import annotations

from sessions_app.domain.protocols.checking import PAIRING, SCHEMA, SEMANTIC, SIGNATURE, RuleFacts

_LOST = ("thinking-unsigned", "thinking-lost-on-error")

FACTS: dict[str, RuleFacts] = {
    "A1": RuleFacts("P", "measured", PAIRING, ("orphan-tool-use", "step-boundary-lost", "compaction-cuts-tool-pair")),
    "A2": RuleFacts("P", "measured", PAIRING, ("orphan-tool-result", "compaction-cuts-tool-pair")),
    "A2s": RuleFacts("P", "reported", PAIRING, ("orphan-tool-result", "history-shape-foreign")),
    "A3": RuleFacts(
        "P",
        "measured",
        PAIRING,
        ("duplicate-call-id-in-message", "duplicate-call-id-across-turns", "call-id-charset"),
    ),
    "A4": RuleFacts("P", "reported", PAIRING, ("duplicate-call-id-in-message", "duplicate-call-id-across-turns")),
    "A5": RuleFacts("P", "measured", SCHEMA, ("call-id-charset",)),
    "A6": RuleFacts("P", "measured", SCHEMA, ("tool-input-malformed",)),
    "A7": RuleFacts("P", "reported", SCHEMA, ("tool-name-invalid",)),
    "A8": RuleFacts("P", "measured", SEMANTIC, ("empty-content",)),
    "A9": RuleFacts("P", "measured", SEMANTIC, ("empty-content",)),
    "A10": RuleFacts("P", "measured", SEMANTIC, ("empty-content",)),
    "A10o": RuleFacts("P", "measured", SEMANTIC, ("empty-content", "thinking-only-message", "thinking-unsigned")),
    "A12": RuleFacts("P", "reported", SCHEMA, ("empty-content",)),
    "A13": RuleFacts("R", "documented", SCHEMA),
    "A14": RuleFacts("R", "reported", SCHEMA),
    "A15": RuleFacts("P", "documented", SCHEMA, ("history-shape-foreign",)),
    "A16": RuleFacts("T", "reported", SEMANTIC, ("empty-content", "assistant-tail")),
    "A17": RuleFacts("T", "measured", SEMANTIC, ("assistant-tail",)),
    "A18": RuleFacts("T", "measured", SEMANTIC, ("assistant-tail", "thinking-only-message")),
    "A19": RuleFacts("P", "measured", SEMANTIC, ("role-order",)),
    "A20": RuleFacts("P", "uncertain", SEMANTIC, ("role-order",)),
    "A21": RuleFacts("T", "measured", SIGNATURE, ("thinking-not-first", *_LOST)),
    "A21b": RuleFacts("T", "reported", SIGNATURE, ("thinking-only-message", "assistant-tail")),
    "A21c": RuleFacts("R", "documented", SCHEMA),
    "A22": RuleFacts("P", "documented", SEMANTIC, ("history-shape-foreign",)),
    "A23": RuleFacts("P", "reported", SIGNATURE, ("thinking-altered",)),
    "A23b": RuleFacts("P", "reported", SIGNATURE, ("thinking-unsigned", "thinking-stale")),
    "A23c": RuleFacts("P", "documented", SCHEMA, _LOST),
    "A25": RuleFacts("P", "reported", SCHEMA, ("media-rejected",)),
    "A26": RuleFacts("P", "measured", SEMANTIC, ("media-rejected",)),
    "A27": RuleFacts("P", "measured", SEMANTIC, ("media-rejected",)),
    "A28": RuleFacts("P", "reported", SEMANTIC, ("media-rejected",)),
    "A29": RuleFacts("R", "documented", SCHEMA, ("media-rejected", "huge-output", "context-overflow")),
    "A30": RuleFacts("R", "documented", SCHEMA),
    "A31": RuleFacts("P", "reported", SCHEMA, ("invalid-unicode",)),
    "A32": RuleFacts("R", "reported", SCHEMA),
    "A33": RuleFacts("R", "uncertain", SCHEMA),
}

OLDER = "anthropic-older"

OLDER_SOFT = frozenset({"A7", "A9", "A12", "A16", "A17", "A18", "A23b", "A26", "A27", "A28", "A29", "A31"})
"""A server of unknown make that speaks this protocol is judged by what the corpus' strict provider refused (wire-rules
6.8 D).

These rules of the vendor it let pass, in recordings, or is not known to have: whitespace, half surrogates, empty and
mislabelled images, tool names, an assistant tail. A10o, which the vendor has given up (A11), it does enforce.
"""
