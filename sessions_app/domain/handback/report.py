"""The report for a ticket: what is wrong with a session, who refuses it with which words, what a repair does
(docs/handing-back.md).

Everything out of the store is hostile: it is put on one line and escaped, so that it neither forms Markdown nor HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from sessions_app.domain.model import Session
from sessions_app.domain.repair import Operation, Plan
from sessions_app.domain.rules import Finding, RuleText
from sessions_app.domain.scan import SessionScan
from sessions_app.domain.secrets import masked
from sessions_app.domain.wire.names import ProtocolName

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$])")
_MOST = 200
_WORDS = {"blocked": "Blocked", "at-risk": "At risk", "healthy": "Healthy", "unreadable": "Unreadable"}


def report(
    session: Session,
    before: SessionScan,
    plan: Plan | None = None,
    after: SessionScan | None = None,
    *,
    texts: Mapping[str, RuleText],
    source: str = "",
) -> str:
    """Markdown. ``plan`` and ``after``: what a repair would do, and what the rules say then; ``texts`` are those of
    every rule, ``source`` names the file."""
    lines = [f"# {plain(session.title or 'Untitled session')}", ""]
    lines += _facts(session, before, source)
    lines += [
        "",
        f"**{_WORDS[before.health]}.** {plain(before.reasons[0] if before.reasons else 'Nothing is wrong with it.')}",
        "",
    ]
    lines += _verdicts(before, after)
    lines += _findings(before.findings, texts)
    if plan is not None:
        lines += _repair(plan, after)
    return "\n".join([*lines, ""])


def plain(text: str, limit: int = 400) -> str:
    """Stored text on one line that Markdown shows as it is; a ticket is no place for keys."""
    line = "".join(letter if letter.isprintable() else " " for letter in masked(text))
    line = " ".join(line.split())
    return _SPECIAL.sub(r"\\\1", line if len(line) <= limit else line[: limit - 1] + "…")


def code(text: str) -> str:
    """An id or a path as code."""
    line = "".join(letter if letter.isprintable() and letter != "`" else "?" for letter in masked(text))[:200]
    return f"`{line.replace('|', chr(92) + '|')}`" if line else "none"


def _facts(session: Session, scan: SessionScan, source: str) -> Iterator[str]:
    row, target = session.rows.session, scan.target
    yield "| | |"
    yield "|---|---|"
    yield f"| Session | {code(session.id)} |"
    if source:
        yield f"| From | {code(source)} |"
    yield f"| Made by client | {code(session.version)}, rows {session.dialect} |"
    if target is not None:
        yield (
            f"| Judged for | {target.protocol}, {code(f'{target.provider}/{target.model}')}, thinking"
            f" {target.thinking} |"
        )
    yield (
        f"| Holds | {len(session.messages)} messages, {sum(len(message.parts) for message in session.messages)} parts |"
    )
    for column, word in (("time_created", "Created"), ("time_updated", "Updated")):
        value = row.get(column)
        if isinstance(value, (int, float)) and 0 < value < 253_402_300_800_000:
            yield f"| {word} | {datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC |"


def _verdicts(before: SessionScan, after: SessionScan | None) -> Iterator[str]:
    if not before.verdicts:
        return
    yield "## What the providers say"
    yield ""
    yield f"| Protocol | Now |{' After the repair |' if after else ''} Its words |"
    yield f"|---|---|{'---|' if after else ''}---|"
    for protocol, verdict in before.verdicts.items():
        then = f" {_says(after, protocol)} |" if after else ""
        words = verdict.refusal or (verdict.violations[0].error if verdict.violations else "")
        place = verdict.violations[0].position if verdict.violations else ""
        yield (
            f"| {protocol}{' (its own)' if verdict is before.own else ''} | {_says(before, protocol)} |{then}"
            f" {plain(words)}{f' at {code(place)}' if place else ''} |"
        )
    yield ""


def _says(scan: SessionScan, protocol: ProtocolName) -> str:
    verdict = scan.verdicts.get(protocol)
    if verdict is None:
        return "–"
    if verdict.accepted and verdict is scan.own and scan.last_call:
        return "**refused the last call**"
    return "accepts" if verdict.accepted else "**rejects**"


def _findings(findings: Sequence[Finding], texts: Mapping[str, RuleText]) -> Iterator[str]:
    yield f"## Findings ({len(findings)})"
    yield ""
    if not findings:
        yield "None."
        yield ""
    for finding in findings[:_MOST]:
        text = texts[finding.rule]
        yield f"### {plain(text.kind)} ({code(finding.rule)}, {finding.severity}, {finding.safety})"
        yield ""
        yield plain(finding.summary)
        yield ""
        yield f"- Where: {_places(finding)}"
        yield f"- Why: {plain(text.why)}"
        yield f"- Repair: {plain(text.repair)}"
        for choice in finding.choices:
            yield f"  - {plain(choice.label)} ({choice.safety})"
        yield ""
    if len(findings) > _MOST:
        yield f"and {len(findings) - _MOST} more."
        yield ""


def _places(finding: Finding) -> str:
    named = [*finding.messages[:10], *finding.parts[:20]]
    more = len(finding.messages) + len(finding.parts) - len(named)
    return (", ".join(code(one) for one in named) or "the session") + (f" and {more} more" if more > 0 else "")


def _repair(plan: Plan, after: SessionScan | None) -> Iterator[str]:
    yield "## Repair"
    yield ""
    if not plan.operations:
        yield "Nothing is repaired with these options."
        yield ""
    for operation in plan.operations[:_MOST]:
        yield f"- {_operation(operation)}"
    if len(plan.operations) > _MOST:
        yield f"- and {len(plan.operations) - _MOST} more"
    yield from _left(plan.skipped)
    if after is not None:
        yield ""
        left = [finding for finding in after.findings if finding.severity != "info"]
        yield f"After it: **{_WORDS[after.health]}**, {len(left)} finding{'' if len(left) == 1 else 's'} left."
        for finding in left[:20]:
            yield f"- {plain(finding.summary)}"


def _operation(operation: Operation) -> str:
    place = operation.part_id or operation.message_id or "session"
    return f"{operation.action} {operation.subject} {code(place)}: {plain(operation.why)}"


def _left(skipped: Iterable[tuple[str, str]]) -> Iterator[str]:
    for key, why in skipped:
        yield f"- not repaired, {code(key.partition(':')[0])}: {plain(why)}"
