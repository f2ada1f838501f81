"""Sub-agents that run as runs of their own, on whichever machine has room for them (A7).

All that one may use is carved from what is left here and reserved in its scope before it is handed out, so
no counter is shared. It is settled once it has ended, at what its own record says it used. Whatever happens
to whoever waits for it, the reservation stands until then: the record says which run it is for, so whoever
goes on with this run finds it, and either waits for it again or has it ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from endstop.errors import EndstopError, NotEnoughLeftError, RunStateError
from endstop.events.facts import ChildHandedOut
from endstop.kernel.amounts import SPENT_KINDS, Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import CHILD_HOLD
from endstop.kernel.limits import LIMIT_FACTS, LimitKind
from endstop.kernel.observation import CallReserved, ChildSettled, ScopeOpened, UserSaid
from endstop.kernel.outcome import Ending, StopReason, StopRule
from endstop.loop.agent import Agent
from endstop.loop.elsewhere import Child, Elsewhere, Report, handed_out
from endstop.loop.journal import Journal, smallest_limit

CALL_BACK_S = 1.0
"""How long a run that is to end waits for its sub-agents elsewhere to end before it."""

FREED_S = 30.0
"""How long one that can go on only with what they hold waits for that."""

_LATE_S = 0.25
"""The same for one that has no time left."""

_MOST_CANCELS = 5
_CANCELLED_S = 0.1
"""Some drivers of databases lose a cancellation, so one is not enough."""

_T = TypeVar("_T")

_CEILINGS = (LimitKind.TOOL_CALLS_PER_TURN, LimitKind.PARALLEL_TOOLS, LimitKind.CONTEXT_TOKENS)


class Delegating:
    """Hands out the sub-agents of one run or scope, and settles them."""

    def __init__(
        self,
        journal: Journal,
        elsewhere: Elsewhere | None,
        *,
        scope: str,
        is_to_leave: Callable[[], bool],
        takes_on: bool = True,
    ) -> None:
        """``takes_on``: those that an earlier process left behind, here and in scopes below, are ours."""
        self._journal = journal
        self._elsewhere = elsewhere
        self._scope = scope
        self._is_to_leave = is_to_leave
        self._open = self._below() if takes_on and elsewhere is not None else {}
        self._waited: dict[str, asyncio.Task[Report]] = {}
        """Those that a tool waits for."""
        self._recalls: dict[str, asyncio.Task[None]] = {}
        """Those that are to end."""
        self._tasks: set[asyncio.Task[Any]] = set()
        """All of these that have not come to an end."""
        self._is_closed = False

    def takes(self, agent: Agent, question: str) -> bool:
        return self._elsewhere is not None and self._elsewhere.takes(agent, question)

    def holds(self, scope: str) -> bool:
        """Whether a scope is that of a sub-agent elsewhere, or has one below it."""
        ledger = self._journal.recorder.state.ledger
        waiting = [name for name, account in ledger.accounts.items() if CHILD_HOLD in account.holds]
        return any(scope in (account.id for account in ledger.lineage(name)) for name in waiting)

    async def run(self, agent: Agent, question: str, *, scope: str, budget: Budget) -> Ending:
        """Run a sub-agent elsewhere to its end. One that was left behind with this task is gone on with."""
        elsewhere = self._elsewhere
        assert elsewhere is not None, "it was asked whether it takes this one"
        child = self._left_behind(agent.name, question)
        if child is None:
            child = self._opened(agent.name, question, scope, budget)
            await self._handed_out(elsewhere, child, agent)
        waiting = self._waited[child.scope] = self._begun(elsewhere.ended(child))
        try:
            await asyncio.wait((waiting,))  # whoever is cancelled here need not wait for it to take that
            report = waiting.result()
        except BaseException as error:
            waiting.cancel()
            self._leave(child)
            if isinstance(error, asyncio.CancelledError) and not _is_cancelled():
                raise RunStateError(f"The run that {child.run_id} works for has ended first") from None
            raise
        finally:
            del self._waited[child.scope]
        self._settle(child, report)
        return report.ending

    def take_on(self, below: Delegating) -> bool:
        """Take on what a sub-agent of ours had handed out when it was cut short. Whether there was any."""
        left = {scope: child for scope, child in below._open.items() if self._journal.is_open(scope)}
        self._open.update(left)
        for child in left.values():
            self._leave(child)
        return bool(left)

    def recall_left_behind(self) -> None:
        """Have those end that nobody has come back for."""
        for scope, child in self._open.items():
            if scope not in self._waited:
                self._recall(child)

    @property
    def has_left_behind(self) -> bool:
        """Whether something is held for those that nobody waits for."""
        return bool(self._open) and any(scope not in self._waited for scope in self._open)

    async def freed(self) -> None:
        """Have those end that nobody waits for, and wait until what they did not use has flowed back."""
        self.recall_left_behind()
        await asyncio.wait(self._recalls.values(), timeout=FREED_S)

    async def call_back(self) -> None:
        """Have all end, and give them a moment, so that they are settled at what they really used. After
        that, they are settled at all that they may use."""
        if not self._open:
            return
        for child in self._open.values():
            self._recall(child)
        left = self._journal.seconds_left(self._scope, closing=True)
        moment_s = CALL_BACK_S if left is None else min(CALL_BACK_S, max(left, _LATE_S))
        await asyncio.wait(self._recalls.values(), timeout=moment_s)

    async def close(self) -> None:
        """Whoever drives this is done: nothing is waited for any more."""
        self._is_closed = True
        for _ in range(_MOST_CANCELS):
            if not self._tasks:
                return
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=_CANCELLED_S)

    # ── within ────────────────────────────────────────────────────────────────────────────────────────────

    def _below(self) -> dict[str, Child]:
        recorder = self._journal.recorder
        lineage = recorder.state.ledger.lineage
        return {
            name: child
            for name, child in handed_out(recorder).items()
            if self._scope in (account.id for account in lineage(name))
        }

    def _left_behind(self, agent: str, question: str) -> Child | None:
        for scope, child in self._open.items():
            is_free = scope not in self._waited and scope not in self._recalls
            is_same = (child.agent, child.question) == (agent, question)
            if is_free and is_same and self._parent_of(scope) == self._scope:
                return child
        return None

    def _opened(self, agent: str, question: str, scope: str, budget: Budget) -> Child:
        """Carve its budget, and reserve all of it. One append: a record has all of this, or nothing."""
        journal, started = self._journal, self._journal.recorder.started
        count = sum(isinstance(fact.payload, ChildHandedOut) for fact in journal.recorder.facts)
        child = Child(
            run_id=f"{journal.run_id}.{count + 1}",
            parent=journal.run_id,
            scope=scope,
            agent=agent,
            question=question,
            user=started.user,
            project=started.project,
        )
        now_s = journal.now_s
        journal.enter(ScopeOpened(at_s=now_s, scope=scope, parent=self._scope, budget=self._bounded(budget)))
        journal.note(ChildHandedOut(scope=scope, run_id=child.run_id, agent=agent))
        carved = self._carved(scope)
        amounts = Amounts(
            turns=carved.turns or 0,
            model_calls=carved.model_calls or 0,
            tokens=carved.tokens or 0,
            cost_usd=carved.cost_usd or Decimal(0),
        )
        journal.enter(
            CallReserved(
                at_s=now_s, scope=scope, turn=0, reservation=CHILD_HOLD, amounts=amounts, closing=True
            )
        )
        journal.enter(UserSaid(at_s=now_s, scope=scope, text=question))
        self._open[scope] = child
        return child

    async def _handed_out(self, elsewhere: Elsewhere, child: Child, agent: Agent) -> None:
        """On record before it happens. It is held to what was carved, and nobody can grant it more: that
        would be more than is reserved for it here."""
        budget = replace(self._carved(child.scope), grant_cap=0.0)
        bound = replace(agent, config=replace(agent.config, budget=budget))
        await self._journal.flush()
        try:
            await elsewhere.start(child, bound)
        except BaseException:
            self._leave(child)
            raise

    def _bounded(self, budget: Budget) -> Budget:
        """A budget with every limit that holds above: what has no limit of its own there could not be
        drawn from its ancestors, for they are elsewhere."""
        journal, ledger = self._journal, self._journal.recorder.state.ledger
        limits: dict[str, Any] = {}
        for kind in SPENT_KINDS:
            if budget.maximum(kind) is None:
                left = ledger.left(self._scope, kind)
                if left is not None and left < LIMIT_FACTS[kind].smallest:
                    raise self._too_little(kind)
                limits[kind.value] = left
        for kind in _CEILINGS:
            own, above = budget.maximum(kind), smallest_limit(journal, self._scope, kind)
            limits[kind.value] = above if own is None else own if above is None else min(int(own), above)
        seconds = journal.seconds_left(self._scope, closing=False)
        if seconds is not None:
            if seconds < LIMIT_FACTS[LimitKind.SECONDS].smallest:
                raise self._too_little(LimitKind.SECONDS)
            limits["seconds"] = seconds if budget.seconds is None else min(budget.seconds, seconds)
        return replace(budget, **{name: limit for name, limit in limits.items() if limit is not None})

    def _too_little(self, kind: LimitKind) -> NotEnoughLeftError:
        return NotEnoughLeftError(
            f"{self._scope!r} has no {kind.value} left to give to a sub-agent elsewhere",
            allowed="a part of what is left, beyond what is held back for the closing turn",
            to_do="Give each of several sub-agents a limit of its own, or finish the run",
        )

    def _carved(self, scope: str) -> Budget:
        return self._journal.recorder.state.ledger.account(scope).budget

    def _parent_of(self, scope: str) -> str | None:
        return self._journal.recorder.state.ledger.account(scope).parent

    def _leave(self, child: Child) -> None:
        """Nobody waits for it any more. If this process only is to end, the next may come back for it."""
        if not self._is_closed and not self._is_to_leave():
            self._recall(child)

    def _recall(self, child: Child) -> None:
        if child.scope not in self._recalls:
            self._recalls[child.scope] = self._begun(self._recalled(child))

    def _begun(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Look at what it raised, so that nobody is told of it as never looked at."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def _recalled(self, child: Child) -> None:
        assert self._elsewhere is not None, "it was handed out"
        try:
            report = await self._elsewhere.recall(child)
        except EndstopError:
            return  # it stays reserved, and is settled at that when what is above it ends
        finally:
            del self._recalls[child.scope]
        self._settle(child, report)

    def _settle(self, child: Child, report: Report) -> None:
        """Enter what it used and how it ended, once; if its scope was closed first, all of it counted."""
        if self._open.pop(child.scope, None) is None or not self._journal.is_open(child.scope):
            return
        journal, usage, above = self._journal, report.usage, self._parent_of(child.scope)
        journal.enter(
            ChildSettled(
                at_s=journal.now_s,
                scope=child.scope,
                reservation=CHILD_HOLD,
                turns=usage.turns,
                model_calls=usage.model_calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                known_cost_usd=usage.known_cost_usd,
                unknown_cost_calls=usage.unknown_cost_calls,
                tool_calls=usage.tool_calls,
            )
        )
        journal.end_with(report.ending, scope=child.scope)
        self._end_above(above)

    def _end_above(self, scope: str | None) -> None:
        """End the scopes between here and a sub-agent that was left behind: they waited for it alone."""
        reason = StopReason(rule=StopRule.PARENT, message="What it worked for was cut short.")
        while scope is not None and scope != self._scope:
            if self._journal.recorder.state.ledger.children(scope):
                return
            above = self._parent_of(scope)
            self._journal.end(reason, scope=scope)
            scope = above


def _is_cancelled() -> bool:
    """Whether whoever waits here was cancelled, and not only what they wait for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
