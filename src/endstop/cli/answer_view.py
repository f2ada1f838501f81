"""An answer shown while it comes: as Markdown on a terminal, as plain lines or JSON elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endstop.cli.asides import Asides
from endstop.cli.live import JsonView, View, drawn_live
from endstop.cli.meters import drawn_meters
from endstop.cli.output import Output
from endstop.cli.progress import Progress, Step
from endstop.cli.texts import clean, one_line
from endstop.kernel.ledger import ROOT
from endstop.loop.journal import Delta

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from endstop.kernel.limits import Meter

_DEEDS_DRAWN = 5
_DEEDS_KEPT = 12
_DRAWN_CHARS = 3_000
"""So much of a long answer is drawn while it comes: it is drawn over and over."""

_THOUGHT_CHARS = 400
_SMALLEST_ROOM = 3
_SIDE_BY_SIDE = 70
"""From so many columns on, the bars of a budget stand in two columns."""


def answer_view(output: Output, asides: Asides, title: str, progress: Progress) -> View:
    """The view that suits what the output is."""
    if output.is_json:
        return JsonAnswerView(output, progress)
    if output.is_terminal:
        return TerminalAnswerView(output, title, progress)
    return PlainAnswerView(asides, title)


class JsonAnswerView(JsonView):
    """One JSON line per turn and per notice."""

    def step(self, step: Step) -> None:
        if step.kind in ("turn", "notice"):
            super().step(step)


class PlainAnswerView:
    """One line per tool call and notice, beside the output: the answer is printed whole, when it is there."""

    def __init__(self, asides: Asides, title: str) -> None:
        self._asides = asides
        self._title = title

    def begin(self) -> None:
        """Say what it is, once: when it has really begun, for it may be refused."""
        if self._title:
            self._asides.say(self._title)
            self._title = ""

    def step(self, step: Step) -> None:
        if step.kind in ("tool", "notice"):
            self._asides.say(f"  {step.text}")

    def delta(self, delta: Delta) -> None:
        """The answer is told as a whole."""

    def close(self) -> None:
        """Each line was written at once."""


class TerminalAnswerView:
    """The latest deeds, the end of the text as it comes and the budget, drawn over in the same place.

    A thread of rich's draws, so that a terminal that is held up (Ctrl-S) does not hold up the run. When the
    run is over the drawing makes way for the deeds; the answer, whole, is printed below them.
    """

    def __init__(self, output: Output, title: str, progress: Progress) -> None:
        self._output = output
        self._title = title
        self._progress = progress
        self._deeds: tuple[Step, ...] = ()
        self._turn = -1
        self._text = ""
        self._thought = ""
        self._live = drawn_live(output, self._drawing)

    def begin(self) -> None:
        """The title is drawn with the rest."""

    def step(self, step: Step) -> None:
        if step.kind != "turn":
            self._deeds = (*self._deeds, step)
        elif step.data["tool_calls"] and step.data["characters"]:  # its text was not the answer
            self._deeds = (*self._deeds, step)
            self._text = ""

    def delta(self, delta: Delta) -> None:
        if delta.scope != ROOT:
            return
        if delta.turn != self._turn:
            self._turn, self._text, self._thought = delta.turn, "", ""
        if delta.is_thought:
            self._thought = (self._thought + delta.text)[-_THOUGHT_CHARS:]
        else:
            self._text = latest(self._text + delta.text)

    def close(self) -> None:
        """Leave on the screen what was done; the text is printed by whoever has the whole of it."""
        self._live.stop()
        self._output.say(self._title, style="dim")
        left_out = len(self._deeds) - _DEEDS_KEPT
        if left_out > 0:
            self._output.say(f"  … {left_out:,} more before these", style="dim")
        for step in self._deeds[-_DEEDS_KEPT:]:
            self._output.say(f"  {step.text}", style=_style(step), is_cut=True)

    def _drawing(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        console = self._output.console
        parts: list[RenderableType] = [Text(clean(self._title), style="dim", no_wrap=True)]
        parts += [
            Text(f"  {clean(step.text)}", style=_style(step), no_wrap=True, overflow="ellipsis")
            for step in self._deeds[-_DEEDS_DRAWN:]
        ]
        if self._thought and not self._text:
            thought = one_line(self._thought[-console.width :], console.width - 4)
            parts.append(Text(f"  … {thought}", style="dim italic", no_wrap=True, overflow="ellipsis"))
        meters = self._progress.meters(is_live=True)
        footer_lines = len(meters) if console.width < _SIDE_BY_SIDE else 2
        if self._text:
            room = max(console.height - len(parts) - footer_lines - 3, _SMALLEST_ROOM)
            parts += ["", _Tail(drawn_answer(self._text), room)]
        return Group(*parts, "", drawn_footer(meters, console.width))


class _Tail:
    """The last lines of something, where all of it would not fit."""

    def __init__(self, whole: RenderableType, most_lines: int) -> None:
        self._whole = whole
        self._most_lines = most_lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        for line in console.render_lines(self._whole, options.update(height=None), pad=False)[
            -self._most_lines :
        ]:
            yield from line
            yield Segment.line()


def drawn_answer(text: str) -> RenderableType:
    """An answer as Markdown. Where a link leads is written out: it was written by a model."""
    from rich.markdown import Markdown

    return Markdown(clean(text), hyperlinks=False, code_theme="ansi_dark")


def latest(text: str) -> str:
    """The end of a text that is too long to be drawn again and again, from the beginning of a paragraph."""
    if len(text) <= _DRAWN_CHARS * 2:
        return text
    tail = text[-_DRAWN_CHARS:]
    return tail.partition("\n\n")[2] or tail


def drawn_footer(meters: tuple[Meter, ...], columns: int) -> RenderableType:
    """The bars of a budget, two lines of them where there is room."""
    from rich.table import Table

    if columns < _SIDE_BY_SIDE:
        return drawn_meters(meters, columns)
    sides = Table.grid(padding=(0, 2))
    half = (columns - 2) // 2
    sides.add_row(drawn_meters(meters[:2], half), drawn_meters(meters[2:], half))
    return sides


def _style(step: Step) -> str:
    return "yellow" if step.kind == "notice" else "dim"
