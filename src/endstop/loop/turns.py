"""The turns of one run or scope, a step at a time: begin, ask, answer, end. Whoever drives takes these steps.

The tool loop takes them in a row; a tree takes them as its leaves say. What must hold whoever drives holds
here: nothing begins that the governor does not allow, every call gets its result, and a step that is cut
short leaves what it had in the record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from decimal import Decimal

from endstop.events.facts import Fact
from endstop.events.steered import PromptSet
from endstop.kernel.agent import AgentState
from endstop.kernel.budget import Budget
from endstop.kernel.evolve import maker
from endstop.kernel.ledger import ROOT
from endstop.kernel.limits import LimitKind
from endstop.kernel.observation import (
    AgentFinished,
    BudgetGranted,
    CallStatus,
    CallUnaffordable,
    CancelRequested,
    ContextMeasured,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from endstop.kernel.outcome import Outcome
from endstop.kernel.terms import CallTerms
from endstop.kernel.verdict import LastTurn, Stop, Verdict
from endstop.kernel.wording import last_turn, sentence
from endstop.loop.agent import Agent
from endstop.loop.asking import Asking, Reply
from endstop.loop.awaiting import AwaitUser
from endstop.loop.bounded import Overseer
from endstop.loop.calls import Calls
from endstop.loop.history import History, messages_of
from endstop.loop.journal import Journal
from endstop.loop.shares import Share
from endstop.loop.standing import signal_state_of
from endstop.loop.toolbox import Toolbox
from endstop.ports import (
    Message,
    ModelUsage,
    RunChild,
    ToolMessage,
    ToolRequest,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from endstop.signals import SignalState, SignalType

GOES_ON_FROM = 0.5
"""A ``need_turn`` with less confidence does not ask for another turn (C6)."""

_SHORTER = "Your reply was cut off at its greatest length. Be shorter, and say it again as a whole."
_TRUNCATED_CALL = "Not run: your reply was cut off at its greatest length. Be shorter, and ask again."
_CUT_CALL = "Not run: the reply was cut off."
_HALTED = "Cancelled: it was halted, and may have had its effect."
_USE_TOOLS = "Use your tools: prose alone is no answer here."
_EMPTY = "Your reply was empty. Use a tool, or answer."
MOST_EMPTY = 2
MOST_PROSE = 2

_WORTH_A_LOOK = (ToolFinished, CancelRequested, BudgetGranted)

_turn_started = maker(TurnStarted)
_turn_ended = maker(TurnEnded)


class Turns:
    """The turns of one run or scope. At most one is under way."""

    def __init__(
        self,
        journal: Journal,
        agent: Agent,
        overseer: Overseer,
        *,
        scope: str = ROOT,
        before: Iterable[Message] = (),
        run_child: RunChild,
    ) -> None:
        """``before`` is what was said before the run began: the conversation it belongs to."""
        self.journal = journal
        self.agent = agent
        self.scope = scope
        self.before = tuple(before)
        self._run_child = run_child
        self.reply: Reply | None = None
        """The latest reply, once its call has come to an end."""
        self.results: tuple[ToolMessage, ...] = ()
        """What the tool calls of the latest reply gave."""
        self.result: object = None
        """What the terminal tool gave, once it has."""
        self.is_to_leave = False
        """Begin no further turn: the process is to end, and another will go on."""
        self.empty_replies = 0
        self.prose_replies = 0
        self.await_user = AwaitUser() if agent.awaits_user else None
        self.question_to_user: str | None = None
        """What the user is to be asked, if the driver was told to wait for that."""
        terminal = () if agent.terminal is None else (agent.terminal,)
        toolbox = agent.toolbox
        if self.await_user is not None:
            toolbox = Toolbox((*agent.tools, self.await_user, *terminal))
        self._all_tools = self._tools = toolbox.specs
        self._names = tuple(spec.name for spec in self._tools)
        self._closing_tools = Toolbox(terminal).specs
        self._system = agent.system
        self._history = History(agent.model, system=agent.system, tools=self._tools)
        self.read_history()
        is_steered = agent.steering is not None
        self._asking = Asking(journal, agent, self._history, overseer, scope, is_beside=is_steered)
        self._asking.most_output = self._most_output
        self._calls = Calls(journal, agent, toolbox, overseer, scope, run_child, is_beside=is_steered)
        self.signals = signal_state_of(journal.recorder.facts, scope) if is_steered else SignalState()
        """What the signals of all turns add up to. Kept for whoever steers; the governor counts by itself."""
        self._requests: tuple[ToolRequest, ...] = ()
        """What the reply asked for, until it is answered."""
        self._turn: int | None = None
        self._terms: CallTerms | None = None
        self._offers_tools = True
        self._shares: list[Share] = []
        self._steps_under_way = 0
        self._limits_context = any(
            account.budget.context_tokens is not None
            for account in journal.recorder.live.ledger.lineage(scope)
        )

    # ── how it stands ─────────────────────────────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        """What the governor says of another turn, now."""
        if self._limits_context and self._turn is None:
            measured = ContextMeasured(at_s=self.journal.now_s, scope=self.scope, tokens=self._history.tokens)
            self.journal.enter(measured)
        return self.journal.verdict(self.scope)

    def is_ordinary(self, verdict: Verdict) -> bool:
        """Whether another turn may be taken that is not the last, and what is left pays for it."""
        if isinstance(verdict, Stop | LastTurn):
            return False
        terms = self._asking.terms(None)
        return not isinstance(terms, LimitKind) and terms.closing is None

    @property
    def view(self) -> AgentState:
        """How the run stands, as its policy sees it."""
        recorder = self.journal.recorder
        return recorder.governor.view(recorder.live, self.scope)

    @property
    def taken(self) -> int:
        """How many turns were begun."""
        return self.journal.recorder.live.scopes[self.scope].turns_started

    @property
    def is_under_way(self) -> bool:
        return self._turn is not None

    @property
    def is_busy(self) -> bool:
        """Whether a step is under way that ends by itself: all of them are bounded."""
        return self._steps_under_way > 0

    @property
    def has_failed(self) -> bool:
        """Whether the latest turn went wrong for good: another is not begun."""
        if self.empty_replies >= MOST_EMPTY or self.prose_replies >= MOST_PROSE:
            return True
        reply = self.reply
        return reply is not None and (reply.failure is not None or reply.unaffordable is not None)

    @property
    def is_closing(self) -> bool:
        """Whether the turn under way is the last one, in which only an answer is asked for."""
        return self._terms is not None and self._terms.closing is not None

    @property
    def is_finished(self) -> bool:
        """Whether the agent is known to be done."""
        return self.journal.recorder.live.scopes[self.scope].is_finished

    @property
    def chars_so_far(self) -> int:
        """How much text has come of the reply that is streaming now; 0 when none is."""
        return self._asking.chars_so_far

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All tools of the agent."""
        return self._all_tools

    # ── the steps ─────────────────────────────────────────────────────────────────────────────────────────

    def prepare(self, *, system: str, tools: Iterable[str]) -> None:
        """From now on the model is given this prompt, and these of the agent's tools in this order."""
        names = tuple(tools)
        if system == self._system and names == self._names:
            return
        by_name = {spec.name: spec for spec in self._all_tools}
        offered = tuple(by_name[name] for name in names if name in by_name)
        names = self._names = tuple(spec.name for spec in offered)
        if system == self._system and offered == self._tools:
            return
        self._system, self._tools = system, offered
        self._history.given(system=system, tools=offered)
        self.journal.note(PromptSet(scope=self.scope, turn=self.taken, system=system, tools=names))

    def begin(self, verdict: Verdict | None = None, *, offers_tools: bool = True) -> bool:
        """Begin a turn. False if there is to be none: the governor says stop, or nothing pays for it."""
        verdict = self.verdict() if verdict is None else verdict
        if isinstance(verdict, Stop) or self.is_to_leave or self.has_failed:
            return False
        if self._shares:
            self._shares = [share for share in self._shares if not share.is_closed]
            if any(share.is_used_up for share in self._shares) or not self._fits_shares():
                return False
        closing = verdict.limit if isinstance(verdict, LastTurn) else None
        terms = self._asking.terms(closing)
        if isinstance(terms, LimitKind):
            self.unaffordable(terms)
            return False
        self._terms = terms
        turn = self._turn = self.taken
        self._offers_tools = offers_tools
        self.reply, self.results = None, ()
        started = _turn_started(at_s=self.journal.now_s, scope=self.scope, turn=turn, closing=terms.closing)
        noticed = self.journal.enter(started)
        self._hand_on(turn, noticed.hints, terms.closing)
        return True

    async def ask(self) -> Reply:
        """Make the model call of the turn, and put what came of it into the record and the history."""
        turn, terms = self._turn, self._terms
        assert turn is not None, "a turn is under way"
        assert terms is not None, "it has its terms"
        tools = self._tools if self._offers_tools else ()
        self._steps_under_way += 1
        try:
            reply = await self._asking.ask(
                turn,
                terms,
                system=self._system,
                tools=tools if terms.closing is None else self._closing_tools,
            )
        except asyncio.CancelledError:
            self.salvage(CallStatus.CANCELLED, _HALTED)
            raise
        finally:
            self._steps_under_way -= 1
        self._take(turn, reply)
        return reply

    async def answer(self) -> ToolResult | None:
        """Run the tool calls of the reply. The terminal tool's result, if it was called and did its job."""
        turn, reply = self._turn, self.reply
        assert turn is not None, "a turn is under way"
        assert reply is not None, "its reply has come"
        if not self._requests:
            return None
        not_run = None if reply.is_whole else _TRUNCATED_CALL if reply.is_truncated else _CUT_CALL
        requests, self._requests = self._requests, ()
        self._steps_under_way += 1
        try:
            answered = await self._calls.answer(
                turn, requests, closing=self.is_closing, not_run=not_run, most=self._tool_calls_left()
            )
        except asyncio.CancelledError:
            self.salvage(CallStatus.CANCELLED, _HALTED)
            raise
        finally:
            self._steps_under_way -= 1
        for message in answered.messages:
            self._history.add(message)
        self.results = answered.messages
        if answered.ending is not None:
            self.result = answered.ending.value
        return answered.ending

    def judge(self) -> str | None:
        """The reply's text if it stands as the agent's answer. If not, the model is told what is missing,
        where that is for us to say."""
        reply = self.reply
        if reply is None or self._turn is None:
            return None
        if reply.calls or reply.failure is not None or reply.unaffordable is not None:
            self.empty_replies = self.prose_replies = 0
            return None
        if not reply.is_whole:
            if reply.is_truncated and not self.is_closing:
                self.tell(_SHORTER)
            return None
        if self.agent.config.must_use_tools:
            if not self.journal.recorder.started.config.must_use_tools and not self.is_closing:
                self.prose_replies += 1  # a sub-agent: the governor knows only what the run itself must do
                self.tell(_USE_TOOLS)
            return None
        if wants_another_turn(reply):
            return None
        if not reply.text.strip():
            self.empty_replies += 1
            if not self.is_closing:
                self.tell(_EMPTY)
            return None
        return reply.text.strip()

    def finished(self, answer: str, *, caveat: str = "") -> None:
        """The agent is done, with this answer."""
        self.empty_replies = 0
        told = sentence(caveat) if caveat else ""
        self.journal.enter(
            AgentFinished(at_s=self.journal.now_s, scope=self.scope, answer=answer, caveat=told)
        )

    def end(self) -> None:
        """End the turn under way, if there is one."""
        turn = self._turn
        if turn is None or not self.journal.is_open(self.scope):
            return
        if self.is_busy:  # with a step that was halted, and has not found out yet
            self.salvage(CallStatus.CANCELLED, _HALTED)
            return
        if self._requests:
            self._refuse("Not run: the turn ended first.")
        self._turn = None
        self.journal.enter(_turn_ended(at_s=self.journal.now_s, scope=self.scope, turn=turn))
        reply = self.reply
        if reply is not None and reply.unaffordable is not None:
            self.unaffordable(reply.unaffordable)

    # ── beside the steps ──────────────────────────────────────────────────────────────────────────────────

    def tell(self, text: str) -> None:
        """Tell the model something of the driver's own accord."""
        self._asking.tell(max(self.taken - 1, 0), text)

    def hear(self, text: str) -> None:
        """Put into the history what is in the record already."""
        self._history.add(UserMessage(text=text))

    async def call_tool(self, tool: str, arguments: str) -> ToolMessage:
        """Call a tool that no model asked for. Its result is told to the model."""
        own_calls = self.journal.recorder.live.scopes[self.scope].tool_calls
        request = self._calls.named(f"own_{own_calls + 1}", tool, arguments)
        self._steps_under_way += 1
        try:
            answered = await self._calls.answer(
                max(self.taken - 1, 0), (request,), closing=False, not_run=None, most=self._tool_calls_left()
            )
        except asyncio.CancelledError:
            self._calls.answer_open(CallStatus.CANCELLED, _HALTED)
            raise
        finally:
            self._steps_under_way -= 1
        (message,) = answered.messages
        self.tell(f"{message.tool} was called for you, with {request.arguments}. It gave:\n{message.text}")
        return message

    def _tool_calls_left(self) -> int | None:
        lefts = [share.tool_calls_left for share in self._shares if not share.is_closed]
        return min((max(left, 0) for left in lefts if left is not None), default=None)

    async def run_child(self, agent: Agent, question: str, *, budget: Budget) -> Outcome:
        """Have a sub-agent do something on a part of what is left; what it does not use flows back (A7)."""
        self._steps_under_way += 1
        try:
            return await self._run_child(agent, question, budget=budget)
        finally:
            self._steps_under_way -= 1

    def taken_question(self) -> str | None:
        """What the user is to be asked, once: by the agent's tool, or by whoever steers."""
        question, self.question_to_user = self.question_to_user, None
        return self.await_user.taken() if question is None and self.await_user is not None else question

    def unaffordable(self, limit: LimitKind) -> None:
        self.journal.enter(CallUnaffordable(at_s=self.journal.now_s, scope=self.scope, limit=limit))

    def open_share(
        self,
        *,
        turns: int | None = None,
        tokens: int | None = None,
        cost_usd: Decimal | None = None,
        seconds: float | None = None,
        tool_calls: int | None = None,
    ) -> Share:
        """Hold what follows to these limits, on top of the run's own, until the share is closed."""
        share = Share(
            self.journal,
            self.scope,
            turns=turns,
            tokens=tokens,
            cost_usd=cost_usd,
            seconds=seconds,
            tool_calls=tool_calls,
        )
        self._shares.append(share)
        return share

    def watch(self, watcher: Callable[[], None] | None) -> None:
        """Have ``watcher`` called when something happened that a guard may want to see: a piece of a reply
        came, a tool has ended, the run was cancelled, or given more. The end of a step sees who took it."""
        if self._asking.watcher is not None:
            self.journal.unwatch(self._seen)
        self._asking.watcher = watcher
        if watcher is not None:
            self.journal.watch(self._seen)

    def _seen(self, fact: Fact) -> None:
        if isinstance(fact.payload, _WORTH_A_LOOK) and self._asking.watcher is not None:
            self._asking.watcher()

    def salvage(self, status: CallStatus, why: str) -> None:
        """Record what there is of the turn under way, and end it: nobody waits for it any more."""
        if not self.journal.is_open(self.scope):
            return
        self._asking.salvage()
        self._refuse(why)
        self._calls.answer_open(status, why)
        if self._turn is not None and self.reply is None:
            self.signals = self.signals.after_turn(None)
        self._turn = None
        for turn in sorted(self.journal.recorder.live.scopes[self.scope].open_turns):
            self.journal.enter(_turn_ended(at_s=self.journal.now_s, scope=self.scope, turn=turn))
        self.read_history()

    def read_history(self) -> None:
        """Read anew from the record what was said."""
        self._history.begin_anew((*self.before, *messages_of(self.journal.recorder.facts, self.scope)))

    def _take(self, turn: int, reply: Reply) -> None:
        self.reply = reply
        self._requests = self._calls.numbered(turn, reply.calls)
        self._asking.keep(reply.text, self._requests, is_closing=self.is_closing)
        if self.agent.steering is not None:
            self.signals = self.signals.after_turn(reply.signal)

    def _most_output(self) -> int:
        """How long a reply may be for its call to fit into every share."""
        lengths = [self._output_within(share) for share in self._shares if not share.is_closed]
        return min(lengths, default=self.agent.max_output_tokens)

    def _fits_shares(self) -> bool:
        """Whether what is left of each share pays for a call. One that does not is used up by that."""
        for share in self._shares:
            share.is_too_small = self._output_within(share) < 1
        return not any(share.is_too_small for share in self._shares)

    def _output_within(self, share: Share) -> int:
        """How long a reply may be for its call to fit into a share."""
        sent, most = self._history.tokens, self.agent.max_output_tokens
        if share.tokens_left is not None:
            most = min(most, share.tokens_left - sent)
        money = share.cost_left
        while most >= 1 and money is not None:
            cost = self.agent.model.cost_usd(ModelUsage(input_tokens=sent, output_tokens=most))
            if cost is None or cost <= money:
                break
            most //= 2
        return most

    def _refuse(self, why: str) -> None:
        """Answer the calls of the reply that nobody has run."""
        requests, self._requests = self._requests, ()
        if self._turn is not None:
            for message in self._calls.refuse(self._turn, requests, why):
                self._history.add(message)

    def _hand_on(self, turn: int, hints: tuple[str, ...], closing: LimitKind | None) -> None:
        """Give the model what the governor has to say to it, after all results of its calls (A2).

        The governor knows the run's terminal tool, not that of a sub-agent, which is told in our words.
        """
        if closing is not None and self.scope != ROOT:
            terminal = "" if self.agent.terminal is None else self.agent.terminal.spec.name
            self._asking.tell(turn, last_turn(closing, terminal))
            return
        for hint in hints:
            self.hear(hint)


def wants_another_turn(reply: Reply) -> bool:
    """Whether the model asks for another turn, and means it (C6)."""
    signal = reply.signal
    return signal is not None and signal.type is SignalType.NEED_TURN and signal.confidence >= GOES_ON_FROM
