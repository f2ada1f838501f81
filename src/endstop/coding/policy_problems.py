"""What is wrong with a policy: all of it at once, each with its key, and its line where there is a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from endstop.errors import USE_ALLOWED, EndstopError, InvalidValueError

_TO_DO = "Mend it; endstop policy check tells when all is well"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """One thing that is wrong."""

    key: str
    """Such as ``session.minutes``; empty for what is wrong with the whole."""
    what: str
    allowed: str = ""
    to_do: str = ""
    line: int | None = None

    def __str__(self) -> str:
        """ "line 4: session.minutes is 0. Allowed: a number from 1 to 480."."""
        sentence = str(EndstopError(self.what, allowed=self.allowed, to_do=self.to_do))
        return sentence if self.line is None else f"line {self.line}: {sentence}"


class PolicyRefusedError(InvalidValueError):
    """A policy cannot be used as it is written. ``problems`` has all that is wrong with it."""

    code = "policy_refused"

    def __init__(
        self, problems: Iterable[PolicyProblem], *, of: str = "The policy", to_do: str = _TO_DO
    ) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        self.field = "policy"
        self.value = of
        number = len(self.problems)
        listed = "".join(f"\n  {problem}" for problem in self.problems)
        what = f"{of} has {number} {'problem' if number == 1 else 'problems'}:{listed}"
        EndstopError.__init__(self, what, to_do=to_do)


def problem_of(key: str, error: InvalidValueError, line: int | None = None) -> PolicyProblem:
    """What is wrong with one value."""
    to_do = "" if error.to_do == USE_ALLOWED else error.to_do
    return PolicyProblem(key=key, what=error.what, allowed=error.allowed, to_do=to_do, line=line)
