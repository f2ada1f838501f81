"""What is said beside the output: on the standard error, so that a pipe gets the answer and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

from endstop.cli.output import LineWriter, Output
from endstop.cli.texts import clean


class Asides:
    """Lines beside the output of one command. On a terminal they stand among the rest."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._lines: LineWriter | None = None

    @contextmanager
    def in_background(self) -> Generator[None]:
        """Lines are written in a thread of their own meanwhile, and are all written at the end."""
        self._lines = lines = LineWriter(_write_now)
        try:
            yield
        finally:
            self._lines = None
            lines.close()

    def say(self, text: str = "", style: str = "") -> None:
        """Lines for people. They are not printed under ``--json``."""
        if self._output.is_terminal:
            self._output.say(text, style=style)
        elif not self._output.is_json and self._lines is not None:
            self._lines.put(clean(text))
        elif not self._output.is_json:
            _write_now(clean(text))


def _write_now(line: str) -> None:
    with suppress(OSError):  # whoever does not want to read it need not
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
