"""The checks of ``endstop doctor`` where runs are handed to workers: the queue, the workers, who waits."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from endstop.cli.checked import Checked
from endstop.errors import EndstopError

if TYPE_CHECKING:
    from endstop.runner.scale.engine import Engine, QueueState

LONG_S = 60.0
"""Who waits for longer than this wants to know why."""

_START = "Start some: endstop worker --database URL"


async def queue_checks(url: str) -> list[Checked]:
    """Look at the queue of runs in a PostgreSQL database, changing nothing; no checks where there is none."""
    from endstop.runner.scale.engine import Engine
    from endstop.runner.scale.worker import SILENT_S

    engine = Engine(url, pool=1)
    try:
        await engine.open(only_looks=True)
        try:
            if not await engine.is_there():
                return []
            await engine.require_tables()
            return [
                _queue(),
                *_workers_and_waiting(await engine.state(silent_s=SILENT_S)),
                await _lost(engine),
            ]
        finally:
            await engine.close()
    except EndstopError as error:
        return [Checked(name="queue of runs", state="broken", detail=error.what, to_do=error.to_do)]


async def handed_out(url: str, run_ids: Collection[str]) -> frozenset[str]:
    """Which of these runs workers go on with, so that nobody else need; none where none are handed out."""
    from endstop.runner.scale.engine import Engine

    engine = Engine(url, pool=1)
    await engine.open(only_looks=True)
    try:
        return await engine.among(run_ids) if await engine.is_there() else frozenset()
    finally:
        await engine.close()


def _queue() -> Checked:
    from endstop.runner.scale.tables import installed_version

    detail = f"tables as Procrastinate {installed_version()} needs them"
    return Checked(name="queue of runs", state="ok", detail=detail)


def _workers_and_waiting(queue: QueueState) -> list[Checked]:
    if queue.workers:
        under_way = "no run" if not queue.under_way else _runs(queue.under_way)
        workers = Checked(
            name="workers", state="ok", detail=f"{queue.workers:,} alive, {under_way} under way"
        )
    else:
        workers = Checked(name="workers", state="attention", detail="none alive", to_do=_START)
    if queue.oldest_wait_s is None:
        return [workers, Checked(name="waiting runs", state="ok", detail="none")]
    detail = f"{queue.waiting:,}, the oldest for {_duration(queue.oldest_wait_s)}"
    if queue.oldest_wait_s < LONG_S and queue.workers:
        return [workers, Checked(name="waiting runs", state="ok", detail=detail)]
    to_do = (
        "Start more workers or raise --concurrency; see that limits (--per-user, --per-model) and --agents "
        "let them in, and in the workers' logs for runs that were parked"
        if queue.workers
        else _START
    )
    return [workers, Checked(name="waiting runs", state="attention", detail=detail, to_do=to_do)]


async def _lost(engine: Engine) -> Checked:
    lost = await engine.lost()
    if not lost:
        return Checked(name="lost runs", state="ok", detail="none")
    return Checked(
        name="lost runs",
        state="attention",
        detail=f"{_runs(len(lost))} under way by the record, in no queue and with no worker",
        to_do=f"Workers that are alive find them within seconds. {_START}, if there are none",
    )


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number:,} runs"


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
