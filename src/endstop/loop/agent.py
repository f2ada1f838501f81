"""An agent: a model, its tools, and what it is held to. A value, used for any number of runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from endstop.errors import InvalidValueError
from endstop.kernel.agent import AgentConfig
from endstop.kernel.bounds import UpperBound, require_bounded, upper_bound
from endstop.kernel.decision import DEFAULT_POLICY
from endstop.kernel.detectors import Detector
from endstop.kernel.escalation import Escalation
from endstop.kernel.limits import LimitKind, fraction, whole, words
from endstop.kernel.review import Review, ReviewDecision
from endstop.loop.toolbox import Toolbox
from endstop.ports import Model, Tool

if TYPE_CHECKING:
    from endstop.events.facts import Note
    from endstop.kernel.budget import Budget
    from endstop.kernel.outcome import Ending, StopReason
    from endstop.loop.conducting import Stage
    from endstop.loop.turns import Turns

DEFAULT_MAX_OUTPUT_TOKENS = 4_096
AWAIT_USER = "await_user"
"""The tool by which an agent tells the user where it stands, and waits (D7)."""

_MOST_SECONDS = 86_400.0
_DEFAULT_CONFIG = AgentConfig()

Reviewer = Callable[[Review], Awaitable[ReviewDecision]]
"""Decides a review in place of a person. Not trusted: what it answers is checked, and capped."""

Steering: TypeAlias = "Callable[[Turns], Awaitable[None]]"
"""Takes turns in its own way, in place of the tool loop, and returns when it has nothing more to do. If the
agent is not done by then, and the governor has nothing against it, it is called again."""


class Conducting(Protocol):
    """Takes a run through several parts, each an agent of its own, in place of the tool loop."""

    def opening(self, run_id: str, budget: Budget) -> Iterable[Note]:
        """What its record begins with, right after ``run.started``. Raises if it cannot begin."""
        ...

    async def conduct(self, stage: Stage) -> Ending:
        """From the beginning, each time: after a crash or a pause, too. The stage remembers what was done."""
        ...

    async def conclude(self, stage: Stage, reason: StopReason) -> Ending:
        """Save the work of a run that has to stop, and say how it ends."""
        ...


class OnLimit(StrEnum):
    """What happens when a limit or a finding would end the run."""

    FINISH = "finish"
    """It ends, with everything gathered kept."""
    REVIEW = "review"
    """It is paused, and somebody may grant more (D3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a model call is tried that failed in a way that may pass (D11)."""

    attempts: int = 4
    """In all, the first one included."""
    first_wait_s: float = 0.5
    factor: float = 2.0
    longest_wait_s: float = 20.0

    def __post_init__(self) -> None:
        whole("attempts", self.attempts, smallest=1, largest=20)
        fraction("first_wait_s", self.first_wait_s, largest=_MOST_SECONDS)
        fraction("factor", self.factor, largest=100)
        fraction("longest_wait_s", self.longest_wait_s, largest=_MOST_SECONDS)

    def wait_s(self, failures: int, asked_s: float | None) -> float:
        """How long to wait after so many failures; what the provider asked for comes first."""
        own = min(self.first_wait_s * self.factor ** (failures - 1), self.longest_wait_s)
        return own if asked_s is None else min(max(asked_s, 0.0), self.longest_wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What the loop runs. Without a terminal tool it ends when the model answers and calls no tool."""

    model: Model
    name: str = "agent"
    system: str = ""
    tools: tuple[Tool, ...] = ()
    terminal: Tool | None = None
    """The one tool that ends the loop with a typed result. With it, prose alone is no answer (D1)."""
    config: AgentConfig = _DEFAULT_CONFIG
    policy: str = DEFAULT_POLICY
    detectors: tuple[Detector, ...] | None = None
    on_limit: OnLimit = OnLimit.FINISH
    reviewer: Reviewer | None = None
    """Asked in place of a person when the run comes under review."""
    escalation: Escalation | None = None
    """A hard limit on its iterations: a limit on turns that leads to a review (D2, D3)."""
    awaits_user: bool = False
    """It has the tool ``await_user``, and must use it before a hard limit (D7)."""
    steering: Steering | None = None
    """What drives it, where that is not the tool loop: a tree."""
    conducting: Conducting | None = None
    """What takes it through its parts, where it has several: a pipeline."""
    retries: Retries = Retries()
    max_output_tokens: int = DEFAULT_MAX_OUTPUT_TOKENS
    stall_s: float = 60.0
    """A reply from which nothing comes for so long has broken off."""
    tool_timeout_s: float = 60.0
    """For tools that declare none of their own."""
    max_result_chars: int = 50_000

    toolbox: Toolbox = field(init=False, repr=False, compare=False)
    """Its tools and its terminal tool: looked through once, for all its runs."""

    def __post_init__(self) -> None:
        words("name", self.name)
        whole("max_output_tokens", self.max_output_tokens, smallest=1, largest=10**7)
        whole("max_result_chars", self.max_result_chars, smallest=100, largest=10**7)
        for name in ("stall_s", "tool_timeout_s"):
            _positive_seconds(name, getattr(self, name))
        if not isinstance(self.model, Model):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
            raise InvalidValueError(
                "model", self.model, allowed="a Model", to_do='Make one by name: make_model("extractive")'
            )
        object.__setattr__(self, "tools", _several(self.tools))
        object.__setattr__(self, "on_limit", _on_limit(self.on_limit))
        object.__setattr__(self, "toolbox", _toolbox(self))
        object.__setattr__(self, "config", _config(self))
        require_bounded(self.config.budget)

    @property
    def own_parts(self) -> tuple[str, ...]:
        """What in it is somebody's own code: a record cannot keep that, so nobody else can make it anew."""
        parts = {
            "tools": bool(self.tools),
            "terminal": self.terminal is not None,
            "detectors": self.detectors is not None,
            "reviewer": self.reviewer is not None,
            "escalation": self.escalation is not None,
            "awaits_user": self.awaits_user,
            "steering": self.steering is not None,
            "conducting": self.conducting is not None,
        }
        return tuple(name for name, is_there in parts.items() if is_there)

    @property
    def upper_bound(self) -> UpperBound:
        """What a run of this agent can use at most, without grants."""
        return upper_bound(self.config.budget, calls_per_turn=self.retries.attempts)


def _config(agent: Agent) -> AgentConfig:
    """The configuration with what the agent's parts imply: its terminal tool, its hard limit."""
    config = agent.config
    if agent.terminal is not None:
        config = replace(config, must_use_tools=True, terminal_tool=agent.terminal.spec.name)
    escalation = agent.escalation
    if escalation is None:
        return config
    turns = min(config.budget.turns or escalation.hard, escalation.hard)
    warn_at = dict(config.budget.warn_at)
    if escalation.soft is not None and turns == escalation.hard:
        warn_at[LimitKind.TURNS] = min((escalation.soft + 0.5) / turns, 1.0)
    return replace(config, budget=replace(config.budget, turns=turns, warn_at=warn_at))


def _several(tools: object) -> tuple[Tool, ...]:
    if isinstance(tools, Tool) or not isinstance(tools, Iterable):
        raise InvalidValueError("tools", tools, allowed="several tools, such as [search]")
    return tuple(cast("Iterable[Tool]", tools))


def _on_limit(value: object) -> OnLimit:
    try:
        return OnLimit(cast("str", value))
    except ValueError:
        raise InvalidValueError("on_limit", value, allowed=" or ".join(OnLimit)) from None


def _toolbox(agent: Agent) -> Toolbox:
    toolbox = Toolbox((*agent.tools, *(() if agent.terminal is None else (agent.terminal,))))
    if agent.awaits_user and AWAIT_USER in toolbox:
        raise InvalidValueError(
            "name of a tool",
            AWAIT_USER,
            allowed="each name once: an agent that awaits the user has this tool already",
            to_do="Rename your tool, or leave out awaits_user",
        )
    return toolbox


def _positive_seconds(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST_SECONDS:
        raise InvalidValueError(field, value, allowed=f"seconds above 0, up to {_MOST_SECONDS:,.0f}")
