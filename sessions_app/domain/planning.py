"""From findings to a plan (docs/contract/design.md#5).

Findings are repaired in rounds: in each, those that do not get in each other's way are compiled and applied in memory,
then all rules run again on what came out, until nothing is left to do. So a plan made again after it was applied is
empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sessions_app.domain.collector import undisturbed
from sessions_app.domain.wire.target import Target, infer_target

from .dialects import applied, compile, reading
from .model import V2, Row, Session
from .patience import go_on, paced
from .previewing import Look, looks_at
from .repair import Operation, OperationError, Plan, RowChange
from .rowdoc import rows_hash
from .rules import REGISTRY, Choice, Context, Facts, Finding, find_all
from .wish import NOTHING, Wish

MAX_ROUNDS = 40
"""More rounds than overlapping faults of one message need; a bound against rules that would chase each other."""
_HELD = "a client has the file open and may still be at it"
_ALL_SAFE = Wish()

type _Rows = tuple[str, ...]
"""The raw JSON of the rows that a finding is about."""


@dataclass(slots=True)
class _Work:
    """A session on its way: the rows as they are by now, and what was done to them."""

    session: Session
    operations: list[Operation] = field(default_factory=list)
    changes: list[RowChange] = field(default_factory=list)
    found: tuple[Finding, ...] = ()
    places: dict[tuple[str, _Rows], list[str]] = field(default_factory=lambda: defaultdict(list))
    """The keys of what was found first, by the rule and the rows it was found in."""
    taken: dict[str, str] = field(default_factory=dict)
    """Findings that were repaired, each with the choice that was made."""
    seen: set[tuple[str, _Rows]] = field(default_factory=set)
    """Findings that were repaired, each with the rows it was found in: none is repaired twice in the same rows."""
    skipped: dict[str, str] = field(default_factory=dict)
    unwritable: dict[str, str] = field(default_factory=dict)

    def begun(self, context: Context, found: tuple[Finding, ...]) -> None:
        """What was found before anything was changed."""
        self.found = found
        for finding in found:
            self.places[finding.rule, _rows(context, finding)].append(finding.key)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan and how it came about: what was found among what was asked about (``found``, before anything is changed),
    and the choice that was made for each finding that is repaired (``taken``, key -> name of the choice). ``looks``:
    the session before and after; they hold all of it, decoded, so nobody keeps them."""

    plan: Plan
    found: tuple[Finding, ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    looks: tuple[Look, ...] = field(default=(), compare=False, repr=False)


def plan(
    session: Session,
    target: Target | None = None,
    wish: Wish = _ALL_SAFE,
    facts: Facts | None = None,
    held: bool = False,
) -> Plan:
    """The operations that do what was wished for; what was left alone is in ``skipped``, with why.

    ``target`` takes the place of the wish's own. ``held`` says that a client has the file open: what may still be
    running is then left alone.
    """
    return propose(session, target, wish, facts, held).plan


@undisturbed
def propose(
    session: Session,
    target: Target | None = None,
    wish: Wish = _ALL_SAFE,
    facts: Facts | None = None,
    held: bool = False,
    hashed: str = "",
) -> Proposal:
    """As ``plan``, with how it came about. ``hashed``: the hash of the rows, where it is known. Raises
    ``OperationError`` where operations by hand do not fit the rows."""
    known, asked, hashed = facts or Facts(), target or wish.goal(session), hashed or rows_hash(session.rows)
    if wish.operations is not None:
        byhand = Plan(session.id, hashed, wish.operations, compile(session.rows, wish.operations))
        return Proposal(byhand, looks=looks_at(session, byhand, asked, known))
    session = reading(session, wish.history)
    goal = asked or infer_target(session)
    work = _Work(session)
    wanted = _rules_wanted(wish)
    looks: list[Look] = []
    for _ in range(MAX_ROUNDS):
        if asked is None:
            goal = _inferred_again(work.session, goal)
        context = Context(work.session, goal, known)
        found = tuple(find_all(context, wanted, apart=bool(wish.messages)))
        whole = wanted is REGISTRY and not wish.messages
        if not looks:
            work.begun(context, found)
        looks[1:] = [Look(context, found if whole else None)]
        if not _round(work, context, found, wish, held):
            break
    else:
        looks[1:] = [Look(Context(work.session, goal, known))]
    made = Plan(
        session_id=session.id,
        rows_hash=hashed,
        operations=tuple(work.operations),
        changes=compose(work.changes),
        findings=tuple(work.taken),
        skipped=tuple((key, why) for key, why in work.skipped.items() if key not in work.taken),
    )
    if len({message.generation for message in session.history(V2)}) > 1:  # told from the rows, by each round anew
        looks[1:] = looks_at(session, made, asked, known)[1:]
    return Proposal(made, work.found, work.taken, (looks[0], looks[-1]))


def _rules_wanted(wish: Wish) -> Collection[str]:
    """The rules that are looked at. A choice outside of what is named restricts nothing: it names its finding."""
    if not wish.rules and not wish.findings:
        return REGISTRY
    named = {key.partition(":")[0] for key in (*wish.findings, *wish.choices)}
    return named | set(wish.rules)


def _inferred_again(session: Session, goal: Target | None) -> Target | None:
    """The session's own target as a run after this one would infer it, where a repair made its model known. Thinking
    that was on stays on: dropping reasoning from the store does not switch it off."""
    now = infer_target(session)
    if now is None or goal is None:
        return now or goal
    return goal if (now.provider, now.model) == (goal.provider, goal.model) else now


def _round(work: _Work, context: Context, found: tuple[Finding, ...], wish: Wish, held: bool) -> bool:
    """One round; False when nothing was left to do. ``skipped`` is what this round left alone, so the last round's word
    counts."""
    work.skipped.clear()
    batch: list[tuple[str, Choice]] = []
    touched: dict[str, str] = {}
    parts: set[str] = set()
    for finding in paced(found):
        rows = _rows(context, finding)
        key = _name(work, finding, rows) if context.v2 else finding.key
        choice, why = _choose(finding, key, wish, held)
        if choice is None:
            if why:
                work.skipped[key] = why
            continue
        if (key, rows) in work.seen:
            work.skipped[key] = work.unwritable.get(key, "its repair was made and did not remove it")
            continue
        if not _free(finding, choice, touched, parts):
            continue
        work.seen.add((key, rows))
        batch.append((key, choice))
        for operation in choice.operations:
            touched.setdefault(_place(operation), finding.rule)
            parts.add(operation.part_id)
    changes = _written(work, batch)
    if changes:
        work.changes += changes
        work.session = applied(work.session, changes)
    # What could not be written stood in the way of others; it is passed over from now on.
    return bool(batch)


def _written(work: _Work, batch: list[tuple[str, Choice]]) -> tuple[RowChange, ...]:
    """The changes of a batch, noted as done. What cannot be written is left out and said."""
    rows = work.session.rows
    try:
        changes = compile(rows, [operation for _, choice in batch for operation in choice.operations])
    except OperationError:
        batch = _fitting(work, batch)
        changes = compile(rows, [operation for _, choice in batch for operation in choice.operations])
    if changes:
        for key, choice in batch:
            work.operations += choice.operations
            work.taken.setdefault(key, choice.name)
    return changes


def _fitting(work: _Work, batch: list[tuple[str, Choice]]) -> list[tuple[str, Choice]]:
    """What of a batch can be written; found by halves, since each try looks at all rows."""
    go_on()
    try:
        compile(work.session.rows, [operation for _, choice in batch for operation in choice.operations])
    except OperationError as error:
        if len(batch) > 1:
            half = len(batch) // 2
            return _fitting(work, batch[:half]) + _fitting(work, batch[half:])
        [(key, _)] = batch
        work.skipped[key] = work.unwritable[key] = f"it cannot be written: {error}"
        return []
    return batch


def _rows(context: Context, finding: Finding) -> _Rows:
    """The rows a finding is about, as they are now."""
    parts = [context.parts_by_id[part_id].raw for part_id in finding.parts if part_id in context.parts_by_id]
    messages = [
        context.messages_by_id[message_id].raw
        for message_id in finding.messages
        if message_id in context.messages_by_id
    ]
    return tuple(parts or messages)


def _name(work: _Work, finding: Finding, rows: _Rows) -> str:
    """The key that a finding had at first: a V2 item's id is its place, which moves when others go, and then another
    finding may have the key that was asked for. Of items that are alike, one whose finding is not repaired yet."""
    names = sorted(work.places.get((finding.rule, rows), ()), key=lambda key: key != finding.key)
    return next((key for key in names if key not in work.taken), (names or [finding.key])[0])


def _place(operation: Operation) -> str:
    return operation.message_id or operation.subject


def _free(finding: Finding, choice: Choice, touched: Mapping[str, str], parts: Collection[str]) -> bool:
    """Nothing planned in this round touches the same rows: another rule's repair of a message waits for the next round,
    the same rule may repair other parts of it."""
    for operation in choice.operations:
        rule = touched.get(_place(operation))
        if rule is None:
            continue
        if rule != finding.rule or operation.subject != "part" or operation.part_id in parts or "" in parts:
            return False
    return True


def _choose(finding: Finding, key: str, wish: Wish, held: bool) -> tuple[Choice | None, str]:
    """The choice to carry out, or None and why (no reason where it was not asked about at all)."""
    named = wish.choices.get(key) or wish.choices.get(finding.rule)
    if named == NOTHING:
        return None, "left alone on request"
    if named is not None:
        chosen = next((choice for choice in finding.choices if choice.name == named and choice.operations), None)
        if chosen is not None and held and REGISTRY[finding.rule].live:
            return None, _HELD
        return (chosen, "") if chosen else (None, f"it offers no choice named {named}")
    left = wish.leaves(key, finding.rule, "info" if finding.offered else finding.severity, finding.safety)
    if left == "not-asked" or (wish.messages and not set(wish.messages) & set(finding.messages)):
        return None, ""
    usable = [choice for choice in finding.choices if choice.operations]
    if not usable:
        return None, "nothing can be changed for it"
    if left == "manual":
        return None, "done by hand, or by naming a choice: " + ", ".join(choice.name for choice in usable)
    if left == "offered":
        return None, "only offered: name its rule or a choice"
    if held and REGISTRY[finding.rule].live:
        return None, _HELD
    chosen = next((choice for choice in usable if choice.safety == "safe" or wish.safety == "lossy"), None)
    return (chosen, "") if chosen else (None, "it loses something: allow lossy repairs or name a choice")


def compose(changes: Iterable[RowChange]) -> tuple[RowChange, ...]:
    """Changes of several rounds as one per row, from the row as it was to the row as it ends; none where it ends as it
    was.

    Writes come before deletions, messages before their parts, so that they can be written in this order.
    """
    net: dict[tuple[str, str], RowChange] = {}
    for change in changes:
        key = _key(change.table, change.key)
        earlier = net.pop(key, None)
        before = change.before if earlier is None else earlier.before
        held = change.key if earlier is None else earlier.key
        if before == change.after:
            continue
        current = (
            key if change.after is None else _key(change.table, {name: change.after.get(name) for name in change.key})
        )
        if before is None and change.after is not None:
            held = {name: change.after.get(name) for name in change.key}
        net[current] = RowChange(change.table, held, before, change.after)
    written = [change for change in net.values() if change.after is not None]
    deleted = [change for change in net.values() if change.after is None]
    order = {"session": 0, "message": 1, "session_message": 1, "part": 2}
    written.sort(key=lambda change: order.get(change.table, 3))
    deleted.sort(key=lambda change: -order.get(change.table, 3))
    return (*written, *deleted)


def _key(table: str, key: Row) -> tuple[str, str]:
    return table, repr(sorted(key.items()))
