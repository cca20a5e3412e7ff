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
        (("x",), "list: select the row"),
        (("f",), "list: more filters"),
        (("o",), "list: top findings of the row"),
    ),
    (
        (("n", "p"), "session: next, previous fault"),
        (("a",), "apply the shown repair"),
        (("v",), "preview the shown repair"),
        (("r",), "repair all that is safe"),
        (("u",), "undo"),
        (("J", "K"), "next, previous session of the list"),
        (("m", "N"), "session: next, previous place found"),
        (("[", "]"), "earlier, later"),
    ),
)
"""Two columns of keys and what they do."""
