"""A run of several parts: each done once, whatever happens between them (loop.conducting)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from runner_words import agent, more, of, require_audit, runner

from endstop.events.coding import Interviewed, PlanGiven
from endstop.kernel.budget import Budget
from endstop.kernel.escalation import Escalation
from endstop.kernel.observation import AssistantSaid, ScopeEnded, ScopeOpened
from endstop.kernel.outcome import (
    Abandoned,
    AwaitingUser,
    Cancelled,
    Completed,
    Ending,
    Failed,
    Stopped,
    StopReason,
    StopRule,
    UnderReview,
)
from endstop.kernel.review import Approved, NeedsChanges, Rejected
from endstop.loop import Agent
from endstop.loop.conducting import OutOfTimeError, Stage
from endstop.ports import Model, Store, ToolResult
from endstop.runner import Run
from endstop.testing import ScriptedModel, calls, echo_tool, says
from endstop.testing.echo import PlainTool

Conduct = Callable[[Stage], Awaitable[Ending]]


class Conducted:
    """Conducts as it is told, and counts how often it saved its work."""

    def __init__(self, conduct: Conduct) -> None:
        self._conduct = conduct
        self.saved: list[StopReason] = []

    def opening(self, run_id: str, budget: Budget) -> tuple[Interviewed, ...]:
        return (Interviewed(brief=f"{run_id} begins"),)

    async def conduct(self, stage: Stage) -> Ending:
        return await self._conduct(stage)

    async def conclude(self, stage: Stage, reason: StopReason) -> Ending:
        self.saved.append(reason)
        if reason.rule is StopRule.CANCELLED:
            return Cancelled(by=stage.journal.recorder.state.cancelled_by or "")
        return Stopped(reason=reason)


def whole(conduct: Conduct, budget: Budget | None = None) -> Agent:
    budget = budget or Budget(tokens=100_000, seconds=30, finish_reserve=0)
    return replace(agent(ScriptedModel(), budget=budget), conducting=Conducted(conduct), name="whole")


async def _taken(arguments: str) -> ToolResult:
    return ToolResult(text="Taken.", value=arguments)


def submitting(model: Model, *tools: PlainTool, **parts: object) -> Agent:
    return agent(
        model, *tools, terminal=PlainTool("submit", _taken), budget=Budget(turns=4), name="part", **parts
    )


def submits(work: str) -> ScriptedModel:
    return ScriptedModel(calls("submit", work=work))


PART = Budget(turns=4, tokens=20_000)


async def test_parts_run_one_after_the_other_on_what_is_carved_for_them(store: Store) -> None:
    async def conduct(stage: Stage) -> Ending:
        first = await stage.part(submitting(submits("one")), "First.", scope="first", budget=PART)
        second = await stage.part(submitting(submits("two")), "Second.", scope="second", budget=PART)
        return Completed(answer=f"{first.submitted} {second.submitted}")

    done = await runner(store).run(whole(conduct), "Do both.")
    assert done.outcome == Completed(answer='{"work":"one"} {"work":"two"}')
    assert [opened.scope for opened in of(done, ScopeOpened)] == ["first", "second"]
    assert done.facts[1].payload == Interviewed(brief=f"{done.id} begins")
    assert done.usage.model_calls == 2
    require_audit(done)


async def test_a_part_that_was_done_is_not_done_again_when_the_run_goes_on(store: Store) -> None:
    model = submits("one")

    async def conduct(stage: Stage) -> Ending:
        part = await stage.part(submitting(model), "First.", scope="first", budget=PART)
        planned = stage.noted(PlanGiven) or await stage.note(PlanGiven(tasks=("a", "b")))
        said = stage.answers(planned)
        if not said:
            raise stage.wait_for_user("Is that all right?")
        return Completed(answer=f"{part.submitted} {said}")

    paused = await runner(store).run(whole(conduct), "Do it.")
    assert paused.outcome == AwaitingUser(question="Is that all right?")
    done = await runner(store).resume(paused.id, agent=whole(conduct), answer="Yes.")
    assert done.outcome == Completed(answer='{"work":"one"} [\'Yes.\']')
    assert len(model.requests) == 1
    assert len(of(done, PlanGiven)) == 1
    require_audit(done)


async def test_a_part_that_asks_the_user_pauses_the_run_and_is_given_the_answer(store: Store) -> None:
    model = ScriptedModel(calls("await_user", message="Which colour?"), calls("submit", work="painted"))

    async def conduct(stage: Stage) -> Ending:
        part = await stage.part(submitting(model, awaits_user=True), "Paint.", scope="paint", budget=PART)
        return Completed(answer=part.submitted or "")

    paused = await runner(store).run(whole(conduct), "Paint it.")
    assert paused.outcome == AwaitingUser(question="Which colour?")
    await runner(store).answer(paused.id, "Green.")
    done = await runner(store).resume(paused.id, agent=whole(conduct))
    assert done.outcome == Completed(answer='{"work":"painted"}')
    assert model.requests[-1].last_text == "Green."
    assert [ended.scope for ended in of(done, ScopeEnded)] == ["paint"]
    require_audit(done)


def escalating(model: Model) -> Agent:
    return submitting(model, echo_tool(), escalation=Escalation(key="coding_1", hard=2))


def restless() -> ScriptedModel:
    return ScriptedModel(
        *(calls("echo", text=str(number)) for number in range(3)), calls("submit", work="late")
    )


@pytest.mark.guarantee("D3", "D4")
async def test_a_hard_limit_of_a_part_is_reviewed_and_the_grant_is_the_parts_own(store: Store) -> None:
    model = restless()

    async def conduct(stage: Stage) -> Ending:
        budget = Budget(turns=2, tokens=20_000)
        part = await stage.part(escalating(model), "Build.", scope="build", budget=budget)
        return Completed(answer=part.submitted or "nothing")

    paused = await runner(store).run(whole(conduct), "Build it.")
    assert isinstance(paused.outcome, UnderReview)
    assert paused.outcome.review.why == "Maximum coding iterations (2) reached"
    await runner(store).decide(paused.id, NeedsChanges(feedback="Hand it in.", grant=more(3)))
    done = await runner(store).resume(paused.id, agent=whole(conduct))
    assert done.outcome == Completed(answer='{"work":"late"}')
    require_audit(done)


async def test_a_rejected_part_ends_as_abandoned_and_whoever_conducts_decides_what_follows(
    store: Store,
) -> None:
    async def conduct(stage: Stage) -> Ending:
        budget = Budget(turns=2, tokens=20_000)
        part = await stage.part(escalating(restless()), "Build.", scope="build", budget=budget)
        assert isinstance(part.ending, Abandoned)
        return part.ending

    paused = await runner(store).run(whole(conduct), "Build it.")
    await runner(store).decide(paused.id, Rejected(by="ada", why="enough"))
    done = await runner(store).resume(paused.id, agent=whole(conduct))
    assert isinstance(done.outcome, Abandoned)
    assert "enough" in done.outcome.reason
    require_audit(done)


async def test_a_part_that_can_pay_for_nothing_shows_that_the_run_has_met_its_limit(store: Store) -> None:
    conducted: list[Stage] = []

    async def conduct(stage: Stage) -> Ending:
        conducted.append(stage)
        for number in range(100):
            model = ScriptedModel(says("word " * 300), calls("submit", work="x"))
            await stage.part(submitting(model), "Go on.", scope=f"part {number}", budget=PART)
        return Completed(answer="all")

    done = await runner(store).run(whole(conduct, Budget(tokens=8_000, finish_reserve=0)), "Go on.")
    assert isinstance(done.outcome, Stopped)
    assert done.outcome.reason.rule is StopRule.TOKENS
    assert 0 < done.usage.tokens <= 8_000
    require_audit(done)


async def test_cancelling_cuts_the_part_and_the_work_is_saved_once(store: Store) -> None:
    begun = asyncio.Event()

    async def hang(arguments: str) -> ToolResult:
        begun.set()
        await asyncio.sleep(30)
        return ToolResult(text=arguments)

    async def conduct(stage: Stage) -> Ending:
        model = ScriptedModel(calls("hang"))
        await stage.part(submitting(model, PlainTool("hang", hang)), "Wait.", scope="wait", budget=PART)
        stage.require_go()
        raise AssertionError("it was cancelled")

    which = whole(conduct)
    home = runner(store)
    run_id = await home.start(which, "Wait.")
    await begun.wait()
    await home.cancel(run_id, by="ada")
    done = await home.wait(run_id)
    assert done.outcome == Cancelled(by="ada")
    conducting = which.conducting
    assert isinstance(conducting, Conducted)
    assert [reason.rule for reason in conducting.saved] == [StopRule.CANCELLED]
    require_audit(done)


async def test_cancelling_a_run_that_waits_saves_its_work_too(store: Store) -> None:
    async def conduct(stage: Stage) -> Ending:
        raise stage.wait_for_user("Well?")

    which = whole(conduct)
    home = runner(store, agent_of=lambda _: which)
    paused = await home.run(which, "Ask.")
    assert await home.cancel(paused.id, by="ada")
    done = await home.wait(paused.id)
    assert done.outcome == Cancelled(by="ada")
    conducting = which.conducting
    assert isinstance(conducting, Conducted)
    assert len(conducting.saved) == 1
    require_audit(done)


async def test_a_part_is_left_open_when_the_process_is_to_end_and_gone_on_with_by_another(
    store: Store,
) -> None:
    begun = asyncio.Event()
    let = asyncio.Event()

    async def wait(arguments: str) -> ToolResult:
        begun.set()
        await let.wait()
        return ToolResult(text=arguments)

    model = ScriptedModel(says("Let me see."), calls("wait"), calls("submit", work="done"))

    async def conduct(stage: Stage) -> Ending:
        waiting = PlainTool("wait", wait)
        part = await stage.part(submitting(model, waiting), "Wait.", scope="wait", budget=PART)
        return Completed(answer=part.submitted or "")

    home = runner(store)
    run_id = await home.start(whole(conduct), "Wait.")
    await begun.wait()
    asyncio.get_running_loop().call_later(0.05, let.set)
    await home.shutdown()
    left: Run = await home.wait(run_id)
    assert left.outcome is None
    done = await runner(store).resume(run_id, agent=whole(conduct))
    assert done.outcome == Completed(answer='{"work":"done"}')
    assert len(model.requests) == 3
    assert [said.scope for said in of(done, AssistantSaid)] == ["wait"] * 3
    require_audit(done)


async def test_work_that_is_no_agents_is_bounded_and_what_it_raises_is_the_conductors(store: Store) -> None:
    async def conduct(stage: Stage) -> Ending:
        assert await stage.work(lambda: asyncio.sleep(0, "quick"), seconds=1) == "quick"
        with pytest.raises(OutOfTimeError):
            await stage.work(lambda: asyncio.sleep(30), seconds=0.05)
        await stage.note(Interviewed(brief="all well"))
        raise ValueError("broken")

    done = await runner(store).run(whole(conduct), "Work.")
    assert isinstance(done.outcome, Failed)
    assert "broken" in done.outcome.message
    assert [note.brief for note in of(done, Interviewed)] == [f"{done.id} begins", "all well"]
    require_audit(done)


async def test_the_time_limit_of_the_run_cuts_work_that_hangs(store: Store) -> None:
    async def conduct(stage: Stage) -> Ending:
        await stage.work(lambda: asyncio.sleep(30), seconds=60)
        raise AssertionError("time was up")

    budget = Budget(seconds=0.2, tokens=100, finish_reserve=0)
    done = await runner(store).run(whole(conduct, budget), "Work.")
    assert isinstance(done.outcome, Stopped)
    assert done.outcome.reason.rule is StopRule.TIME
    assert done.usage.seconds < 0.7
    require_audit(done)


async def test_grants_and_approvals_of_a_part_survive_another_process(store: Store) -> None:
    model = restless()

    async def conduct(stage: Stage) -> Ending:
        budget = Budget(turns=2, tokens=20_000)
        part = await stage.part(escalating(model), "Build.", scope="build", budget=budget)
        return Completed(answer=part.submitted or "nothing")

    paused = await runner(store).run(whole(conduct), "Build it.")
    await runner(store).decide(paused.id, Approved(grant=more(1)))
    again = await runner(store).resume(paused.id, agent=whole(conduct))
    assert isinstance(again.outcome, UnderReview)
    assert again.outcome.review.why == "Maximum coding iterations (3) reached"
    done = await runner(store).resume(paused.id, agent=whole(conduct), grant=more(2))
    assert done.outcome == Completed(answer='{"work":"late"}')
    require_audit(done)
