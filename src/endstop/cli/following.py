"""``--continue``: which run a question follows (E10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from endstop.errors import RunStateError

if TYPE_CHECKING:
    from endstop.ports import Store, StoredRun

CONTINUE = "--continue"
THE_LAST = ""
"""What stands for the last conversation, where no run is named."""

_RUN = re.compile(r"last|run_\w+|[0-9a-f]{3,12}")
_PAGE = 200


def with_continue(arguments: Sequence[str]) -> list[str]:
    """The command line with a value for ``--continue``, which the parser wants it to have.

    What follows it is its value only if it looks like a run: else it is the question.
    """
    given = list(arguments)
    if given[:1] != ["ask"]:
        return given
    end = given.index("--") if "--" in given else len(given)
    for place in range(end - 1, 0, -1):
        if given[place] == CONTINUE:
            named = given[place + 1] if place + 1 < end and _RUN.fullmatch(given[place + 1]) else None
            given[place : place + (1 if named is None else 2)] = [f"{CONTINUE}={named or THE_LAST}"]
    return given


async def followed_run(store: Store, given: str, *, user: str, project: str) -> StoredRun:
    """The run that a question follows: the one that is named, or the user's last one in this project."""
    from endstop.cli.naming import find_run

    if given != THE_LAST:
        return await find_run(store, given)
    before: float | None = None
    while page := await store.runs(user=user, project=project, most=_PAGE, before=before):
        for run in page:
            if run.conversation_id is not None:
                return run
        before = page[-1].started_at
    raise RunStateError(
        f"There is no conversation of {user} about {project} to go on with",
        to_do=f"Ask without {CONTINUE}, or name a run: {CONTINUE} RUN",
    )
