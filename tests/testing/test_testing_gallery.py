"""The gallery: every adversary is what it says it is, and the kernel finds what it should find."""

from __future__ import annotations

import asyncio
from itertools import islice

import pytest
from adversary_words import asked, called, calls_of, streamed, text_of

from endstop.errors import ModelError
from endstop.kernel.detectors import RepeatedChunk, Watch, standard_detectors
from endstop.kernel.finding import DEFAULT_RESPONSES, Finding, Pattern, Response
from endstop.kernel.observation import Observation, ReplyRepeated
from endstop.kernel.outcome import Completed, Failed, Forced, Outcome, Stopped, StopReason, StopRule
from endstop.ports import (
    AssistantMessage,
    Message,
    Model,
    Piece,
    TextPiece,
    Tool,
    ToolMessage,
    ToolRequest,
    ToolResult,
    UserMessage,
)
from endstop.signals import parse_reply
from endstop.testing import ADVERSARIES, Adversary, ObservationScript, ScriptedCall, call
from endstop.testing.adversaries.adversary import FAILED

NAMES = sorted(ADVERSARIES)
MOST_PIECES = 2_000


@pytest.mark.parametrize("name", NAMES)
def test_every_adversary_is_made_afresh_and_says_what_it_does(name: str) -> None:
    adversary = ADVERSARIES[name]
    assert adversary.name == name
    assert adversary.does.endswith(".")
    assert isinstance(adversary.make_model(), Model)
    assert adversary.make_model() is not adversary.make_model()
    assert all(isinstance(tool, Tool) for tool in adversary.make_tools())
    assert adversary.expected


def test_the_gallery_has_all_that_was_asked_for() -> None:
    assert len(ADVERSARIES) >= 50
    assert {each.make_model().name.split(":")[0] for each in ADVERSARIES.values()} == {"adversary"}


def forced(rule: StopRule) -> Forced:
    return Forced(answer="", reason=StopReason(rule=rule, message="because"))


@pytest.mark.parametrize(
    ("name", "outcome", "is_accepted"),
    [
        ("repeats_call", forced(StopRule.NO_PROGRESS), True),
        ("repeats_call", forced(StopRule.TURNS), False),
        ("repeats_call", Completed(answer="", warnings=("Turn limit",)), False),
        ("runaway", Stopped(reason=StopReason(rule=StopRule.TURNS, message="because")), True),
        ("runaway", Completed(answer="", warnings=("Turn limit",)), True),
        ("runaway", Completed(answer=""), False),
        ("recovers", Completed(answer=""), True),
        ("no_stream", Failed(code="model_failed", message="no stream"), True),
        ("no_stream", Completed(answer=""), False),
    ],
)
def test_an_adversary_knows_which_endings_are_right(name: str, outcome: Outcome, is_accepted: bool) -> None:
    assert ADVERSARIES[name].accepts(outcome) is is_accepted


async def pieces_of(model: Model, messages: list[Message], tools: tuple[Tool, ...]) -> list[Piece]:
    request = asked(messages, tools=tuple(tool.spec for tool in tools))
    return await streamed(model, request, most=MOST_PIECES)


async def answer(tools: tuple[Tool, ...], wanted: ToolRequest) -> ScriptedCall:
    """What a tool makes of a call, told as the kernel would be told."""
    arguments = wanted.arguments
    for tool in tools:
        if tool.spec.name == wanted.tool:
            try:
                result = await called(tool, arguments)
            except BaseException as error:  # noqa: BLE001 - they raise anything
                return call(wanted.tool, arguments, ok=False, result=str(error))
            if not isinstance(result, ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance]
                return call(wanted.tool, arguments, ok=False, result="no result")
            return call(wanted.tool, arguments, result=result.text[:1_000], waiting=result.is_waiting)
    return call(wanted.tool, arguments, ok=False, result="unknown tool")


async def findings_of(adversary: Adversary, *, turns: int) -> list[Finding]:
    """What the standard detectors find in a bare loop that an adversary drives, up to the first stop."""
    model, tools = adversary.make_model(), adversary.make_tools()
    messages: list[Message] = [UserMessage(text="Go.")]
    script = ObservationScript()
    watching = Watch(detectors=standard_detectors(must_use_tools=adversary.must_use_tools))
    seen = 0
    found: list[Finding] = []
    for _ in range(turns):
        pieces = await pieces_of(model, messages, tools)
        wanted = calls_of(pieces)[:10]
        results = [await answer(tools, each) for each in wanted]
        parsed = parse_reply(text_of(pieces))
        script.turn(*results, text=parsed.text, signal_reason=parsed.signal.reason if parsed.signal else None)
        if (repeated := repetition_in(pieces, turn=len(messages))) is not None:
            script.add(repeated)
        messages.append(AssistantMessage(text=parsed.text, calls=tuple(wanted)))
        messages.extend(
            ToolMessage(call=each.id, tool=each.tool, text=result.result)
            for each, result in zip(wanted, results, strict=True)
        )
        for observation in islice(script.observations, seen, None):
            watching, noticed = watching.after(observation)
            found.extend(noticed)
        seen = len(script.observations)
        if any(DEFAULT_RESPONSES[each.pattern] is Response.STOP for each in found):
            break
    return found


def repetition_in(pieces: list[Piece], *, turn: int) -> Observation | None:
    watching = RepeatedChunk()
    for piece in pieces:
        if isinstance(piece, TextPiece) and (found := watching.feed(piece.text)) is not None:
            return ReplyRepeated(at_s=1e6, turn=turn, chunk=found.chunk, times=found.times)
    return None


def rules_of(findings: list[Finding]) -> set[StopRule]:
    return {
        StopRule.ERROR_LIMIT if each.pattern is Pattern.ERROR_STREAK else StopRule.NO_PROGRESS
        for each in findings
        if DEFAULT_RESPONSES[each.pattern] is Response.STOP
    }


FOUND_BY_DETECTORS = [
    name for name in NAMES if ADVERSARIES[name].expected <= {StopRule.NO_PROGRESS, StopRule.ERROR_LIMIT}
]
FOUND_BY_NONE = [
    name
    for name in NAMES
    if ADVERSARIES[name].expected >= {StopRule.TURNS, StopRule.TOKENS}
    and StopRule.NO_PROGRESS not in ADVERSARIES[name].expected
    and name not in {"breaks_off", "many_calls", "tool_floods"}
]


@pytest.mark.parametrize("name", FOUND_BY_DETECTORS)
async def test_those_that_a_rule_should_stop_are_found_by_that_rule(name: str) -> None:
    adversary = ADVERSARIES[name]
    rules = rules_of(await findings_of(adversary, turns=12))
    assert rules
    assert rules <= adversary.expected


@pytest.mark.parametrize("name", FOUND_BY_NONE)
async def test_those_that_only_a_limit_should_stop_are_found_by_no_rule(name: str) -> None:
    assert rules_of(await findings_of(ADVERSARIES[name], turns=40)) == set()


@pytest.mark.parametrize("name", [name for name in NAMES if ADVERSARIES[name].expected == FAILED])
async def test_those_that_should_fail_bring_no_proper_reply(name: str) -> None:
    adversary = ADVERSARIES[name]
    failed: BaseException | None = None
    try:
        await pieces_of(adversary.make_model(), [UserMessage(text="Go.")], ())
    except BaseException as error:  # noqa: BLE001 - they raise anything
        failed = error
    assert failed is not None


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("fails_")])
async def test_those_that_fail_as_providers_do_raise_a_model_error(name: str) -> None:
    with pytest.raises(ModelError):
        await pieces_of(ADVERSARIES[name].make_model(), [UserMessage(text="Go.")], ())


@pytest.mark.parametrize("name", ["tool_hangs", "tool_blocks_thread", "tool_spins", "tool_forks"])
async def test_tools_that_only_time_ends_are_still_at_it(name: str) -> None:
    (tool,) = ADVERSARIES[name].make_tools()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(called(tool), timeout=0.1)
