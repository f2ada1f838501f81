"""One realistic payload of every kind, by a name that begins with its dotted type."""

from __future__ import annotations

from decimal import Decimal

from coding_examples import CODING

from endstop.events.facts import (
    ChildHandedOut,
    EscalationReached,
    HintGiven,
    ModelFailed,
    ModelTold,
    Payload,
    ReviewDecided,
    ReviewRequested,
    RunDelegated,
    RunStarted,
    RunTaken,
    SignalRejected,
    SourceCited,
    Thought,
    UsageDisputed,
    UserAwaited,
)
from endstop.events.steered import (
    CapabilityMissing,
    FallbackChosen,
    PromptSet,
    QueryClassified,
    TreeChosen,
    TreeTraced,
)
from endstop.kernel import conditions
from endstop.kernel import observation as seen
from endstop.kernel import verdict as noticed
from endstop.kernel.agent import AgentConfig
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget, Grant, UnknownPrice
from endstop.kernel.conditions import AnyOf
from endstop.kernel.finding import Evidence, Finding, Pattern, Response
from endstop.kernel.frozen import frozen_json
from endstop.kernel.limits import LimitKind
from endstop.kernel.outcome import (
    Abandoned,
    Cancelled,
    Completed,
    Failed,
    Forced,
    Stopped,
    StopReason,
    StopRule,
)
from endstop.kernel.review import Approved, NeedsChanges, Rejected, Review
from endstop.kernel.thresholds import Thresholds

LOOP = Finding(
    pattern=Pattern.IDENTICAL_CALL,
    message="search was called 3 times in a row with the same arguments (turns 1 to 3).",
    advice="Use the result that is already there.",
    times=3,
    evidence=(
        Evidence(turn=0, call="1.1", what='search({"q":"login"})'),
        Evidence(turn=1, what='search({"q":"login"})'),
    ),
)
ERRORS = Finding(pattern=Pattern.ERROR_STREAK, message="3 errors in a row.", advice="Read them.", times=3)
FAILING = Finding(pattern=Pattern.FAILING_CALL, message="fetch fails.", advice="Try another way.", times=3)

OUT_OF_MONEY = StopReason(
    rule=StopRule.COST,
    message="Cost limit reached ($0.51/$0.50).",
    limit=LimitKind.COST_USD,
    current=Decimal("0.5100000001"),
    maximum=Decimal("0.50"),
)
OUT_OF_TIME = StopReason(
    rule=StopRule.TIME,
    message="Time limit reached (61 s/60 s).",
    limit=LimitKind.SECONDS,
    current=60.75,
    maximum=60.0,
)
OUT_OF_TURNS = StopReason(
    rule=StopRule.TURNS,
    message="Iteration limit reached (10/10).",
    limit=LimitKind.TURNS,
    current=10,
    maximum=10,
)
STUCK = StopReason(rule=StopRule.NO_PROGRESS, message=LOOP.message, finding=LOOP, asks=True)

EVERY_CONDITION = (
    conditions.turns(30) & conditions.tokens(200_000) & conditions.cost_usd("0.000001")
) | AnyOf(conditions=(conditions.seconds(1.5), conditions.idle(60), conditions.no_progress(3)))

FULL_CONFIG = AgentConfig(
    budget=Budget(
        turns=30,
        tokens=200_000,
        cost_usd="0.50",
        seconds=120.5,
        model_calls=40,
        tool_calls_per_turn=10,
        parallel_tools=3,
        context_tokens=100_000,
        warn_at={"turns": 0.5, "tokens": None},
        finish_reserve=0.1,
        grant_cap=2.0,
        unknown_price=UnknownPrice.WARN,
    ),
    thresholds=Thresholds(identical_calls=4, tool_reminders=0),
    responses={Pattern.CYCLE: Response.ASK, Pattern.SILENT: Response.GO_ON},
    must_use_tools=True,
    stop=EVERY_CONDITION,
)

GRANT = Grant(
    turns=5, model_calls=6, tokens=7_000, cost_usd="0.10", seconds=30.5, by="ana", why="nearly there"
)


def warned(kind: LimitKind, current: float | Decimal, maximum: float | Decimal) -> noticed.LimitWarned:
    return noticed.LimitWarned(
        limit_type=kind,
        current_value=current,
        limit_value=maximum,
        percentage=70.0,
        remaining=maximum.__class__(3),
        turn=7,
        max_turns=10,
        message="Approaching it. Consider wrapping up your response.",
    )


def exceeded(kind: LimitKind, current: float | Decimal, maximum: float | Decimal) -> noticed.LimitExceeded:
    return noticed.LimitExceeded(
        limit_type=kind,
        current_value=current,
        limit_value=maximum,
        percentage=100.0,
        remaining=0,
        turn=10,
        max_turns=None,
        message="Limit reached.",
        forced=True,
    )


EXAMPLES: dict[str, Payload] = {
    "run.started": RunStarted(config=AgentConfig()),
    "run.started in full": RunStarted(
        config=FULL_CONFIG,
        policy="cautious",
        user="ana",
        project="shop",
        question="Wo ist „login“? 🔑",
        detectors=("TenthCall", "Mine"),
    ),
    "run.paused": seen.RunPaused(at_s=3.25, why="asking the user"),
    "run.resumed": seen.RunResumed(at_s=4.0),
    "run.cancel_requested": seen.CancelRequested(at_s=5.0, by="ana", after_turn=True),
    "run.ended completed": seen.RunEnded(at_s=9.0, outcome=Completed(answer="It is in auth.py.")),
    "run.ended with a warning": seen.RunEnded(
        at_s=9.0, outcome=Completed(answer="It is there.", warnings=("Completed on the last turn.",))
    ),
    "run.ended forced": seen.RunEnded(at_s=9.0, outcome=Forced(answer="So far.", reason=OUT_OF_MONEY)),
    "run.ended forced by a finding": seen.RunEnded(at_s=9.0, outcome=Forced(answer="So far.", reason=STUCK)),
    "run.ended stopped": seen.RunEnded(at_s=9.0, outcome=Stopped(reason=OUT_OF_TIME)),
    "run.ended abandoned": seen.RunEnded(
        at_s=9.0,
        outcome=Abandoned(
            reason="Intent too ambiguous",
            suggestion="Rephrase your request more specifically",
            next_steps=("name the file",),
            tried=("three readings",),
            checkpoint="commit 56c6",
        ),
    ),
    "run.ended cancelled": seen.RunEnded(at_s=9.0, outcome=Cancelled(by="ana", answer="So far.")),
    "run.ended failed": seen.RunEnded(at_s=9.0, outcome=Failed(code="policy_error", message="It raised.")),
    "scope.opened": seen.ScopeOpened(at_s=1.0, scope="reader", parent="writer", budget=Budget(turns=3)),
    "scope.ended": seen.ScopeEnded(at_s=2.0, scope="reader", outcome=Completed(answer="")),
    "scope.ended stopped": seen.ScopeEnded(at_s=2.0, scope="reader", outcome=Stopped(reason=OUT_OF_TURNS)),
    "scope.ended failed": seen.ScopeEnded(
        at_s=2.0, scope="reader", outcome=Failed(code="exception", message="KeyError: 'x'")
    ),
    "turn.started": seen.TurnStarted(at_s=0.0, turn=0),
    "turn.started closing": seen.TurnStarted(at_s=0.0, turn=9, closing=LimitKind.TURNS),
    "turn.ended": seen.TurnEnded(at_s=1.0, turn=0),
    "budget.reserved": seen.CallReserved(
        at_s=0.5,
        turn=0,
        reservation="call:0.0",
        amounts=Amounts(turns=0, model_calls=1, tokens=4_000, cost_usd=Decimal("0.0123456789")),
        closing=True,
    ),
    "budget.settled": seen.CallSettled(
        at_s=0.75,
        turn=0,
        reservation="call:0.0",
        input_tokens=1_500,
        output_tokens=250,
        cost_usd=Decimal("0.001234567890123456789012345678"),
        is_final=False,
    ),
    "budget.settled, cost unknown": seen.CallSettled(
        at_s=0.75, scope="reader", turn=0, reservation="call:0.0", model_calls=2, is_estimate=True
    ),
    "budget.granted": seen.BudgetGranted(at_s=2.0, grant=GRANT),
    "budget.overrun": noticed.Overrun(turn=1, amounts=Amounts(tokens=500), message="More was used."),
    "budget.price_unknown": noticed.PriceUnknown(turn=1, message="The price of a call is unknown."),
    "budget.iteration.warning": warned(LimitKind.TURNS, 7, 10),
    "budget.token.warning": warned(LimitKind.TOKENS, 160_000, 200_000),
    "budget.cost.warning": warned(LimitKind.COST_USD, Decimal("0.4000000000001"), Decimal("0.5")),
    "budget.time.warning": warned(LimitKind.SECONDS, 42.125, 60.0),
    "budget.model_call.warning": warned(LimitKind.MODEL_CALLS, 7, 10),
    "budget.context.warning": warned(LimitKind.CONTEXT_TOKENS, 70_000, 100_000),
    "budget.iteration.exceeded": exceeded(LimitKind.TURNS, 10, 10),
    "budget.token.exceeded": exceeded(LimitKind.TOKENS, 200_001, 200_000),
    "budget.cost.exceeded": exceeded(LimitKind.COST_USD, Decimal("0.51"), Decimal("0.5")),
    "budget.time.exceeded": exceeded(LimitKind.SECONDS, 60.25, 60.0),
    "budget.model_call.exceeded": exceeded(LimitKind.MODEL_CALLS, 10, 10),
    "budget.context.exceeded": exceeded(LimitKind.CONTEXT_TOKENS, 120_000, 100_000),
    "context.measured": seen.ContextMeasured(at_s=1.0, tokens=12_345),
    "assistant.said": seen.AssistantSaid(at_s=1.0, turn=0, text="Ligne 1\nZeile 2\t🙂", is_cut_off=True),
    "assistant.repeated": seen.ReplyRepeated(at_s=1.0, turn=0, chunk="and so on ", times=10),
    "assistant.thought": Thought(turn=0, text="Hmm."),
    "assistant.cited": SourceCited(title="Auth", location="auth.py:12", passage="def login():"),
    "signal.parsed": seen.SignalGiven(
        at_s=1.0,
        turn=0,
        type="stuck",
        confidence=0.85,
        reason="no access",
        fields=frozen_json(
            "fields", {"attempted": ["grep", 1, 0.5, None, True], "blocker": {"is": "a lock"}}
        ),
    ),
    "budget.unaffordable": seen.CallUnaffordable(at_s=5.0, limit=LimitKind.TOKENS),
    "run.taken": RunTaken(owner="aabbccdd/4711/00112233"),
    "run.delegated": RunDelegated(parent="run_56c6", parent_scope="run/reader-1"),
    "child.handed_out": ChildHandedOut(scope="run/reader-1", run_id="run_56c6.1", agent="reader"),
    "child.settled": seen.ChildSettled(
        at_s=7.0,
        scope="run/reader-1",
        reservation="child",
        turns=3,
        model_calls=4,
        input_tokens=900,
        output_tokens=120,
        known_cost_usd=Decimal("0.0021"),
        unknown_cost_calls=1,
        tool_calls=2,
    ),
    "model.told": ModelTold(turn=2, text="Go on."),
    "model.failed": ModelFailed(
        turn=2, attempt=1, code="model_overloaded", message="Too busy (429).", retry_in_s=0.5
    ),
    "model.failed, for good": ModelFailed(turn=2, attempt=4, code="model_access", message="Wrong key."),
    "usage.disputed": UsageDisputed(turn=3, reported_tokens=10**9, counted_tokens=420),
    "user.awaited": UserAwaited(turn=4, question="Which of the two?"),
    "escalation.reached": EscalationReached(key="coding_56c6", limit=8, iteration=8, is_hard=True),
    "escalation.reached, its handler failing": EscalationReached(
        key="coding_56c6", limit=5, iteration=5, failure="no mail server"
    ),
    "signal.rejected": SignalRejected(turn=0, text='<signal type="no"/>', problem="no such type"),
    "tool.called": seen.ToolCalled(
        at_s=1.0, turn=0, call="1.1", tool="search", arguments='{"q":"login"}', key="5f2c", is_cursor=True
    ),
    "tool.finished": seen.ToolFinished(
        at_s=1.5,
        turn=0,
        call="1.1",
        tool="search",
        key="5f2c",
        result="found",
        is_waiting=True,
        changes_something=True,
        is_cursor=True,
    ),
    "tool.finished failed": seen.ToolFinished(
        at_s=1.5, turn=0, call="1.1", tool="search", key="5f2c", status=seen.CallStatus.FAILED, result="no"
    ),
    "tool.tripped": noticed.FindingReported(finding=FAILING, response=Response.NUDGE, turn=2),
    "agent.loop.detected": noticed.FindingReported(finding=LOOP, response=Response.STOP, turn=2),
    "agent.errors.detected": noticed.FindingReported(finding=ERRORS, response=Response.ASK, turn=2),
    "agent.finished": seen.AgentFinished(at_s=8.0, answer="It is in auth.py."),
    "agent.finished, with a caveat": seen.AgentFinished(
        at_s=8.0, answer="It is in auth.py.", caveat="The tests were not read."
    ),
    "hint.given": HintGiven(turn=7, text="Consider wrapping up your response."),
    "iteration.ended": seen.IterationEnded(
        at_s=7.0,
        iteration=2,
        issues=("E501", "F401"),
        failing_tests=2,
        lines_of_code=480,
        cost_usd=Decimal("1.230"),
    ),
    "user.said": seen.UserSaid(at_s=6.0, text="And the other one?"),
    "review.requested": ReviewRequested(
        review=Review(
            id="review:4",
            why="Maximum coding iterations (8) reached",
            doing="search({})",
            spent="8 turns",
            findings=(LOOP, ERRORS),
            changes_asked_in_a_row=3,
            warnings=("Changes were asked for 3 times in a row.",),
        )
    ),
    "review.decided approved": ReviewDecided(review_id="review:1", decision=Approved(grant=GRANT), by="ana"),
    "review.decided needs changes": ReviewDecided(
        review_id="review:2", decision=NeedsChanges(feedback="Look in auth.py.", grant=GRANT), by="ana"
    ),
    "review.decided rejected": ReviewDecided(
        scope="reader", review_id="review:3", decision=Rejected(by="ana", why="enough"), by="ana"
    ),
    "tree.chosen": TreeChosen(tree="oracle-agent", hash="5f2c", spec='{"name":"oracle-agent"}'),
    "tree.traced": TreeTraced(turn=1, steps=("0 running", "3 success"), dropped=2, errors=("a/b: OSError",)),
    "query.classified": QueryClassified(query_type="code", confidence=0.8, why="it asks where something is"),
    "model.prompted": PromptSet(turn=0, system="You answer questions.", tools=("search_code", "read_file")),
    "capability.missing": CapabilityMissing(
        turn=2, capability="run_tests", reason="to see what fails", workaround="ask the user"
    ),
    "fallback.chosen": FallbackChosen(turn=2, action="force_response", why="no signal for 3 turns"),
    **CODING,
}
"""The first words of a name are the type; what comes after a space or a comma tells variants apart."""


def type_in(name: str) -> str:
    """The dotted type that an example's name begins with."""
    return name.split(" ")[0].rstrip(",")
