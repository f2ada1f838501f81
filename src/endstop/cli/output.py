"""Where commands print to: JSON for programs, plain lines in a pipe, tables and colour on a terminal."""

from __future__ import annotations

import json
import os
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from typing import TYPE_CHECKING

from endstop.cli.texts import clean
from endstop.errors import EndstopError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_GAP = "  "
_SMALLEST = 8
"""A column that may shrink is no use below this. On narrower terminals, each row becomes a block of lines."""


class ReaderGone(Exception):  # noqa: N818 - not an error: somebody has read enough
    """Whoever read our output reads no more, as in ``endstop runs | head -1``."""


class OutputError(EndstopError):
    """The output cannot be written: the disk is full, the file is gone."""

    code = "output_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    name: str
    is_number: bool = False
    may_shrink: bool = False
    """It gives way when a terminal is not wide enough for all."""


class Output:
    """What one command prints."""

    def __init__(self, *, is_json: bool) -> None:
        self.is_json = is_json
        is_plain = is_json or os.environ.get("TERM") == "dumb"
        self.is_terminal = sys.stdout.isatty() and not is_plain
        """Whether lines may be drawn over again, and colour used."""
        self._lines: LineWriter | None = None

    @cached_property
    def console(self) -> Console:
        """The terminal. Only where there is one."""
        from rich.console import Console

        return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)

    @contextmanager
    def in_background(self) -> Generator[None]:
        """Lines are written in a thread of their own meanwhile, and are all written at the end."""
        self._lines = lines = LineWriter()
        try:
            yield
        finally:
            self._lines = None
            lines.close()
        lines.check()

    def check(self) -> None:
        """Raise what went wrong in the background, such as ``ReaderGone``."""
        if self._lines is not None:
            self._lines.check()

    def document(self, value: object) -> None:
        """The one JSON document of a command."""
        self._write(json.dumps(value, indent=2))

    def json_line(self, value: Mapping[str, object]) -> None:
        """One of several JSON lines, at once."""
        self._write(json.dumps(value))

    def say(self, text: str = "", style: str = "", *, is_cut: bool = False) -> None:
        """Lines for people; ``is_cut`` where a terminal ends. They are not printed under ``--json``."""
        if self.is_json:
            return
        if self.is_terminal:
            from rich.text import Text

            overflow = "ellipsis" if is_cut else "fold"
            self.console.print(Text(clean(text), style=style), no_wrap=is_cut, overflow=overflow)
        else:
            self._write(clean(text))

    def draw(self, drawing: RenderableType) -> None:
        """Something that only a terminal can show."""
        self.console.print(drawing)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """A table for people: aligned in a pipe, fitted to the width of a terminal."""
        cells = [[_cell(each) for each in row] for row in rows]
        lines = [[column.name for column in columns], *cells]
        widths = [max(_width(line[place]) for line in lines) for place in range(len(columns))]
        if self.is_terminal:
            widths = fitted(widths, columns, self.console.width)
            if not widths:
                self._blocks(columns, cells)
                return
        for place, line in enumerate(lines):
            padded = [
                _padded(each, width, is_number=column.is_number)
                for each, width, column in zip(line, widths, columns, strict=True)
            ]
            self.say(_GAP.join(padded).rstrip(), style="bold" if place == 0 else "", is_cut=True)

    def pairs(self, pairs: Iterable[tuple[str, str]], *, indent: str = "") -> None:
        """Names and values, one pair per line, the values below each other."""
        named = [(name, text) for name, text in pairs if text]
        if self.is_terminal:
            self._drawn_pairs(named, indent)
            return
        width = max((len(name) for name, _ in named), default=0)
        for name, text in named:
            self.say(f"{indent}{name.ljust(width)}  {text}")

    def _write(self, line: str) -> None:
        if self._lines is None:
            _write_now(line)
        else:
            self._lines.put(line)

    def _drawn_pairs(self, named: Sequence[tuple[str, str]], indent: str) -> None:
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(
            no_wrap=True, min_width=max((len(name) for name, _ in named), default=0) + len(indent)
        )
        grid.add_column(overflow="fold")
        for name, text in named:
            grid.add_row(Text(indent + name, style="dim"), Text(clean(text)))
        self.draw(grid)

    def _blocks(self, columns: Sequence[Column], cells: list[list[str]]) -> None:
        for row in cells:
            self.pairs(zip((column.name for column in columns), row, strict=True))
            self.say()


class LineWriter:
    """Writes lines in a thread: a reader who is slow must not hold up the clock that ends a run in time."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        """``write`` writes a line; to the standard output if it is not given."""
        self._write_line = _write_now if write is None else write
        self._failure: Exception | None = None
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        self._queue.put(line)

    def check(self) -> None:
        """Raise what went wrong, if something did."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Wait until all is written."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (line := self._queue.get()) is not None:
            try:
                self._write_line(line)
            except (ReaderGone, OutputError) as failure:
                self._failure = failure
                return


def _write_now(line: str) -> None:
    """One line, at once: whoever reads it may be watching."""
    try:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise OutputError(
            f"What was to be printed could not be written: {error.strerror}",
            to_do="Make room where the output goes, or send it elsewhere",
        ) from None


def fitted(widths: Sequence[int], columns: Sequence[Column], most: int) -> list[int]:
    """Widths that fit into ``most``: the widest that may shrink give way. None at all if they cannot."""
    given = list(widths)
    while sum(given) + len(_GAP) * (len(given) - 1) > most:
        shrinkable = [place for place, column in enumerate(columns) if column.may_shrink]
        widest = max(shrinkable, key=lambda place: given[place], default=-1)
        if widest < 0 or given[widest] <= _SMALLEST:
            return []
        given[widest] -= 1
    return given


def _padded(text: str, width: int, *, is_number: bool) -> str:
    if _width(text) > width:
        while text and _width(text) > width - 1:
            text = text[:-1]
        text += "…"
    space = " " * (width - _width(text))
    return space + text if is_number else text + space


def _width(text: str) -> int:
    """How many columns a text takes: some letters take two, some none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )


def _cell(text: str) -> str:
    return clean(" ".join(text.split("\n")))
