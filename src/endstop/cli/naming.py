"""Which run is meant: by its id, by the first letters of one, or by ``last``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from endstop.errors import InvalidValueError, UnknownRunError

if TYPE_CHECKING:
    from endstop.kernel.review import RunPhase
    from endstop.ports import Store, StoredRun

LAST = "last"
_PREFIX = "run_"
_MOST_SHOWN = 5
_PAGE = 10_000


async def find_run(store: Store, given: str) -> StoredRun:
    """The run that is meant. ``UnknownRunError`` if there is none, ``InvalidValueError`` if several fit."""
    if given == LAST:
        newest = await store.runs(most=1)
        if not newest:
            raise UnknownRunError("There is no run yet", to_do="Start some with endstop demo")
        return newest[0]
    try:
        return await store.run(given)
    except UnknownRunError:
        return await _by_first_letters(store, given)


async def all_runs(store: Store, *, phases: Iterable[RunPhase] = ()) -> list[StoredRun]:
    """Every run, newest first, however many."""
    phases = tuple(phases)
    found: list[StoredRun] = []
    before: float | None = None
    while True:
        page = await store.runs(phases=phases, most=_PAGE, before=before)
        found += page
        if len(page) < _PAGE:
            return found
        before = page[-1].started_at


async def _by_first_letters(store: Store, given: str) -> StoredRun:
    found = [
        run
        for run in await all_runs(store)
        if given and (run.run_id.startswith(given) or run.run_id.startswith(_PREFIX + given))
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownRunError(
            f"There is no run {given!r}",
            allowed='the id of a run, its first letters, or "last"',
            to_do="See them all with endstop runs --all",
        )
    shown = ", ".join(run.run_id for run in found[:_MOST_SHOWN]) + (" …" if len(found) > _MOST_SHOWN else "")
    raise InvalidValueError(
        "RUN",
        given,
        allowed=f"letters that only one run begins with; {len(found)} do: {shown}",
        to_do="Give more of its id",
    )
