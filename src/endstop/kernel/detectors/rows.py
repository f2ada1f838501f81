"""How often the same thing came in a row, with enough of it kept to show as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from endstop.kernel.evolve import maker, quick
from endstop.kernel.finding import Evidence

_SHOWN = 3
"""So many of the first and of the last sightings are kept, however long the row."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of equal things: its key, its length, its first and last few sightings."""

    key: str | None = None
    count: int = 0
    first: tuple[Evidence, ...] = ()
    last: tuple[Evidence, ...] = ()

    def after(self, key: str, seen: Evidence) -> Row:
        """The row with one more if it has the same key, else a new row of one."""
        if key != self.key:
            return _row(key=key, count=1, first=(seen,))
        if self.count < _SHOWN:
            return Row(key=key, count=self.count + 1, first=(*self.first, seen))
        return Row(key=key, count=self.count + 1, first=self.first, last=(*self.last, seen)[-_SHOWN:])

    def is_due(self, threshold: int) -> bool:
        """To be reported: at the threshold, and again at each multiple of it while the row goes on."""
        return self.count > 0 and self.count % threshold == 0

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return self.first + self.last

    @property
    def turns(self) -> str:
        """ "turn 2", "turns 2 and 3", "turns 2, 3 and 4", "turns 2 to 40"; people count from 1."""
        return in_turns(self.evidence)


_row = maker(Row)
NO_ROW = Row()


def in_turns(evidence: Sequence[Evidence]) -> str:
    """The turns of some evidence, in words."""
    turns = list(dict.fromkeys(each.turn + 1 for each in evidence))
    if len(turns) == 1:
        return f"turn {turns[0]}"
    if len(turns) > _SHOWN:
        return f"turns {turns[0]} to {turns[-1]}"
    return f"turns {', '.join(map(str, turns[:-1]))} and {turns[-1]}"
