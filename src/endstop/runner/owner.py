"""Who works on a run: one process. So that another knows whether it may take the run on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from endstop.ports import StoredRun

BEAT_S = 2.0
"""How often a process says that it is alive."""

LET_GO_AT = 0.0
"""The last beat of a run whose process does not work on it any more, though it may live on."""

STALE_S = 15.0
"""A process that has not said so for this long is taken for dead. A false alarm is harmless: the store lets
only one of two append, and the other stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process on a machine."""

    machine: str
    process: int
    token: str

    @classmethod
    def this(cls) -> Owner:
        return cls(machine=_machine(), process=os.getpid(), token=os.urandom(4).hex())

    @classmethod
    def read(cls, text: str | None) -> Owner | None:
        machine, _, rest = (text or "").partition("/")
        process, _, token = rest.partition("/")
        return cls(machine=machine, process=int(process), token=token) if process.isdecimal() else None

    def __str__(self) -> str:
        return f"{self.machine}/{self.process}/{self.token}"

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine, so that we can look whether it lives."""
        return self.machine == _machine()

    @property
    def lives(self) -> bool:
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not self._is_zombie

    @property
    def _is_zombie(self) -> bool:
        """Dead, and not yet cleared away by its parent. Where there is no /proc, nobody can tell."""
        try:
            state = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        except OSError:
            return False
        return state.split()[:1] == ["Z"]


def is_worked_on(run: StoredRun, *, now: float) -> bool:
    """Whether some process seems to be at work on a run."""
    owner = Owner.read(run.owner)
    if owner is None or run.beat_at is None:
        return False
    if owner.is_here and not owner.lives:
        return False
    return now - run.beat_at < STALE_S


def _machine() -> str:
    """This machine, known by a fingerprint of its name: names of hosts have no business in a database."""
    return blake2b(platform.node().encode(), digest_size=4).hexdigest()
