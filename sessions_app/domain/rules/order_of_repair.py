"""The order in which rules are run and their repairs planned."""

from __future__ import annotations

ORDER_OF_REPAIR = (
    # Rows that cannot be read: nothing else can be judged before.
    "corrupt-json",
    "undecodable-row",
    "orphan-row",
    # Numbers and marks beside the rows, without which no prompt goes out.
    "sequence-broken",
    "epoch-unreadable",
    # What failed attempts left, then the calls: ids, names, arguments, results, ends.
    "failed-attempt-leftovers",
    "duplicate-call-id-in-message",
    "duplicate-call-id-across-turns",
    "call-id-charset",
    "tool-name-invalid",
    "tool-input-malformed",
    "invalid-unicode",
    "orphan-tool-result",
    "orphan-tool-use",
    "stuck-tool",
    "step-boundary-lost",
    "open-turn",
    # What is too big or of a kind that is not taken.
    "media-rejected",
    "huge-output",
    "context-overflow",
    # Compactions, then pointers to what is not there.
    "compaction-loop",
    "summary-unfinished",
    "summary-failed-with-tail",
    "summary-empty",
    "compaction-cuts-tool-pair",
    "summary-flag-wrong",
    "dangling-parent",
    "dangling-tail",
    "dangling-revert",
    "dangling-child",
    # Thinking and provider state, first where it stands.
    "provider-state-nested",
    "thinking-lost-on-error",
    "thinking-unsigned",
    "thinking-not-first",
    "thinking-only-message",
    "thinking-altered",
    "thinking-stale",
    "encrypted-reasoning-foreign",
    "reasoning-item-unpaired",
    "item-reference-missing",
    # What only follows from the above: messages left empty, roles, ids.
    "empty-content",
    "empty-message",
    "role-order",
    "id-order-skew",
    # Not the conversation: where the session is listed, its counters.
    "hidden-project",
    "hidden-directory",
    "hidden-path",
    "hidden-archived",
    "huge-summary-diffs",
    "huge-output-unsent",
    "usage-counters-wrong",
    # What is explained and done by hand, or only where a choice is named.
    "executed-tool-not-replayed",
    "tool-ran-twice",
    "history-shape-foreign",
    "assistant-tail",
    "reasoning-field-missing",
    "thought-signature-missing",
    "hidden-generation",
    "two-histories",
    "content-policy-text",
    "sqlite-corrupt",
    "waiting-prompt",
    # What a provider said of all that: settled with its cause.
    "last-call-refused",
)
"""Every rule's code once: root causes and small changes before what only follows from them, so that a repair works on
rows that the earlier ones have already mended."""
