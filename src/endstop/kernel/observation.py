"""What the kernel is told. Every observation says when it was made on the run's clock, and in which scope.

The run's clock starts at zero and counts seconds. It stands still while no process works on the run, so
it survives a crash and a resume; time spent waiting for a person is told by ``RunPaused`` and
``RunResumed`` and is not charged. The observations that are made in every turn are ``quick``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from endstop.kernel.amounts import NOTHING, Amounts, sound
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.canonical import canonical_arguments, canonical_text, key_of
from endstop.kernel.evolve import maker, quick
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that happened, at a time on the run's clock, in the run itself or in one of its scopes."""

    at_s: float
    scope: str = ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeOpened(Observation):
    """A scope (sub-agent, phase, branch) was opened under ``parent`` with a budget carved from it."""

    parent: str = ROOT
    budget: Budget


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Observation):
    """A turn was begun: ``turn`` counts from 0, so it is the number of turns begun before."""

    turn: int
    closing: LimitKind | None = None
    """Set on the last turn: the limit that makes it the last. The model gets no tools and is told so."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CallReserved(Observation):
    """The worst case of a model call was set aside before it was made."""

    turn: int
    reservation: str
    amounts: Amounts
    closing: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettled(Observation):
    """What a model call really used. ``is_final`` gives the rest of the reservation back."""

    turn: int
    reservation: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None
    """None when nobody knows. Never zero for unknown."""
    model_calls: int = 1
    is_final: bool = True
    is_estimate: bool = False
    """The provider told no usage (a stream cut off, a crash): this is our own count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSettled(Observation):
    """What a sub-agent used that ran as a run of its own, by its own record. Entered in its scope, once."""

    reservation: str
    turns: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    known_cost_usd: Decimal = Decimal(0)
    unknown_cost_calls: int = 0
    """Calls of unknown price. What they cost is not in ``known_cost_usd``, not even as zero."""
    tool_calls: int = 0
    is_estimate: bool = False
    """Its record could not be waited for: this is the most it may have used."""

    @property
    def amounts(self) -> Amounts:
        """The entry it makes in the ledger. As ever, a call counts as one token at least."""
        return Amounts(
            turns=self.turns,
            model_calls=self.model_calls,
            tokens=max(self.input_tokens + self.output_tokens, self.model_calls),
            cost_usd=self.known_cost_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUnaffordable(Observation):
    """What is left of a limit does not pay for the next model call, not even for a closing one."""

    limit: LimitKind


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMeasured(Observation):
    """How large the context of the next model call is."""

    tokens: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantSaid(Observation):
    """The model's text of one reply, without its signals. Empty when it only called tools."""

    turn: int
    text: str
    is_cut_off: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRepeated(Observation):
    """A streaming reply said the same chunk of text over and over and was cut off."""

    turn: int
    chunk: str
    times: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class SignalGiven(Observation):
    """The model told how it stands, with an XML signal."""

    turn: int
    type: str
    confidence: float
    reason: str | None = None
    fields: Mapping[str, object] = field(default_factory=lambda: MappingProxyType(dict[str, object]()))


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Observation):
    """The model asked for a tool. Exactly one ``ToolFinished`` answers it."""

    turn: int
    call: str
    tool: str
    arguments: str
    """As canonical JSON text."""
    key: str
    """A fingerprint: equal for calls that mean the same."""
    is_cursor: bool = False
    """Repeating this tool is how it works (``next_page``): only identical results count as no progress."""
    written: str | None = None
    """As the model wrote it, where the canonical form does not say the same to the letter."""

    @property
    def exact_arguments(self) -> str:
        """What the model said, to the letter."""
        return self.arguments if self.written is None else self.written


class CallStatus(StrEnum):
    """How a tool call was answered."""

    EXECUTED = "executed"
    FAILED = "failed"
    """It did not do its job: an exception, bad arguments, an unknown tool."""
    TIMED_OUT = "timed_out"
    REFUSED = "refused"
    """Not run: no permission."""
    SKIPPED = "skipped"
    """Not run: over the calls per turn, or on the last turn. Not the tool's fault."""
    TRIPPED = "tripped"
    """Not run: it failed the same way too often (B5)."""
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """It was under way when the process died. Nobody knows whether it had its effect."""

    __hash__ = str.__hash__  # an enum's own is a Python function, and these are looked up all the time


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(Observation):
    """The one result of a tool call."""

    turn: int
    call: str
    tool: str
    key: str
    status: CallStatus = CallStatus.EXECUTED
    result: str = ""
    """What the model is given: the result, or the error in words."""
    is_waiting: bool = False
    """The tool says that it is still waiting for a long process (B9)."""
    changes_something: bool = False
    is_cursor: bool = False

    @property
    def is_error(self) -> bool:
        """The tool failed to do its job. A command that ran and exited non-zero did not."""
        return self.status in _ERRORS


_ERRORS = frozenset({CallStatus.FAILED, CallStatus.TIMED_OUT, CallStatus.REFUSED})


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Observation):
    """A turn is over: its model call settled, its tool calls answered."""

    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationEnded(Observation):
    """One round of iterating work (test, review, simplify) is over, and this is how the work stands (B7)."""

    iteration: int
    issues: tuple[str, ...] = ()
    failing_tests: int = 0
    lines_of_code: int | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSaid(Observation):
    """The user wrote a message. What repeats is counted anew from here."""

    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFinished(Observation):
    """The model finished by itself: a reply without tool calls, or its terminal tool."""

    answer: str = ""
    caveat: str = ""
    """What the agent itself says is wanting in its answer: the run is completed with this as a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested(Observation):
    """Somebody wants the run to end: at once, or after the turn under way."""

    by: str
    after_turn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused(Observation):
    """The run waits for a person. The clock of its time limit stands still."""

    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(Observation):
    """The run goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetGranted(Observation):
    """More budget, with who gave it and why."""

    grant: Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeEnded(Observation):
    """A scope is over; what it did not use has flowed back."""

    outcome: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Observation):
    """The one ending of a run."""

    outcome: Ending


_tool_called = maker(ToolCalled)


def tool_called(
    *,
    at_s: float,
    turn: int,
    call: str,
    tool: str,
    arguments: object,
    scope: str = ROOT,
    is_cursor: bool = False,
) -> ToolCalled:
    """A ``ToolCalled`` from arguments of any kind: a mapping, JSON text, broken text."""
    written: str | None = None
    if isinstance(arguments, str):
        canonical, is_faithful = canonical_text(arguments)
        written = None if is_faithful else arguments
    else:
        canonical = canonical_arguments(arguments)
    return _tool_called(
        at_s=at_s,
        scope=scope,
        turn=turn,
        call=call,
        tool=tool,
        arguments=canonical,
        key=key_of(tool, canonical),
        is_cursor=is_cursor,
        written=written,
    )


def used_amounts(settled: CallSettled, cost_usd: Decimal, *, are_checked: bool = False) -> Amounts:
    """The entry a settled call makes in the ledger; figures that were checked are not checked again.

    A call counts as one token at least, whatever its report says: so a token limit ends every run.
    """
    tokens = max(settled.input_tokens + settled.output_tokens, settled.model_calls)
    if not tokens and not cost_usd:
        return NOTHING
    make = sound if are_checked else Amounts
    return make(model_calls=settled.model_calls, tokens=tokens, cost_usd=cost_usd)
