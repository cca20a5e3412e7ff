"""The one place where a turn's ids are made, in the client's own form (docs/contract/formats.md#a3, #a8), and
remembered for the attempt in flight."""

from __future__ import annotations

from collections.abc import Callable

from sessions_app.domain.ids import parse_id, stamp_of

_SPACE = 1 << 48


class Mint:
    """Ids that ascend in the order they are made.

    ``tails`` gives 14 random base-62 characters, so that two clients that write one session never make the same id.
    ``floor`` is the highest id the new ones must sort behind, "" = none. ``attempt`` lists the ids made since
    ``begin``.
    """

    def __init__(self, tails: Callable[[], str], floor: str = "") -> None:
        self._tails = tails
        known = parse_id(floor)
        self._last = known.stamp if known else -1
        self.attempt: list[str] = []

    def begin(self) -> None:
        """An attempt begins: what was made before is not its."""
        self.attempt = []

    def new(self, prefix: str, now: int) -> str:
        """An id ``prefix_...`` made at ``now`` (milliseconds). Behind a floor of before a wrap it starts anew: order is
        by time then."""
        stamp = stamp_of(now)
        if stamp <= self._last and self._last - stamp < _SPACE // 2:
            stamp = self._last + 1
        self._last = stamp % _SPACE
        made = f"{prefix}_{self._last:012x}{self._tails()}"
        self.attempt.append(made)
        return made
