"""What was used of each limit: as bars on a terminal, in words elsewhere, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from endstop.kernel.limits import LimitKind, Meter, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from endstop.kernel.usage import Usage

_NAMES = {LimitKind.COST_USD: "cost", LimitKind.SECONDS: "time", LimitKind.MODEL_CALLS: "model calls"}
_MOST_BAR_COLUMNS = 28
_FEWEST_BAR_COLUMNS = 4
_CLOSE_AT_PERCENT = 70


def meter_name(meter: Meter) -> str:
    return _NAMES.get(meter.kind, meter.kind.value)


def meters_line(meters: Iterable[Meter], usage: Usage | None = None) -> str:
    """All meters on one line. With ``usage``, a cost that is not known is not shown as if it were."""
    return " · ".join(f"{meter_name(meter)} {meter_shown(meter, usage)}" for meter in meters)


def meter_shown(meter: Meter, usage: Usage | None) -> str:
    if meter.kind is LimitKind.COST_USD and usage is not None and usage.unknown_cost_calls:
        return f"{usage.cost_shown} of {shown(meter.kind, meter.maximum)}"
    return meter.shown


def meters_json(meters: Iterable[Meter]) -> dict[str, object]:
    """By limit: ``used`` and ``limit`` (money as text)."""
    return {
        meter.kind.value: {"used": _plain(meter, meter.used), "limit": _plain(meter, meter.maximum)}
        for meter in meters
    }


def drawn_meters(meters: Iterable[Meter], columns: int, usage: Usage | None = None) -> RenderableType:
    """A bar for each limit, on a terminal of so many columns."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    read = [(meter, f"  {meter_name(meter)}", meter_shown(meter, usage)) for meter in meters]
    beside = max((len(name) for _, name, _ in read), default=0) + max(
        (len(text) for *_, text in read), default=0
    )
    bar_columns = max(min(columns - beside - 3, _MOST_BAR_COLUMNS), _FEWEST_BAR_COLUMNS)
    grid = Table.grid(padding=(0, 1))
    for meter, name, text in read:
        style = "green" if meter.percent < _CLOSE_AT_PERCENT else "yellow" if meter.percent < 100 else "red"
        bar = ProgressBar(
            total=100,
            completed=min(meter.percent, 100),
            width=bar_columns,
            complete_style=style,
            finished_style=style,
        )
        grid.add_row(Text(name), bar, Text(text, style="dim"))
    return grid


def _plain(meter: Meter, value: object) -> object:
    if meter.kind is LimitKind.COST_USD:
        return f"{value:f}"
    return round(value, 3) if isinstance(value, float) else value
