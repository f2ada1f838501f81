"""The build: rounds of building, testing, reviewing and simplifying, and never too many (G4) [UVUAS]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from endstop.coding import criticising, done, endings, questions, simplifying
from endstop.coding.desk import Desk, GivenUpError
from endstop.coding.forbidden import Forbidden
from endstop.coding.shapes import Issues, Plan, Verdicts, Work
from endstop.coding.submissions import submit_plan
from endstop.coding.testing import run_tests
from endstop.events.coding import (
    CriteriaJudged,
    Criterion,
    IssuesFound,
    PlanGiven,
    PriceGiven,
    RoundEnded,
    SessionConcluded,
    SimplifyingEnded,
    Specification,
    TestsRun,
)
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind, money
from endstop.kernel.observation import CallStatus, IterationEnded, ToolFinished
from endstop.kernel.outcome import Completed, Ending

BUILD = "build"
"""The account that the approved price is carved for."""

_BUILDING = "building"
_MOST_LOOKED_THROUGH = 2_000_000
_NO_VERDICT = "The critic handed in nothing: nobody has looked for critical issues"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How the work stands after a round's tests and review."""

    tests: TestsRun
    criteria: tuple[Criterion, ...] = ()
    issues: IssuesFound | None = None
    forbidden: tuple[str, ...] = ()
    """What was changed by some command though the policy forbids it: the file tools refuse that."""

    @property
    def open_issues(self) -> tuple[str, ...]:
        """What still has to be done."""
        found = done.open_issues(self.tests, self.criteria, () if self.issues is None else self.issues.issues)
        nobody_looked = (_NO_VERDICT,) if self.tests.are_green and self.issues is None else ()
        return (*self.forbidden, *found, *nobody_looked)


class Rounds:
    """The build of one session."""

    def __init__(self, desk: Desk, specification: Specification, price: PriceGiven) -> None:
        self._desk = desk
        self._stage = desk.stage
        self._policy = desk.policy
        self._specification = specification
        self._price = price
        self._work: Work | None = None
        """What the builder last said it did."""

    async def build(self) -> Ending:
        self._stage.open(BUILD, self._budget())
        plan = await self._planned()
        most = self._policy.build.rounds
        before: Looked | None = None
        for number in range(1, most + 1):
            looked = await self._worked(number, plan, before)
            ended = self._stage.noted(RoundEnded, round=number)
            if ended is None:
                if not looked.open_issues:
                    await self._simplified(number)
                ended = await self._ended(number, looked)
            if not ended.open_issues:
                return await self._succeeded(looked)
            self._compare(ended)
            before = looked
        assert before is not None, "there is one round at least"
        return await self._best_effort(before)

    def _budget(self) -> Budget:
        """What was approved is what the build may use (G2)."""
        tokens = int(self._price.tokens * self._policy.price.contingency)
        return Budget(tokens=max(tokens, 1), cost_usd=self._price.price_usd or None, finish_reserve=0.0)

    # ── plan ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _planned(self) -> tuple[str, ...]:
        noted = self._stage.noted(PlanGiven)
        if noted is not None:
            return noted.tasks
        plan: Plan | None = await self._desk.ask(
            "planner",
            questions.plan_question(self._specification, policy=self._policy),
            scope="planner",
            parent=BUILD,
            tools=self._desk.tools(writes=False),
        )
        if plan is None and self._was_refused("planner", submit_plan().name):
            raise GivenUpError(endings.plan_too_large(self._policy))
        tasks = (self._specification.title or self._stage.question,) if plan is None else plan.tasks
        return (await self._stage.note(PlanGiven(tasks=tasks))).tasks

    def _was_refused(self, scope: str, tool: str) -> bool:
        return any(
            isinstance(fact.payload, ToolFinished)
            and (fact.payload.scope, fact.payload.tool) == (scope, tool)
            and fact.payload.status is CallStatus.REFUSED
            for fact in self._stage.journal.recorder.facts
        )

    # ── one round ─────────────────────────────────────────────────────────────────────────────────────────

    async def _worked(self, number: int, plan: tuple[str, ...], before: Looked | None) -> Looked:
        """Build, test, and, if the tests pass, review."""
        work: Work | None = await self._desk.ask(
            "builder",
            questions.build_question(
                self._specification,
                plan,
                round=number,
                policy=self._policy,
                open_issues=() if before is None else before.open_issues,
                issues=() if before is None or before.issues is None else before.issues.issues,
                tests=None if before is None else before.tests,
            ),
            scope=_scope("builder", number),
            parent=BUILD,
            tools=self._desk.tools(writes=True),
        )
        self._work = work or self._work
        tests = await self._tested(number, after=_BUILDING)
        # Work that is simplified had nothing forbidden in it. What a pass brings is judged with that pass.
        is_simplified = self._stage.is_known(_scope("simplifier", number, 1))
        forbidden = () if is_simplified else await self._forbidden()
        if not tests.are_green:
            return Looked(tests=tests, forbidden=forbidden)
        judged = await self._judged(number, tests)
        issues = await self._criticised(number)
        return Looked(tests=tests, criteria=judged.criteria, issues=issues, forbidden=forbidden)

    async def _forbidden(self) -> tuple[str, ...]:
        rules = self._policy.forbidden
        forbidden = Forbidden(paths=rules.paths, contents=rules.contents)
        paths = [path for path in (await self._desk.worktree.stat()).paths if forbidden.path_rule(path)]
        diff = await self._desk.worktree.diff(most_chars=_MOST_LOOKED_THROUGH)
        added = "\n".join(line[1:] for line in diff.splitlines() if line.startswith("+"))
        rule = forbidden.content_rule(added)
        return (
            *(f"Changed, though the policy forbids it: {path}. Take that back." for path in paths),
            *((f"There is text that the policy forbids: {rule}. Take that out.",) if rule else ()),
        )

    async def _tested(self, number: int, *, after: str) -> TestsRun:
        noted = self._stage.noted(TestsRun, round=number, after=after)
        if noted is not None:
            return noted
        desk = self._desk
        seconds = self._policy.tests.seconds
        tests = await self._stage.work(
            lambda: run_tests(
                desk.test_command, desk.confinement, round=number, after=after, seconds=seconds
            ),
            seconds=seconds + 5,
        )
        return await self._stage.note(tests)

    async def _judged(self, number: int, tests: TestsRun) -> CriteriaJudged:
        noted = self._stage.noted(CriteriaJudged, round=number)
        if noted is not None:
            return noted
        question = questions.test_question(
            self._specification,
            tests,
            await self._desk.worktree.diff(),
            round=number,
            policy=self._policy,
        )
        said: Verdicts | None = await self._desk.ask(
            "tester",
            question,
            scope=_scope("tester", number),
            parent=BUILD,
            tools=self._desk.tools(writes=False),
        )
        return await self._stage.note(done.judged(said, self._specification, tests, round=number))

    async def _criticised(self, number: int) -> IssuesFound | None:
        noted = self._stage.noted(IssuesFound, round=number)
        if noted is not None:
            return noted
        question = questions.critic_question(
            self._specification,
            await self._desk.worktree.diff(),
            round=number,
            policy=self._policy,
        )
        found: Issues | None = await self._desk.ask(
            "critic",
            question,
            scope=_scope("critic", number),
            parent=BUILD,
            tools=self._desk.tools(writes=False),
        )
        if found is None:
            return None
        return await self._stage.note(criticising.counted(found.issues, round=number, policy=self._policy))

    async def _ended(self, number: int, looked: Looked) -> RoundEnded:
        """Commit the round. Should this process die before it is noted, another comes to the same commit."""
        worktree = self._desk.worktree
        commit = await worktree.commit(number, self._message(number, looked))
        stat = await worktree.stat()
        return await self._stage.note(
            RoundEnded(
                round=number,
                commit=commit,
                files=stat.files,
                added=stat.added,
                removed=stat.removed,
                open_issues=looked.open_issues,
                failing_tests=looked.tests.failures,
                cost_usd=self._cost(number),
                summary="" if self._work is None else self._work.summary,
            )
        )

    def _message(self, number: int, looked: Looked) -> str:
        """The message of a round's commit: what it is about, and what was found (G8)."""
        title = self._specification.title or self._stage.question
        found = [f"- {issue}" for issue in looked.open_issues] or ["- nothing that is left to do"]
        issues = () if looked.issues is None else looked.issues.issues
        others = [f"- {one.gravity.value}: {one.title}" for one in issues]
        listed = [*found, *(["", "The critic found:", *others] if others else [])]
        return "\n".join(
            [f"{title[:60]} (round {number})", "", done.tests_words(looked.tests), "", "Open:", *listed]
        )

    def _cost(self, number: int) -> Decimal | None:
        """What a round has cost so far; None when nobody knows, or when it is free."""
        roles = ("builder", "tester", "critic", "simplifier")
        recorder = self._stage.journal.recorder
        used = [
            recorder.usage(scope)
            for scope in recorder.endings
            if scope.startswith(roles) and scope.split()[-1].partition(".")[0] == str(number)
        ]
        if any(one.unknown_cost_calls for one in used):
            return None
        return sum((one.known_cost_usd for one in used), Decimal(0)) or None

    # ── between rounds, and after them ────────────────────────────────────────────────────────────────────

    def _compare(self, ended: RoundEnded) -> None:
        """Have the governor compare this round with those before it (B7): it may find that they are stuck."""
        is_told = any(
            isinstance(fact.payload, IterationEnded) and fact.payload.iteration == ended.round - 1
            for fact in self._stage.journal.recorder.facts
        )
        if not is_told:
            self._stage.observe(
                IterationEnded(
                    at_s=self._stage.journal.now_s,
                    iteration=ended.round - 1,
                    issues=ended.open_issues,
                    failing_tests=ended.failing_tests,
                    lines_of_code=ended.added + ended.removed,
                    cost_usd=ended.cost_usd,
                )
            )
        self._stage.require_go(BUILD)

    async def _simplified(self, number: int) -> None:
        """Passes of reflexion over work that is done. A pass that breaks it, or saves nothing, is undone."""
        last: SimplifyingEnded | None = None
        for count in range(1, self._policy.reflexion.passes + 1):
            ended = self._stage.noted(SimplifyingEnded, round=number, number=count)
            if ended is None:
                if not self._stage.is_known(_scope("simplifier", number, count)):
                    lines = (await self._desk.worktree.stat()).lines
                    if not simplifying.goes_on(last, lines=lines, policy=self._policy):
                        return
                    await self._desk.worktree.snapshot()
                ended = await self._passed(number, count)
            if not ended.is_kept:
                # It was noted first: had it been measured after this, the record would tell of other lines.
                await self._desk.worktree.restore(await self._desk.worktree.last_snapshot())
                return
            last = ended

    async def _passed(self, number: int, count: int) -> SimplifyingEnded:
        worktree = self._desk.worktree
        before = await worktree.last_snapshot()
        await self._desk.ask(
            "simplifier",
            questions.simplify_question(
                await worktree.diff(until=before),
                number=count,
                policy=self._policy,
                specification=self._specification,
            ),
            scope=_scope("simplifier", number, count),
            parent=BUILD,
            tools=self._desk.tools(writes=True),
        )
        tests = await self._tested(number, after=f"simplifying {count}")
        ended = simplifying.pass_ended(
            round=number,
            number=count,
            lines_before=(await worktree.stat(until=before)).lines,
            lines_after=(await worktree.stat()).lines,
            tests=tests,
        )
        if ended.is_kept and await self._forbidden():
            ended = replace(
                ended, is_kept=False, why="It changed what the policy forbids: it was taken back."
            )
        return await self._stage.note(ended)

    async def _succeeded(self, looked: Looked) -> Ending:
        return await self._concluded(endings.succeeded(self._summary(), self._desk.rounds), looked)

    async def _best_effort(self, looked: Looked) -> Ending:
        """The rounds are used up: what there is, is accepted, with a warning that says what is open (G4)."""
        return await self._concluded(endings.best_effort(self._summary(), self._desk.rounds), looked)

    async def _concluded(self, ending: Completed, looked: Looked) -> Ending:
        rounds = self._desk.rounds
        issues = None if looked.issues is None else looked.issues.issues
        evidence = done.evidence(
            looked.tests, looked.criteria, issues, is_within_budget=True, spent=self._spent()
        )
        if self._stage.noted(SessionConcluded) is None:
            await self._stage.note(
                endings.concluded(ending, self._stage.run_id, rounds, rounds[-1].commit, criteria=evidence)
            )
        return ending

    def _summary(self) -> str:
        """What was built, in the words of whoever built it last."""
        return self._work.summary if self._work is not None else self._specification.title

    def _spent(self) -> str:
        """What the build used of what was approved."""
        used = self._stage.journal.recorder.state.ledger.account(BUILD)
        parts = [f"{used.settled.tokens:,} of {used.maximum(LimitKind.TOKENS):,} tokens"]
        most = used.maximum(LimitKind.COST_USD)
        if most is not None:
            parts.insert(0, f"${money(used.settled.cost_usd)} of ${money(Decimal(most))}")
        return f"The build used {', '.join(parts)}."


def _scope(role: str, number: int, count: int | None = None) -> str:
    """The name of a part: a role in a round."""
    return f"{role} {number}" if count is None else f"{role} {number}.{count}"
