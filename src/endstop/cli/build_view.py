"""A coding session shown while it is at work: drawn on a terminal, as plain lines or JSON elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.answer_view import drawn_footer
from endstop.cli.build_progress import ASKED, SessionProgress, SessionStep
from endstop.cli.build_words import Line, stepper, tell_line
from endstop.cli.live import JsonView, View, drawn_live
from endstop.cli.output import Output
from endstop.cli.progress import Step
from endstop.cli.texts import clean
from endstop.loop.journal import Delta

if TYPE_CHECKING:
    from rich.console import RenderableType

_TAIL_CHARS = 400
_AROUND = 9
"""So many lines of the drawing are not those of the session: the stepper, who is at work, the bars."""
_FEWEST_LINES = 3
_INDENT = "  "


def build_view(output: Output, title: str, progress: SessionProgress) -> View:
    """The view that suits what the output is."""
    if output.is_json:
        return JsonView(output, progress)
    if output.is_terminal:
        return TerminalBuildView(output, title, progress)
    return PlainBuildView(output, title)


class PlainBuildView:
    """Some lines for each thing that happened, and one for each turn in between."""

    def __init__(self, output: Output, title: str) -> None:
        self._output = output
        self._title = title

    def begin(self) -> None:
        """Say what it is, once: when it has really begun, for it may be refused."""
        if self._title:
            self._output.say(self._title)
            self._title = ""

    def step(self, step: Step) -> None:
        for line in _lines(step):
            self._output.say(f"{_INDENT}{line.text}")

    def delta(self, delta: Delta) -> None:
        """A reply is told as a whole, with its turn."""

    def close(self) -> None:
        """Each line was written at once."""


class TerminalBuildView:
    """The stepper, what happened last, who is at work and the budget, drawn over in the same place.

    A thread of rich's draws, so that a terminal that is held up (Ctrl-S) does not hold up the session. When
    it ends or pauses, the drawing makes way for all that happened.
    """

    def __init__(self, output: Output, title: str, progress: SessionProgress) -> None:
        self._output = output
        self._title = title
        self._progress = progress
        self._lines: tuple[Line, ...] = ()
        self._latest = ""
        self._place = ("", -1)
        self._live = drawn_live(output, self._drawing)

    def begin(self) -> None:
        """The title is drawn with the rest."""

    def step(self, step: Step) -> None:
        if step.kind != "turn":
            self._lines = (*self._lines, *_lines(step))

    def delta(self, delta: Delta) -> None:
        if (delta.scope, delta.turn) != self._place:
            self._place, self._latest = (delta.scope, delta.turn), ""
        self._latest = (self._latest + delta.text[-_TAIL_CHARS:])[-_TAIL_CHARS:]

    def close(self) -> None:
        """Leave on the screen what happened."""
        self._live.stop()
        if self._title:
            self._output.say(self._title, style="dim")
        for line in self._lines:
            tell_line(self._output, f"{_INDENT}{line.text}", style=line.style)

    def _drawing(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        console = self._output.console
        room = max(console.height - _AROUND, _FEWEST_LINES)
        view = self._progress.view
        parts = [Text(clean(self._title), style="dim", no_wrap=True, overflow="ellipsis")]
        parts += [_drawn(line) for line in self._lines[-room:]]
        parts += [Text(stepper(view) if view is not None else "", style="bold", no_wrap=True)]
        parts += [_drawn(Line(text=self._at_work(), style="cyan"))]
        footer = drawn_footer(self._progress.meters(is_live=True), console.width)
        return Group(*parts, footer)

    def _at_work(self) -> str:
        who = self._progress.under_way
        is_of_them = who.startswith(f"{self._place[0]}, ")
        said = " ".join(clean(self._latest).split()) if is_of_them else ""
        return f"{who}  … {said[-60:]}" if said else who or "…"


def _lines(step: Step) -> tuple[Line, ...]:
    """What people are shown of a step. What is asked stands with the place for the answer."""
    if isinstance(step, SessionStep):
        return step.lines
    if step.kind == ASKED:
        return ()
    if step.kind == "turn":
        return (Line(text=f"  {step.text}", style="dim"),)
    return (Line(text=f"! {step.text}", style="yellow"),)


def _drawn(line: Line) -> RenderableType:
    from rich.text import Text

    return Text(f"{_INDENT}{clean(line.text)}", style=line.style, no_wrap=True, overflow="ellipsis")
