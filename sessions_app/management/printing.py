"""How results look to people: the one room where lines, tables, colours and progress are made.

On a terminal tables fit its width and have colours. Anywhere else a row is one line, whole, its cells two spaces apart,
so that other programs can search it. rich is imported only where a terminal is written to: commands start without it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

type Color = Literal["auto", "always", "never"]
"""When colours are used; auto: on a terminal, unless NO_COLOR is set."""

type Tone = Literal["bad", "warn", "good", "quiet", "strong", ""]
"""What a colour stands for."""

_GAP = "  "
_SILENT_SECONDS = 1.0
"""What is done sooner shows no progress."""
_STYLES: dict[Tone, str] = {
    "bad": "bold red",
    "warn": "yellow",
    "good": "green",
    "quiet": "dim",
    "strong": "bold",
    "": "",
}


class Toned(NamedTuple):
    """Text with a colour that means something."""

    text: str
    tone: Tone


type Cell = str | Toned
"""One cell of a table or a line. Stored text may be in it as it is: ``Page`` makes it harmless."""


def printable(text: str) -> str:
    """Text for a terminal: stored text must not steer it (escape sequences), and every character must be encodable."""
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 session, 2 sessions, 1,200 sessions."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


class Page:
    """One of the two streams, as a place to write to for people."""

    def __init__(self, stream: TextIO, color: Color = "auto") -> None:
        self.stream = stream
        self.terminal = stream.isatty()
        self.colored = color == "always" or (color == "auto" and self.terminal and _wanted())
        self._meter: Meter | None = None

    def line(self, *cells: Cell) -> None:
        """Cells one after another; a line longer than the terminal is left to the terminal."""
        if not self.colored:
            self._write(_GAP.join(_plain(cell) for cell in cells))
            return
        from rich.text import Text

        self._render(Text(_GAP).join(_text(cell) for cell in cells), soft_wrap=True)

    def rows(self, rows: Iterable[Sequence[Cell]], *, head: Sequence[str] = (), indent: int = 0) -> None:
        """A table. All rows have as many cells; where there is too little room the widest cells wrap. ``head`` is for
        terminals."""
        held = list(rows)
        if not held:
            return
        if not (self.terminal or self.colored):
            for row in held:
                self._write(" " * indent + _GAP.join(_plain(cell).replace("\n", " ") for cell in row).rstrip())
            return
        from rich.padding import Padding
        from rich.table import Table

        table = Table(box=None, padding=(0, len(_GAP), 0, 0), pad_edge=False, show_header=bool(head))
        for place in range(len(held[0])):
            table.add_column(head[place] if head else "", overflow="fold", header_style="bold")
        for row in held:
            table.add_row(*(_text(cell) for cell in row))
        self._render(Padding(table, (0, 0, 0, indent), expand=False))

    @contextmanager
    def progress(self, words: str, total: int | None = None, *, shown: bool = True) -> Iterator[Meter]:
        """Around what may take over a second. ``total``: how much there is to do, None where that is not known. Only
        terminals show it, and nothing of it stays."""
        meter = Meter(words, total)
        if self.terminal and shown:
            meter.begin(self._console)
        self._meter = meter
        try:
            yield meter
        finally:
            meter.end()

    def _render(self, renderable: object, *, soft_wrap: bool = False) -> None:
        console = self._console()
        with console.capture() as captured:
            console.print(renderable, soft_wrap=soft_wrap)
        self._write("\n".join(line.rstrip() for line in captured.get().split("\n")))  # cells are padded

    def _write(self, text: str) -> None:
        if self._meter is not None:
            self._meter.end()  # else the two would be written over each other
        self.stream.write(text if text.endswith("\n") else f"{text}\n")

    def _console(self) -> Console:
        from rich.console import Console

        return Console(
            file=self.stream,
            color_system="standard" if self.colored else None,
            force_terminal=self.terminal or self.colored,
            no_color=not self.colored,
            markup=False,
            emoji=False,
            highlight=False,
        )


class Meter:
    """How far something is. Silent for the first second, since most is done by then."""

    def __init__(self, words: str, total: int | None) -> None:
        self._words, self._total, self._done = words, total, 0
        self._bar: Progress | None = None
        self._ended = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def begin(self, console: Callable[[], Console]) -> None:
        self._timer = threading.Timer(_SILENT_SECONDS, self._show, (console,))
        self._timer.daemon = True
        self._timer.start()

    def at(self, done: int, total: int | None = None, words: str = "") -> None:
        """So much is done, of what ``words`` name (as before where they are "")."""
        self._done, self._words = done, words or self._words
        self._total = self._total if total is None else total
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=self._total, description=self._words)

    def end(self) -> None:
        """It is done, or something is to be said; nothing is shown from here on."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self, console: Callable[[], Console]) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._ended:
                return
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
                console=console(),
                transient=True,
                redirect_stdout=False,  # results stay where they belong
                redirect_stderr=False,
            )
            self._bar.add_task(self._words, total=self._total, completed=self._done)
            self._bar.start()


def _wanted() -> bool:
    """https://no-color.org: any value that is not empty says no."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _plain(cell: Cell) -> str:
    return printable(cell.text if isinstance(cell, Toned) else cell)


def _text(cell: Cell) -> Text:
    from rich.text import Text

    return Text(_plain(cell), style=_STYLES[cell.tone] if isinstance(cell, Toned) else "")
