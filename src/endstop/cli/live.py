"""A run shown while it is under way: drawn on a terminal, as plain lines in a pipe, as JSON lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from endstop.cli.meters import drawn_meters
from endstop.cli.output import Output
from endstop.cli.progress import Progress, Step
from endstop.cli.texts import clean
from endstop.errors import RecordTakenError
from endstop.events.bus import Bus, Subscription
from endstop.loop.journal import Delta, Listener
from endstop.runner import Run

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_DRAWN_PER_SECOND = 10
_STEPS_DRAWN = 3
_TAIL_CHARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """What stands above a run."""

    name: str
    does: str = ""


class View(Protocol):
    """Shows one run."""

    def begin(self) -> None: ...
    def step(self, step: Step) -> None: ...
    def delta(self, delta: Delta) -> None: ...
    def close(self) -> None: ...


Drive = Callable[[Bus, Listener], Awaitable[Run]]


async def watched(
    output: Output, title: Title, progress: Progress, drive: Drive, *, most_lines: int | None = None
) -> Run:
    """Drive a run and show it. ``most_lines`` is how many lines of it a pipe is given."""
    with output.in_background():
        return await watched_in(output, _view(output, title, progress, most_lines), progress, drive)


async def watched_in(output: Output, view: View, progress: Progress, drive: Drive) -> Run:
    """Drive a run and show it in a view of one's own, which is closed in the end."""
    try:
        return await _driven(output, view, progress, drive)
    except BaseExceptionGroup as several:  # the run's own error, or that nobody reads any more
        raise _for_a_person(several.exceptions[0], progress.run_id) from None
    finally:
        view.close()


def _for_a_person(error: BaseException, run_id: str) -> BaseException:
    """That another has written to the record means, to a person, that another goes on with the run."""
    if not isinstance(error, RecordTakenError):
        return error
    return RecordTakenError(
        f"Another process goes on with {run_id}: this one has stopped, and nothing is lost",
        to_do=f"Watch it there: endstop show {run_id} --follow",
    )


async def _driven(output: Output, view: View, progress: Progress, drive: Drive) -> Run:
    bus = Bus()
    woken = asyncio.Event()
    subscription = bus.subscribe(wake=woken.set)

    async def show() -> None:
        while True:
            await woken.wait()
            woken.clear()
            _take(view, progress, subscription)
            output.check()

    async with asyncio.TaskGroup() as group:
        showing = group.create_task(show())
        run = await drive(bus, view.delta)
        showing.cancel()
    _take(view, progress, subscription)
    return run


def _take(view: View, progress: Progress, subscription: Subscription) -> None:
    facts = subscription.take()
    if facts:
        view.begin()
    for fact in facts:
        step = progress.add(fact)
        if step is not None:
            view.step(step)


def _view(output: Output, title: Title, progress: Progress, most_lines: int | None) -> View:
    if output.is_json:
        return JsonView(output, progress)
    if output.is_terminal:
        return TerminalView(output, title, progress)
    return PlainView(output, title, most_lines)


class JsonView:
    """One JSON line per step."""

    def __init__(self, output: Output, progress: Progress) -> None:
        self._output = output
        self._run_id = progress.run_id

    def begin(self) -> None:
        """Each line says which run it is about."""

    def step(self, step: Step) -> None:
        self._output.json_line({"event": step.kind, "run": self._run_id, **step.data})

    def delta(self, delta: Delta) -> None:
        """A reply is told as a whole, with its turn."""

    def close(self) -> None:
        """Each line was written at once."""


class PlainView:
    """One line per step, and no more of them than was asked for."""

    def __init__(self, output: Output, title: Title, most_lines: int | None) -> None:
        self._output = output
        self._title = f"{title.name}: {title.does}" if title.does else title.name
        self._most_lines = most_lines
        self._lines = 0

    def begin(self) -> None:
        """Say what it is, once: when it has really begun, for it may be refused."""
        if self._title:
            self._output.say(self._title)
            self._title = ""

    def step(self, step: Step) -> None:
        self._lines += 1
        if self._most_lines is None or self._lines <= self._most_lines:
            self._output.say(f"  {step.text}")

    def delta(self, delta: Delta) -> None:
        """A reply is told as a whole, with its turn."""

    def close(self) -> None:
        if self._most_lines is not None and self._lines > self._most_lines:
            self._output.say(f"  … and {self._lines - self._most_lines:,} more lines like these")


def drawn_live(output: Output, drawing: Callable[[], RenderableType]) -> Live:
    """Draw something over and over in the same place, until it is stopped."""
    from rich.live import Live

    live = Live(
        console=output.console,
        refresh_per_second=_DRAWN_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        get_renderable=drawing,
    )
    live.start()
    return live


class TerminalView:
    """The last steps, the text as it comes and the budget, drawn over and over in the same place.

    A thread of rich's draws, so that a terminal that is held up (Ctrl-S) does not hold up the run.
    """

    def __init__(self, output: Output, title: Title, progress: Progress) -> None:
        self._title = title
        self._progress = progress
        self._columns = lambda: output.console.width
        self._steps: tuple[Step, ...] = ()
        self._tail = ""
        self._turn = -1
        self._live = drawn_live(output, self._drawing)

    def begin(self) -> None:
        """The title is drawn with the rest."""

    def step(self, step: Step) -> None:
        self._steps = (*self._steps, step)[-_STEPS_DRAWN:]

    def delta(self, delta: Delta) -> None:
        if delta.turn != self._turn:
            self._turn, self._tail = delta.turn, ""
        self._tail = (self._tail + delta.text[-_TAIL_CHARS:])[-_TAIL_CHARS:]

    def close(self) -> None:
        self._live.stop()

    def _drawing(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        title = Text(self._title.name, style="bold", no_wrap=True, overflow="ellipsis")
        if self._title.does:
            title.append(f"  {self._title.does}", style="not bold dim")
        lines = [Text(f"  {step.text}", no_wrap=True, overflow="ellipsis") for step in self._steps]
        tail = " ".join(clean(self._tail).split())
        said = Text(f"  … {tail[-60:]}" if tail else "  …", style="dim", no_wrap=True, overflow="ellipsis")
        return Group(title, *lines, said, drawn_meters(self._progress.meters(is_live=True), self._columns()))
