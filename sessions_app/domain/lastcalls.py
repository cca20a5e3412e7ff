"""What providers last said to a session, out of its own rows: the stored errors that no answer followed
(docs/contract/rules.md#2.33).

An answer that began is an answer, however it ended: the provider had taken the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sessions_app.domain.bodies import Requests
from sessions_app.domain.errorwords import said
from sessions_app.domain.errorwords.recorded import errors_of
from sessions_app.domain.locate import Answer, Location, answer, locate
from sessions_app.domain.model import Message, ReasoningPart, Session, StepFinishPart
from sessions_app.domain.protocols.table import About
from sessions_app.domain.secrets import masked
from sessions_app.domain.wire.target import Target, make_target
from sessions_app.domain.wire.verdict import Verdict

MOST_ROWS = 200
"""Failed rows at the end that are looked at."""
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
_NO_OUTPUT = frozenset({"step-start", "step-finish", "retry", "patch", "snapshot"})
_REFUSED = frozenset({400, 413, 422})
"""Statuses that turn down the request itself, whatever the words."""
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
    current: bool
    """The model that said it is the one that is called next."""
    gone: bool
    """It names ids that no stored row holds any more: what it spoke of is gone."""

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
    for message in unanswered(messages):
        text = "\n".join(errors_of(message.data))
        heard = _heard(message, text)
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


def _heard(message: Message, text: str) -> Answer | None:
    """What the row's error says; None where no provider said it."""
    heard = answer(text) if text else None
    if heard is None or heard.about not in ("generic", "store"):
        return heard
    status = _status(message, text)
    by_status = answer(f"HTTP {status}") if status else heard
    if by_status.about == "not-history":
        return by_status
    said_no = status in _REFUSED or (status is None and (message.error or {}).get("name") == "APIError")
    return heard if heard.about == "generic" and said_no else None


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
    row, faults = rows[0], _faults(heard)
    named = (row.provider, row.model)
    current = target is not None and named in (("", ""), (target.provider, target.model))
    places: list[Location] = []
    severity: Literal["blocked", "at-risk", "info"] = "at-risk" if heard.about == "generic" else "info"
    gone = False
    if heard.about == "history":
        called = target if current else make_target(*named)
        found = locate(text, requests.session, called, requests=requests)
        found = [one for one in found if one.by not in ("", "recorded")]
        places = [one for one in found if one.by == found[0].by]
        gone = any(one.ids for one in heard.readings) and not any(one.by in ("violation", "id") for one in places)
        fits = _fits(requests.session, places, faults)
        there = current and fits and not gone and _there(places, faults, target, own)
        severity = "blocked" if there else "info" if gone and row.data.get("summary") else "at-risk"
    return LastCall(
        rows=tuple(rows),
        text=text,
        words=_sentence(text),
        about=heard.about,
        kind=heard.kind,
        next=heard.next,
        faults=faults,
        places=tuple(places),
        severity=severity,
        current=current,
        gone=gone,
    )


def _fits(session: Session, places: Sequence[Location], faults: Iterable[str]) -> bool:
    """A position that is said to be thinking holds thinking: rows may have changed since."""
    if not places or places[0].by != "position" or not all(fault.startswith("thinking-") for fault in faults):
        return True
    return isinstance(session.part(places[0].part), ReasoningPart)


def _there(places: Sequence[Location], faults: Iterable[str], target: Target | None, own: Verdict | None) -> bool:
    """What the words point at is still there: a computed violation, else what an id or an exact position names, unless
    the history as it is sent now is seen to keep the rule. It is not seen where the words are those of another protocol
    than the one that was judged, or where it is only doubtful there."""
    if not places or (places[0].by == "position" and not places[0].exact):
        return False
    first = places[0]
    doubtful = {warning.rule for warning in own.warnings} if own else set()
    foreign = bool(first.protocol) and target is not None and first.protocol != target.protocol
    return first.by == "violation" or foreign or not UNSEEN.isdisjoint(faults) or not doubtful.isdisjoint(first.rules)


def _sentence(text: str) -> str:
    """The provider's own sentence: the last line in the innermost wrapping that is more than a name and a code."""
    lines = [line.strip() for line in said(text).layers[0].text.splitlines() if line.strip()]
    plain = [line for line in lines if not _CODE.fullmatch(line)] or lines or [""]
    words = masked(plain[-1])
    return words if len(words) <= WORDS else f"{words[:WORDS].rstrip()}…"
