"""What a decision tree is shown: the configuration of a run, and how the run stands (F2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from endstop.errors import InvalidValueError
from endstop.kernel.budget import Budget
from endstop.kernel.conditions import Condition, require_known
from endstop.kernel.evolve import quick
from endstop.kernel.finding import DEFAULT_RESPONSES, Finding, Pattern, Response
from endstop.kernel.limits import LimitKind, Meter
from endstop.kernel.outcome import StopRule
from endstop.kernel.thresholds import DEFAULT_THRESHOLDS, Thresholds
from endstop.kernel.usage import NO_USAGE, Usage

RECENT_ACTIONS = 3

DEFAULT_BUDGET = Budget(turns=30, tokens=200_000, seconds=300, tool_calls_per_turn=10, parallel_tools=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """What a run is held to, and what is done about findings."""

    budget: Budget = DEFAULT_BUDGET
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    responses: Mapping[Pattern, Response] = field(
        default_factory=lambda: MappingProxyType(dict[Pattern, Response]())
    )
    """Where they differ from the defaults: stop for what is stuck, nudge for what may still be mended."""
    must_use_tools: bool = False
    """The agent has nothing to say but through its tools: prose alone is a finding (B4, B6)."""
    stop: Condition | None = None
    """A stop condition on top of the budget."""
    terminal_tool: str = ""
    """The tool that ends the run with its result, if it has one; on the last turn it is the only one."""

    def __post_init__(self) -> None:
        if not isinstance(self.responses, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(
                "responses", self.responses, allowed='a mapping, such as {"cycle": "ask"}'
            )
        try:
            responses = {Pattern(key): Response(value) for key, value in self.responses.items()}
        except ValueError as error:
            raise InvalidValueError(
                "responses",
                dict(self.responses),
                allowed=f"patterns ({', '.join(Pattern)}) with responses ({', '.join(Response)}): {error}",
            ) from None
        object.__setattr__(self, "responses", MappingProxyType(responses))
        if self.stop is not None:
            require_known(self.stop)

    def response(self, finding: Finding) -> Response:
        """What this configuration does about a finding."""
        return self.responses.get(finding.pattern, DEFAULT_RESPONSES[finding.pattern])


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """How a run or scope stands, as its decision tree sees it. A tree can keep it, not change it."""

    user: str | None = None
    project: str | None = None
    turn: int = 0
    """Turns already used."""
    usage: Usage = NO_USAGE
    start_time_s: float = 0.0
    now_s: float = 0.0
    idle_s: float = 0.0
    recent_actions: tuple[str, ...] = ()
    """The last three tool calls, oldest first."""
    stale_turns: int = 0
    """Turns in a row whose calls brought only what was known."""
    findings: tuple[Finding, ...] = ()
    """What the detectors found and nothing has cleared."""
    termination_reason: StopRule | None = None
    config: AgentConfig = AgentConfig()
    meters: tuple[Meter, ...] = ()
    """Every limit that binds here, grants included, in the order of A12."""
    is_in_turn: bool = False
    is_finished: bool = False
    """The model finished by itself."""
    is_cancelled: bool = False
    is_price_unknown: bool = False
    """A cost limit is set, calls of unknown price are refused, and there was one."""
    closing: LimitKind | None = None
    """The limit for which the closing turn is under way, or was taken."""
    extensions: Mapping[str, object] = field(default_factory=lambda: MappingProxyType(dict[str, object]()))
    """For modules of others. The kernel carries it along and never looks inside."""

    @property
    def tokens_used(self) -> int:
        return self.usage.tokens

    @property
    def elapsed_s(self) -> float:
        """How long it has run, without the time it waited for a person."""
        return self.usage.seconds

    @property
    def is_terminal(self) -> bool:
        return self.termination_reason is not None

    @property
    def percent(self) -> Mapping[str, float]:
        """How much of each limit is used, in percent: ``state.percent["turns"]``."""
        return {meter.kind: meter.percent for meter in self.meters}

    def meter(self, kind: LimitKind) -> Meter | None:
        return next((meter for meter in self.meters if meter.kind is kind), None)
