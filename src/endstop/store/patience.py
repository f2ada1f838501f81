"""Who can wait: what works on runs gives way to people who wait for an answer.

Runs that a server works on are many, and nobody waits for the next millisecond of one. Somebody who saves a
setting does. So the work of runs is marked, and whoever hands out time looks at the mark: the lanes of the
store here, the event loop of the server. Without a mark nothing gives way, and all is done in its order.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

is_patient: ContextVar[bool] = ContextVar("is_patient", default=False)
"""Set in the context of a task, and so in all that it starts."""


def be_patient() -> None:
    """From here on, this task and all that it starts give way."""
    is_patient.set(True)


@contextmanager
def impatient() -> Generator[None]:
    """What is begun in here does not give way, whoever begins it."""
    before = is_patient.set(False)
    try:
        yield
    finally:
        is_patient.reset(before)
