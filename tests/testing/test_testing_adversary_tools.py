"""Each adversarial tool, and each bad function, does what it says."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from adversary_words import called, cancelled_after

from endstop.errors import ToolArgumentsError
from endstop.ports import Tool, ToolResult, ToolTraits
from endstop.testing import bad_functions, echo_tool
from endstop.testing.adversaries import tools
from endstop.testing.adversaries.errors import Catastrophe
from endstop.testing.bad_functions import BAD_FUNCTIONS, ODD_TEXT


async def test_the_echo_answers_with_what_it_was_given() -> None:
    tool = echo_tool("say", traits=ToolTraits(is_cursor=True))
    assert isinstance(tool, Tool)
    assert (tool.spec.name, tool.traits.is_cursor) == ("say", True)
    assert await called(tool, "anything") == ToolResult(text="anything")


@pytest.mark.parametrize(
    "arguments", ["", "{", "[1]", "null", "[" * 100_000, '{"a": "' + "x" * 100_000 + '"}']
)
async def test_a_strict_echo_takes_only_an_object_of_decent_size(arguments: str) -> None:
    tool = echo_tool(is_strict=True)
    assert (await called(tool, '{"a": 1}')).text == '{"a": 1}'
    with pytest.raises(ToolArgumentsError, match="arguments are"):
        await called(tool, arguments)


async def test_one_hangs() -> None:
    assert await cancelled_after(0.02, tools.HangingTool())


async def test_one_will_not_be_cancelled_for_a_while() -> None:
    assert not await cancelled_after(0.01, tools.StubbornTool(for_s=0.05))


@pytest.mark.parametrize("make", [tools.blocking_tool, tools.busy_tool])
async def test_some_keep_a_thread_and_leave_none_when_they_are_cancelled(
    make: Callable[..., Tool],
) -> None:
    before = set(threading.enumerate())
    assert await cancelled_after(0.05, make())
    (left,) = set(threading.enumerate()) - before or {threading.Thread()}
    if left.ident is not None:
        left.join(timeout=5)
    assert not left.is_alive()


def test_a_thread_that_outlives_its_event_loop_does_no_harm() -> None:
    late = threading.Event()

    def block(stop: threading.Event) -> str:
        stop.wait()
        late.wait()
        return "too late"

    before = set(threading.enumerate())
    assert asyncio.run(cancelled_after(0.01, tools.ThreadTool("late", block)))
    late.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=5)


async def test_a_result_that_comes_with_the_cancellation_is_dropped() -> None:
    tool = tools.ThreadTool("at_once", lambda stop: "too late" if stop.wait() else "")
    assert await cancelled_after(0.01, tool)
    await asyncio.sleep(0.02)


@pytest.mark.parametrize("make", [tools.blocking_tool, tools.busy_tool])
async def test_some_come_to_an_end_when_they_are_short(make: Callable[..., Tool]) -> None:
    assert (await called(make(seconds=0.01))).text == "It is over."


@pytest.mark.parametrize("make", [tools.blocking_tool, tools.busy_tool])
async def test_some_keep_a_thread_but_not_the_event_loop(make: Callable[..., Tool]) -> None:
    task = asyncio.create_task(called(make()))
    beats = 0
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        await asyncio.sleep(0.005)
        beats += 1
    task.cancel()
    await asyncio.wait([task])
    assert beats >= 3


def states_of_processes() -> list[tuple[int, str]]:
    """The process group and the state of every process there is."""
    if not Path("/proc/self/stat").exists():
        told = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True)
        return [(int(group), state) for group, state in map(str.split, told.stdout.splitlines())]
    states: list[tuple[int, str]] = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # gone meanwhile
            state, _, group, *_ = status.read_text(errors="replace").rpartition(")")[2].split()
            states.append((int(group), state))
    return states


def is_alive(process_group: int) -> bool:
    """Whether a process of the group still does something: one that waits to be buried does not."""
    return any(group == process_group and state[0] != "Z" for group, state in states_of_processes())


async def test_one_forks_and_kills_all_of_its_group_when_cancelled() -> None:
    tool = tools.ForkingTool()
    task = asyncio.create_task(called(tool))
    while not tool.process_groups:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    (group,) = tool.process_groups
    assert not task.done()
    assert is_alive(group)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    until_s = asyncio.get_running_loop().time() + 5
    while is_alive(group) and asyncio.get_running_loop().time() < until_s:
        await asyncio.sleep(0.01)  # they have been killed; the system takes a moment to see to it
    assert not is_alive(group)


async def test_one_that_forks_leaves_nothing_behind_whenever_it_is_cancelled() -> None:
    tool = tools.ForkingTool()
    for step in range(12):
        assert await cancelled_after(step * 0.001, tool)
    assert len(tool.process_groups) >= 11
    assert not any(is_alive(group) for group in tool.process_groups)


async def test_one_that_forks_waits_for_the_children_that_hold_its_output() -> None:
    before = time.monotonic()
    assert (await called(tools.ForkingTool(seconds=0.2))).text == "started\n"
    assert time.monotonic() - before >= 0.2


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, Catastrophe, ValueError])
async def test_some_raise_anything(kind: type[BaseException]) -> None:
    raised: BaseException | None = None
    try:
        await called(tools.RaisingTool(kind))
    except BaseException as error:  # noqa: BLE001 - that is what is tested
        raised = error
    assert type(raised) is kind


async def test_one_fails_with_a_new_time_stamp_each_time() -> None:
    told: set[str] = set()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="connection refused") as error:
            await called(tools.TimeStampTool())
        told.add(str(error.value))
        await asyncio.sleep(0.001)
    assert len(told) == 3


async def test_one_floods() -> None:
    assert len((await called(tools.FloodingTool(megabytes=2))).text) == 2_000_000
    assert len(bad_functions.return_50_mb()) == 50_000_000


async def test_one_returns_odd_text() -> None:
    text = (await called(tools.OddTextTool())).text
    assert text == ODD_TEXT
    with pytest.raises(UnicodeEncodeError):
        text.encode()
    assert "\x00" in text


async def test_one_waits_declaredly() -> None:
    assert (await called(tools.WaitingTool())).is_waiting


async def test_one_returns_nonsense() -> None:
    assert not isinstance(await called(tools.NonsenseTool()), ToolResult)


def test_bad_functions_end_when_they_are_told_to_be_short() -> None:
    assert bad_functions.block_for_ever(0.01) == "It is over."
    assert bad_functions.busy_loop(0.01).endswith("times round.")
    assert bad_functions.fork_and_hold_pipe(0.05) == "started\n"


def test_a_forking_function_kills_what_it_started_if_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[int] = []

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen.communicate", interrupted)
    kill = bad_functions.kill_group
    monkeypatch.setattr(bad_functions, "kill_group", lambda group: (killed.append(group), kill(group)))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(KeyboardInterrupt):
        bad_functions.fork_and_hold_pipe()
    assert len(killed) == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail_with_time_stamp", RuntimeError),
        ("raise_system_exit", SystemExit),
        ("raise_keyboard_interrupt", KeyboardInterrupt),
        ("raise_generator_exit", GeneratorExit),
    ],
)
def test_some_functions_raise(name: str, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        BAD_FUNCTIONS[name]()


def test_a_function_returns_odd_text() -> None:
    assert BAD_FUNCTIONS["return_odd_text"]() == ODD_TEXT


def test_killing_a_group_that_is_gone_is_no_error() -> None:
    bad_functions.kill_group(2**22 - 1)
