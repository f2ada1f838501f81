"""Two actions in whatever order, with nothing new in their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from endstop.kernel.evolve import draft, quick

ActionAndResult: TypeAlias = tuple[str, str]


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """The longest row of last actions that holds only two different ones, each always with one result."""

    latest: ActionAndResult | None = None
    other: ActionAndResult | None = None
    count: int = 0
    """Actions in the row."""
    count_of_latest: int = 0
    latest_in_a_row: int = 0
    """How often the latest one came in a row, up to now."""

    def after(self, new: ActionAndResult) -> PairRow:
        if new == self.latest:
            return PairRow(
                latest=new,
                other=self.other,
                count=self.count + 1,
                count_of_latest=self.count_of_latest + 1,
                latest_in_a_row=self.latest_in_a_row + 1,
            )
        if new == self.other:
            return PairRow(
                latest=new,
                other=self.latest,
                count=self.count + 1,
                count_of_latest=self.count - self.count_of_latest + 1,
                latest_in_a_row=1,
            )
        # A third one: what is left of the row is the end of it that held only the latest.
        row = draft(self)
        row.latest, row.other = new, self.latest
        row.count = self.latest_in_a_row + 1
        row.count_of_latest = row.latest_in_a_row = 1
        row.__class__ = PairRow
        return row

    @property
    def actions(self) -> frozenset[str]:
        """The two actions, if there are two (not one with two results) and each of them was taken again."""
        latest, other = self.latest, self.other
        if latest is None or other is None or latest[0] == other[0]:
            return frozenset()
        is_again = self.count_of_latest > 1 and self.count - self.count_of_latest > 1
        return frozenset((latest[0], other[0])) if is_again else frozenset()


NO_PAIR = PairRow()
