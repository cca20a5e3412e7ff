"""The classes of what an error text says, and what to do about each (docs/contract/design.md#locate)."""

from __future__ import annotations

from collections.abc import Sequence

from sessions_app.domain.protocols.table import About

NEXT: dict[tuple[str, str], str] = {
    (
        "history",
        "",
    ): "Find the session and repair it: `suture scan` names the finding, `suture repair` plans its way out.",
    ("setting", ""): (
        "Repair nothing in the history. Change the client's configuration: the model's options, its reasoning"
        " setting, or switch off the tool or MCP server whose schema is named; then send again."
    ),
    ("not-history", "limit"): "Wait until the limit resets, send less at once, or take another model or account.",
    (
        "not-history",
        "billing",
    ): "Look at the provider's billing page: credit or plan is used up. The history is not at fault.",
    (
        "not-history",
        "login",
    ): "Log in again (`opencode auth login`) or renew the key; then check that it may use this model.",
    ("not-history", "network"): (
        "Try again; then look at the provider's status page, the proxy and the connection. The history is not at fault."
    ),
    ("not-history", "model"): "Choose a model that this provider has and this account may use (`opencode models`).",
    ("store", "migration"): (
        "The store's tables do not fit this client. Upgrade the client to its newest version and start it once; do"
        " not delete the file. Keep a copy with its -wal and -shm files first."
    ),
    ("store", "locked"): "Another process holds the store: end other clients and servers that use it, then try again.",
    ("store", "disk"): "Free space on the disk (or move the store to a sound one), then start the client again.",
    ("store", "permission"): "Give the client's user the right to read and write the file and its folder.",
    ("store", "events"): (
        "The event log and its counter disagree: end all clients, keep a copy of the file, and open it in Suture"
        " (`suture scan`) before anything is written."
    ),
    ("generic", ""): (
        "The provider's own sentence is not in this text. It is in the client's log (newest file in"
        " ~/.local/share/opencode/log, search for responseBody; `opencode --print-logs` shows it while it runs),"
        " behind a gateway in error.metadata.raw or in the gateway's own log. Or let Suture ask: `suture probe` shows"
        " the provider's words, and `suture scan` what it will refuse."
    ),
}

BY_FAULT: dict[str, str] = {
    "context-overflow": (
        "Make the history smaller: `suture scan` names the largest outputs and `suture repair` shortens them; or"
        " compact the session, or go on with a model that takes more."
    ),
    "media-rejected": (
        "Find the image or file in the session: `suture repair` replaces it by a note, or mends its label. Or go on"
        " with a model that takes it."
    ),
    "content-policy-text": "Find the text that the filter refuses and edit it, or go on with another provider.",
    "encrypted-reasoning-foreign": (
        "The reasoning was made under another account, key or model. `suture repair` drops it, or go back to the"
        " account or model that made it."
    ),
    "sqlite-corrupt": "Keep a copy of the file with its -wal and -shm, then open it in Suture and recover it"
    " into a new file.",
    "hidden-project": (
        "Look whether the store holds the session (`suture scan`): hidden sessions are put back with `suture relink`,"
        " unreadable rows are named."
    ),
    "stuck-tool": "End the client and its server, then close what hangs: `suture repair`.",
}


def next_step(about: About, kind: str, faults: Sequence[str]) -> str:
    """What to do now about a text of this class."""
    if about == "history":
        return next((BY_FAULT[fault] for fault in faults[:1] if fault in BY_FAULT), NEXT["history", ""])
    return NEXT.get((about, kind), NEXT["generic", ""])
