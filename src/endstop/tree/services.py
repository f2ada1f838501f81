"""What a tree asks of whoever runs it: time, turns of a model, tools, a share of the budget.

The engine knows nothing of runs. Limits are enforced behind these, whatever the tree does (E11).
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Protocol


class Share(Protocol):
    """A part of what a run has left, for one part of a tree."""

    @property
    def is_used_up(self) -> bool: ...

    def close(self) -> None:
        """The part of the tree has ended: what it did not use stays with the run."""
        ...


class Services(Protocol):
    """What a tree can have done."""

    @property
    def now_s(self) -> float:
        """Seconds that never go back."""
        ...

    async def llm_call(self, *, prompt: str, offers_tools: bool) -> str | None:
        """One turn: the text of the reply; None if there was none to be had (a limit, a failure)."""
        ...

    async def tool_call(self, tool: str, arguments: Mapping[str, object]) -> str | None:
        """The text of the result; None if the call failed or was not made."""
        ...

    def open_share(self, name: str, limits: Mapping[str, int | float | str]) -> Share:
        """Hold what follows, until it is closed, to these limits (``turns``, ``tokens``, ``cost_usd``,
        ``seconds``, ``tool_calls``) on top of the run's own."""
        ...


class Alone:
    """A tree that is nobody's agent: it has a clock, and nothing else. What asks for more fails."""

    @property
    def now_s(self) -> float:
        return monotonic()

    async def llm_call(self, *, prompt: str, offers_tools: bool) -> str | None:  # noqa: ARG002 - the port's shape
        return None

    async def tool_call(self, tool: str, arguments: Mapping[str, object]) -> str | None:  # noqa: ARG002
        return None

    def open_share(self, name: str, limits: Mapping[str, int | float | str]) -> Share:  # noqa: ARG002
        return _Untouched()


class _Untouched:
    """A share of which nothing is used, for there is nothing to use it on."""

    is_used_up = False

    def close(self) -> None:
        """Nothing was taken."""
