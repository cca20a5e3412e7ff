"""What providers last said to a session, out of its own rows: the stored errors that no answer followed
(docs/contract/rules.md#2.38).

An answer that began is an answer, however it ended: the provider had taken the request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sessions_app.domain.bodies import Requests
from sessions_app.domain.errorwords import said
from sessions_app.domain.errorwords.recorded import errors_of
from sessions_app.domain.locate import Answer, Location, answer, locate
from sessions_app.domain.model import FilePart, Message, ReasoningPart, Session, StepFinishPart
from sessions_app.domain.protocols.table import About
from sessions_app.domain.protocols.v1_prompt import is_readable
from sessions_app.domain.secrets import masked
from sessions_app.domain.wire.target import Target, make_target
from sessions_app.domain.wire.verdict import Verdict

MOST_ROWS = 50
"""Failed rows at the end that are looked at; every try leaves one."""
WORDS = 240
"""Characters of a provider's sentence that are shown."""
UNSEEN = frozenset(
    {
        "thinking-altered",
        "thinking-stale",
        "encrypted-reasoning-foreign",
        "item-reference-missing",
        "thought-signature-missing",
        "media-rejected",
        "context-overflow",
        "huge-output",
        "content-policy-text",
    }
)
"""Faults that stored rows do not show: the provider's word is the only proof."""
GONE = "what it names is no longer stored"
_NO_OUTPUT = frozenset({"step-start", "step-finish", "retry", "patch", "snapshot"})
_REFUSED = frozenset({400, 413, 422})
"""Statuses that turn down the request itself, whatever the words."""
_STORED = ("ses_", "msg_", "prt_")
"""How ids begin that a provider has of its own for other things."""
_CODE = re.compile(r"\w+: \S+")
_STATUS = re.compile(r"HTTP (\d{3})\b")


@dataclass(frozen=True, slots=True)
class LastCall:
    """What the last calls were answered with. ``rows`` are the failed rows that say the same, the newest first;
    ``text`` is all that the newest stores of it, ``words`` the provider's own sentence in that, keys masked. ``about``
    and ``kind`` are its class (docs/contract/design.md#locate), ``faults`` the rules that it can come from, ``places``
    where the strongest evidence leads, [] where none does.

    ``severity`` is "blocked" where the target is still the one that said it and what it points at is still there,
    "at-risk" where that cannot be told, "info" where the history is not at fault.
    """

    rows: tuple[Message, ...]
    text: str
    words: str
    about: About
    kind: str
    next: str
    faults: tuple[str, ...]
    places: tuple[Location, ...]
    severity: Literal["blocked", "at-risk", "info"]
    doubt: str
    """Of the history: why that cannot be told, in a few words; "" where it can."""

    @property
    def speaker(self) -> str:
        """The model that was called, "" where the row names none."""
        row = self.rows[0]
        return "/".join(name for name in (row.provider, row.model) if name)


def unanswered(messages: Sequence[Message]) -> list[Message]:
    """The failed rows behind the last answer of a history, the newest first."""
    found: list[Message] = []
    for message in reversed(messages):
        if not (message.is_assistant or message.kind in ("compaction", "idle")):
            continue
        failed = bool(message.data.get("error"))
        if failed and not _began(message):
            found.append(message)
        if _answered(message, failed) or len(found) == MOST_ROWS:
            break
    return found


def _answered(message: Message, failed: bool) -> bool:
    if message.kind == "compaction":
        return message.data.get("status", "completed") == "completed" and not failed
    if message.kind == "idle":
        return False
    return any(part.kind not in _NO_OUTPUT for part in message.parts) or (
        not failed and bool(message.data.get("finish"))
    )


def _began(message: Message) -> bool:
    """The provider had begun to answer the last request of this row when it failed."""
    began = False
    for part in message.parts:
        began = not isinstance(part, StepFinishPart) and (began or part.kind not in _NO_OUTPUT)
    return began


def last_calls(
    messages: Sequence[Message], target: Target | None, requests: Requests, own: Verdict | None
) -> list[LastCall]:
    """What the failed rows behind the last answer say, each thing once, the newest first. Of what is no fault of the
    history only the newest counts."""
    groups: dict[tuple[object, ...], list[tuple[Message, str, Answer]]] = {}
    known: dict[tuple[str, int | None], Answer | None] = {}
    for message in unanswered(messages):
        text = "\n".join(errors_of(message.data)) or _name(message)
        status = _status(message, text)
        if (text, status) not in known:
            known[text, status] = _heard(message, text, status)
        heard = known[text, status]
        if heard is None or (heard.about == "generic" and message.data.get("summary")):
            continue  # the client's own words, or a summary that its own rules speak of
        key = (heard.about, heard.kind, _faults(heard))
        groups.setdefault(key, []).append((message, text, heard))
    found: list[LastCall] = []
    for rows in groups.values():
        message, text, heard = rows[0]
        if heard.about == "history" or not found:
            found.append(_last_call([one for one, *_ in rows], text, heard, target, requests, own))
    return found


def _heard(message: Message, text: str, status: int | None) -> Answer | None:
    """What the row's error says; None where no provider said it."""
    name = _name(message)
    heard = answer(text)
    if heard.about not in ("generic", "store"):
        return heard
    for other in (answer(name), answer(f"HTTP {status}")):
        if other.about in ("history", "not-history"):
            return other
    said_no = status in _REFUSED or (status is None and name == "APIError")
    return heard if heard.about == "generic" and said_no else None


def _name(message: Message) -> str:
    return str((message.error or {}).get("name", ""))


def _status(message: Message, text: str) -> int | None:
    error = message.error or {}
    inner = error.get("data")
    for holder in (inner if isinstance(inner, dict) else {}, error):
        for name in ("statusCode", "status"):
            if isinstance(holder.get(name), int):
                return int(holder[name])
    found = _STATUS.search(text)
    return int(found[1]) if found else None


def _faults(heard: Answer) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fault for one in heard.readings if one.about == "history" for fault in one.faults))


def _last_call(
    rows: Sequence[Message], text: str, heard: Answer, target: Target | None, requests: Requests, own: Verdict | None
) -> LastCall:
    row, places, doubt = rows[0], [], ""
    if heard.about == "history":
        named = (row.provider, row.model)
        current = target is not None and named in (("", ""), (target.provider, target.model))
        found = locate(text, requests.session, target if current else make_target(*named), requests=requests)
        found = [one for one in found if one.by not in ("", "recorded")]
        places = [one for one in found if one.by == found[0].by]
        doubt = _doubt(places, heard, requests.session, target, own) if current else "another model is called next"
    severity: Literal["blocked", "at-risk", "info"] = "info"
    if heard.about in ("history", "generic"):
        over = doubt == GONE and bool(row.data.get("summary"))
        severity = "info" if over else "at-risk" if doubt or heard.about == "generic" else "blocked"
    return LastCall(
        rows=tuple(rows),
        text=text,
        words=_sentence(text),
        about=heard.about,
        kind=heard.kind,
        next=heard.next,
        faults=_faults(heard),
        places=tuple(places),
        severity=severity,
        doubt=doubt,
    )


def _doubt(
    places: Sequence[Location], heard: Answer, session: Session, target: Target | None, own: Verdict | None
) -> str:
    """Why what the words point at may not be there any more, "" where it is: a computed violation, else what an id or
    an exact position names, unless the history as it is sent now is seen to keep the rule. That is not seen of rules
    that rows do not show, of words that are no known rule's and another protocol's, and of what is only doubtful."""
    if not places or places[0].by == "position":
        if any(not name.startswith(_STORED) for one in heard.readings for name in one.ids):
            return GONE
        if not places:
            return "it does not say where"
    first, faults = places[0], _faults(heard)
    file = session.part(first.part)
    if isinstance(file, FilePart) and target is not None and not is_readable(file.mime, target):
        return "the model does not read it now, and a note is sent in its place"
    if first.by == "violation":
        return ""
    other = all(fault.startswith("thinking-") for fault in faults) and not isinstance(
        session.part(first.part), ReasoningPart
    )
    if first.by == "position" and (other or not first.exact):
        return "something else stands there now"
    doubtful = {warning.rule for warning in own.warnings} if own else set()
    foreign = bool(first.protocol) and not first.rules and target is not None and first.protocol != target.protocol
    if foreign or not UNSEEN.isdisjoint(faults) or not doubtful.isdisjoint(first.rules):
        return ""
    return "as it is sent now the history keeps this rule: an older client sent it otherwise, or it was changed since"


def _sentence(text: str) -> str:
    """The provider's own sentence: the last line in the innermost wrapping that is more than a name and a code."""
    lines = [line.strip() for line in said(text).layers[0].text.splitlines() if line.strip()]
    plain = [line for line in lines if not _CODE.fullmatch(line)] or lines or [""]
    words = masked(plain[-1])
    return words if len(words) <= WORDS else f"{words[:WORDS].rstrip()}…"
