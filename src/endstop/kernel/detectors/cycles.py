"""A few actions in turn, round after round (B4): A B A B A B, or A B C A B C A B C.

For each length of round the detector counts how far back the actions equal those one round before, so each
action costs the same however long the run. A cycle needs two different actions: one alone is a
repetition (B1). What begins a new row there begins one here: a message of the user, declared waiting.
An action of a cursor tool is the same only if it brought the same page.

Two actions need not keep to an order: as many actions as a cycle of two would have (six), out of only two
different ones, each taken again and each with the same result every time, are a cycle too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from endstop.kernel.detectors.actions import Action, Seen
from endstop.kernel.detectors.pairs import NO_PAIR, PairRow
from endstop.kernel.detectors.rows import in_turns
from endstop.kernel.evolve import draft, quick
from endstop.kernel.finding import Evidence, Finding, Pattern
from endstop.kernel.observation import UserSaid
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds

_SHOWN = 24
"""So many of the last actions are kept as evidence: all of a cycle, unless it is set very long."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """Finds ``CYCLE``."""

    CONCERNS: ClassVar[tuple[type, ...]] = (Action, UserSaid)

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    recent: tuple[tuple[str, Evidence], ...] = ()
    """Identity and evidence of the last actions."""
    matches: tuple[int, ...] = ()
    """For rounds of 2, 3, … actions: how many of the last actions equal the one a round before."""
    pair: PairRow = NO_PAIR
    reported: frozenset[str] = frozenset()
    """The actions of the cycle that was reported last."""
    quiet_for: int = 0
    """So many more of those must come before the next finding: one cycle is not told under two names."""

    def observe(self, seen: Seen) -> tuple[Cycles, Finding | None]:
        if isinstance(seen, Action):
            finished = seen.finished
            if finished.is_waiting:
                return Cycles(thresholds=self.thresholds), None
            identity = seen.identity if finished.is_cursor else finished.key
            return (self, None) if identity is None else self._with(identity, seen)
        if isinstance(seen, UserSaid) and self.recent:
            return Cycles(thresholds=self.thresholds), None
        return self, None

    def _with(self, identity: str, action: Action) -> tuple[Cycles, Finding | None]:
        recent, before = self.recent, self.matches or (0,) * (self.thresholds.longest_cycle - 1)
        reach, length = len(recent), 1
        matches: list[int] = []
        for count in before:
            length += 1
            is_match = length <= reach and recent[-length][0] == identity
            matches.append(count + 1 if is_match else 0)
        after = draft(self)
        after.recent = recent[1 - _SHOWN :] + ((identity, action.seen),)  # noqa: RUF005 - the cheaper way
        after.matches = tuple(matches)
        after.pair = self.pair.after((identity, action.result_key))
        after.quiet_for = max(0, self.quiet_for - 1) if identity in self.reported else 0
        after.__class__ = Cycles
        found = None if after.quiet_for else (any(matches) and after._cycle()) or after._to_and_fro()
        if found is None:
            return after, None
        reported, finding = found
        return replace(after, reported=reported, quiet_for=2 * self.thresholds.cycle_rounds), finding

    def _cycle(self) -> tuple[frozenset[str], Finding] | None:
        for length, matched in enumerate(self.matches, start=2):
            if matched < length:
                continue  # not even a second round
            # The shortest round is looked at first, so A B A B is never told as a round of four.
            rounds, begun = divmod(matched + length, length)
            if begun or rounds % self.thresholds.cycle_rounds:
                continue
            actions = frozenset(identity for identity, _ in self.recent[-length:])
            if len(actions) > 1:
                how = f"The same {length} actions were taken in turn, {rounds} rounds long"
                return actions, self._finding(how, rounds, length * rounds)
        return None

    def _to_and_fro(self) -> tuple[frozenset[str], Finding] | None:
        count = self.pair.count
        if count % (2 * self.thresholds.cycle_rounds):
            return None
        actions = self.pair.actions
        if not actions:
            return None
        how = f"The last {count} actions were only 2 different ones, each with the same result every time"
        return actions, self._finding(how, count // 2, count)

    def _finding(self, how: str, rounds: int, count: int) -> Finding:
        evidence = tuple(seen for _, seen in self.recent[-count:])
        names = dict.fromkeys(seen.what for seen in evidence)
        return Finding(
            pattern=Pattern.CYCLE,
            message=f"{how} ({in_turns(evidence)}): {', '.join(names)}",
            advice="Going round changes nothing: say what is missing, and take a step not tried before.",
            times=rounds,
            evidence=evidence,
        )
