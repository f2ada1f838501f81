"""Figures that are counted, and told in the text format of Prometheus.

Three kinds of figures and one format do not need a library: the one there is keeps process-wide state, and
two servers in one process (as in tests) would share it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Where the durations of requests are divided."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Counter:
    """Something that only grows, by its labels."""

    kind = "counter"

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self.name = name
        self.about = about
        self._labels = labels
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0}

    def add(self, *values: str, amount: float = 1) -> None:
        """So much more, under these values of its labels."""
        self._values[values] = self._values.get(values, 0) + amount

    def lines(self) -> Iterator[str]:
        for values, total in sorted(self._values.items()):
            yield f"{self.name}{_labelled(zip(self._labels, values, strict=True))} {_number(total)}"


class Gauge:
    """Something that goes up and down. It is not kept: it is asked for when somebody wants to know."""

    kind = "gauge"

    def __init__(self, name: str, about: str, read: Callable[[], float]) -> None:
        self.name = name
        self.about = about
        self._read = read

    def lines(self) -> Iterator[str]:
        yield f"{self.name} {_number(self._read())}"


class Total(Gauge):
    """Something that only grows, and is counted elsewhere."""

    kind = "counter"


class Histogram:
    """How long things took: how many took at most so long, for each of some durations."""

    kind = "histogram"

    def __init__(self, name: str, about: str, *labels: str, bounds: Sequence[float] = SECONDS) -> None:
        self.name = name
        self.about = about
        self._labels = labels
        self._bounds = tuple(bounds)
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, value: float, *values: str) -> None:
        """One more took so long."""
        counts = self._counts.setdefault(values, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + value

    def lines(self) -> Iterator[str]:
        for values, counts in sorted(self._counts.items()):
            labels = tuple(zip(self._labels, values, strict=True))
            total = 0
            for bound, count in zip((*self._bounds, None), counts, strict=True):
                total += count
                at_most = "+Inf" if bound is None else _number(bound)
                yield f"{self.name}_bucket{_labelled((*labels, ('le', at_most)))} {total}"
            yield f"{self.name}_sum{_labelled(labels)} {_number(self._sums[values])}"
            yield f"{self.name}_count{_labelled(labels)} {total}"


Metric = Counter | Gauge | Histogram


def told(metrics: Sequence[Metric]) -> str:
    """All of them, as Prometheus reads them."""
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.about}", f"# TYPE {metric.name} {metric.kind}"]
        lines += metric.lines()
    return "\n".join(lines) + "\n"


def _labelled(pairs: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    """Whole numbers as such: large ones must not lose their last digits."""
    return str(int(value)) if value == int(value) else repr(float(value))
