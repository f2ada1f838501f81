"""A run as its caller gets it back: how it ended, what it used, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from endstop.events.audit import Audit, audit
from endstop.events.explain import Explanation, explain
from endstop.events.facts import Fact
from endstop.events.summary import summarise
from endstop.kernel.detectors import Detector
from endstop.kernel.outcome import Cancelled, Completed, Failed, Forced, Outcome
from endstop.kernel.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run, ended, paused, or left open to be resumed (then ``outcome`` is None)."""

    id: str
    outcome: Outcome | None
    facts: tuple[Fact, ...] = field(repr=False)
    result: object = None
    """What the terminal tool gave, where there is one."""
    detectors: tuple[Detector, ...] | None = field(default=None, repr=False)

    @property
    def answer(self) -> str:
        """The text there is, however it ended."""
        match self.outcome:
            case Completed(answer=text) | Forced(answer=text) | Cancelled(answer=text) | Failed(answer=text):
                return text
            case _:
                return ""

    @property
    def usage(self) -> Usage:
        return summarise(self.facts).usage

    def explain(self) -> Explanation:
        """Why it stopped, in plain words, with evidence. Print it."""
        return explain(self.facts)

    def audit(self) -> Audit:
        """Proof from the record that the run kept its promises."""
        return audit(self.facts, detectors=self.detectors)
