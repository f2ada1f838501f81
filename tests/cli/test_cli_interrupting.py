"""Ctrl-C at the worst moments: twice at once, and between a run's last turn and what follows it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from endstop.app import open_app
from endstop.cli.interrupting import finishing_on_ctrl_c
from endstop.cli.running import run_async


def press() -> None:
    signal.raise_signal(signal.SIGINT)


async def waiting_for_a_person(said: list[str], *, on_cancelled: Callable[[], None]) -> int:
    asyncio.get_running_loop().call_soon(press)
    try:
        await asyncio.sleep(3_600)
    except asyncio.CancelledError:
        on_cancelled()
        said.append("how to go on")
        raise
    return 0


@pytest.mark.guarantee("D10")
def test_pressed_again_while_it_says_how_to_go_on_it_says_it_still() -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_async(waiting_for_a_person(said, on_cancelled=press))
    assert said == ["how to go on"]


@pytest.mark.guarantee("D10")
def test_pressed_again_while_it_closes_what_is_left_to_close_is_closed_still() -> None:
    closed: list[str] = []

    async def work() -> int:
        try:
            try:
                return await waiting_for_a_person([], on_cancelled=lambda: None)
            finally:
                press()
                await asyncio.sleep(3_600)  # hangs: the second Ctrl-C ends it
        finally:
            await asyncio.sleep(0)
            closed.append("database")

    with pytest.raises(KeyboardInterrupt):
        run_async(work())
    assert closed == ["database"]


def test_afterwards_ctrl_c_does_what_it_did_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_async(waiting_for_a_person([], on_cancelled=lambda: None))
    assert signal.getsignal(signal.SIGINT) is before


def test_started_deaf_to_ctrl_c_it_stays_so() -> None:
    async def work() -> int:
        press()
        await asyncio.sleep(0)
        return 7

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run_async(work()) == 7
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.guarantee("D10")
@pytest.mark.parametrize(("presses", "is_cut"), [(0, False), (1, False), (2, True)])
def test_pressed_when_a_run_is_just_over_it_is_heeded(
    home: Path, monkeypatch: pytest.MonkeyPatch, presses: int, *, is_cut: bool
) -> None:
    monkeypatch.setenv("ENDSTOP_HOME", str(home))
    heeded: list[str] = []

    async def work() -> int:
        async with open_app() as app:
            async with finishing_on_ctrl_c(app.runner, lambda: heeded.append("first")):
                await asyncio.sleep(0)
                for _ in range(presses):  # the loop does not come to anything more within this
                    press()
            return 0

    if is_cut:
        with pytest.raises(KeyboardInterrupt):
            run_async(work())
    else:
        assert run_async(work()) == 0
    assert heeded == ["first"][:presses]
