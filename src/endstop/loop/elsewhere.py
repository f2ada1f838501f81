"""Where sub-agents run as runs of their own: what is asked of such a place, and what records say of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from endstop.events.facts import ChildHandedOut
from endstop.events.recorder import Recorder
from endstop.kernel.ledger import CHILD_HOLD
from endstop.kernel.observation import UserSaid
from endstop.kernel.outcome import Ending
from endstop.kernel.usage import Usage
from endstop.loop.agent import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A sub-agent that runs as a run of its own."""

    run_id: str
    parent: str
    """The run it works for, and below, the scope there that holds its budget."""
    scope: str
    agent: str
    question: str = ""
    user: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of one, by its own record."""

    ending: Ending
    usage: Usage


class Elsewhere(Protocol):
    """Where sub-agents run as runs of their own."""

    def takes(self, agent: Agent, question: str) -> bool:
        """Whether it can be run there: it can be made anew from its record."""
        ...

    async def start(self, child: Child, agent: Agent) -> None:
        """Begin its record, and hand it out."""
        ...

    async def ended(self, child: Child) -> Report:
        """Wait until it has ended. Ceasing to wait does not stop it."""
        ...

    async def recall(self, child: Child) -> Report:
        """Have it end now, wherever it is and whether it was ever begun, and wait until it has."""
        ...


def handed_out(recorder: Recorder) -> dict[str, Child]:
    """The sub-agents elsewhere that are not settled yet, by their scopes."""
    accounts = recorder.state.ledger.accounts
    waiting = {name for name, account in accounts.items() if CHILD_HOLD in account.holds}
    found: dict[str, Child] = {}
    for fact in recorder.facts if waiting else ():
        match fact.payload:
            case ChildHandedOut(scope=scope, run_id=run_id, agent=agent) if scope in waiting:
                found[scope] = Child(
                    run_id=run_id,
                    parent=recorder.run_id,
                    scope=scope,
                    agent=agent,
                    user=recorder.started.user,
                    project=recorder.started.project,
                )
            case UserSaid(scope=scope, text=text) if scope in found:
                found[scope] = replace(found[scope], question=text)
            case _:
                pass
    return found
