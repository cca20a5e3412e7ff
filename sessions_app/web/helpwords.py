"""What the help page says of states and keys."""

from __future__ import annotations

WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "health",
        "blocked",
        "The model it would call next refuses the history, or its client cannot open it. Every further message fails"
        " until it is repaired.",
    ),
    (
        "health",
        "at-risk",
        "It works today, but something odd is stored, or another model that was really used refuses it.",
    ),
    ("health", "healthy", "Every rule passes and its own target accepts it."),
    ("health", "not-scanned", "Nothing is known yet."),
    ("health", "unreadable", "Its rows could not be read at all."),
    (
        "safety",
        "safe",
        "The repair loses no words of the user, no answer of the model, and no output of a tool that ran.",
    ),
    (
        "safety",
        "lossy",
        "The repair drops something. It is only done when you choose it, and an undo brings it back.",
    ),
    ("safety", "manual", "Suture explains it, and leaves it to you."),
)
"""(family, state, meaning)."""

type Keys = tuple[tuple[tuple[str, ...], str], ...]

KEYS: tuple[Keys, ...] = (
    (
        (("/",), "search"),
        (("g", "o"), "overview"),
        (("g", "s"), "sessions"),
        (("g", "i"), "stores"),
        (("g", "r"), "repairs"),
        (("g", "e"), "error text"),
        (("?",), "this page"),
        (("j", "k"), "list: next, previous row"),
        (("Enter",), "list: open the session of the row"),
        (("o", "Space"), "list: the session of the row beside the list"),
        (("J", "K"), "list: next, previous session beside it"),
        (("Esc",), "list: close the session beside it, or a menu"),
        (("m",), "list: what can be done with the row"),
        (("x",), "list: select the row"),
        (("f",), "list: filter"),
    ),
    (
        (("n", "p"), "session: next, previous fault"),
        (("a",), "apply the shown repair, also beside the list"),
        (("v",), "preview the shown repair"),
        (("r",), "repair all that is safe"),
        (("u",), "undo"),
        (("J", "K"), "session: next, previous one of the list"),
        (("m", "N"), "session: next, previous place found"),
        (("[", "]"), "earlier, later"),
    ),
)
"""Two columns of keys and what they do."""
