"""The garbage collector in programs of ours."""

import gc
import subprocess
import sys
from collections.abc import Generator

import pytest

from endstop.app.collector import set_collector


@pytest.fixture(autouse=True)
def collector_as_before() -> Generator[None, None, None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Knot:
    """Refers to itself, so that only the collector can free it."""

    freed = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Knot.freed += 1


def test_what_is_there_already_is_not_looked_through_again() -> None:
    before = gc.get_freeze_count()
    set_collector()
    assert gc.get_freeze_count() > before + 10_000


def test_garbage_is_still_collected_only_less_often() -> None:
    set_collector()
    often, _, _ = gc.get_threshold()
    Knot.freed = 0
    held: list[object] = []
    Knot()
    while not Knot.freed and len(held) < 3 * often:
        held.append([])
    assert 1_000 < len(held) < 3 * often


def test_importing_the_library_leaves_the_collector_alone() -> None:
    script = """
import gc
before = gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()
import endstop.app, endstop.app.collector
assert (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True)
