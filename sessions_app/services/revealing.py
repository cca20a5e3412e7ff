"""One policy for secrets in every face: who may not reveal gets what looks like a key masked; who may gets it as it is,
and the audit trail says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sessions_app.domain.secrets import SECRET, masked

from .audit import secret_read


@dataclass(frozen=True, slots=True)
class Reading:
    """Who reads what. ``subject``: kind and key of what it is about."""

    reveals: bool
    what: str
    actor: str
    face: str
    now: datetime
    subject: tuple[str, object] = ("", "")

    def given(self, text: str) -> str:
        """The text as it is given out."""
        if not SECRET.search(text):
            return text
        if not self.reveals:
            return masked(text)
        self.keep()
        return text

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """The same of a stream, kept in the audit trail once."""
        kept = False
        for line in lines:
            if not self.reveals:
                yield masked(line)
                continue
            if not kept and SECRET.search(line):
                self.keep()
                kept = True
            yield line

    def keep(self) -> None:
        """It was given out unmasked."""
        secret_read(what=self.what, actor=self.actor, face=self.face, now=self.now, subject=self.subject)
