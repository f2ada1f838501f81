"""Rules of a policy that cannot both hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from endstop.coding.policy_problems import PolicyProblem
from endstop.kernel.limits import money

_NOWHERE: Mapping[str, int] = MappingProxyType({})
_WRITING_TOOLS = ("tools.write_file", "tools.edit_file", "tools.run_command")
_AT_MOST = (
    ("price.auto_proceed_under_usd", "price.reject_over_usd", 1),
    ("price.auto_proceed_under_usd", "session.cost_usd", 1),
    ("interview.soft", "interview.hard", 1),
    ("plan.seconds", "session.minutes", 60),
)
"""The first may not be more than so many times the second."""


def contradictions(values: Mapping[str, Any], lines: Mapping[str, int] = _NOWHERE) -> Iterator[PolicyProblem]:
    """All pairs of values that contradict each other. Values that are not given are not judged.

    ``lines`` tells where they stand in a file; what stands nowhere there is a default.
    """
    for small, large, times in _AT_MOST:
        if small in values and large in values and values[small] > values[large] * times:
            line = lines.get(small, lines.get(large))
            notes = {name: " by default" if lines and name not in lines else "" for name in (small, large)}
            yield PolicyProblem(
                key=small,
                what=f"{small} is {_shown(values[small])}{notes[small]}, which is more than {large}: "
                f"{_shown(values[large])}{notes[large]}",
                to_do="Lower the first or raise the second",
                line=line,
            )
    if all(values.get(tool) == "deny" for tool in _WRITING_TOOLS):
        yield PolicyProblem(
            key=_WRITING_TOOLS[0],
            what=f"{', '.join(_WRITING_TOOLS)} are all denied, so that nothing can be built",
            to_do="Allow one of them",
            line=lines.get(_WRITING_TOOLS[0]),
        )


def _shown(value: object) -> str:
    return f"${money(value)}" if isinstance(value, Decimal) else f"{value:g}"
