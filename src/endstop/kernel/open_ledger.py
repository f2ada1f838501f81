"""A ledger that is being written: entries are made in place, for whoever keeps it to himself.

Making every entry in a copy is most of what an entry costs. A run that is under way makes several in each
turn, and nobody looks at the ledger between them; once somebody does, it is closed and handed out as a value.
"""

from __future__ import annotations

from typing import Any

from endstop.kernel.amounts import NOTHING, Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.ledger import Ledger, close_accounts, enter


class OpenLedger(Ledger):
    """The same ledger after an entry as before it, with the entry made.

    An entry that is refused changes nothing here either, for every check comes before the first change. What
    opens and closes accounts or adds to them is rare, and done to the closed ledger.
    """

    __slots__ = ()
    __setattr__ = object.__setattr__

    def closed(self) -> Ledger:
        """The ledger as a value. No copy is taken: it is open no longer."""
        close_accounts(self.accounts)
        ledger: Any = self
        ledger.__class__ = Ledger
        return ledger

    def grant(self, name: str, grant: Grant) -> Ledger:
        return self.closed().grant(name, grant)

    def carve(self, parent: str, child: str, budget: Budget) -> Ledger:
        return self.closed().carve(parent, child, budget)

    def close(self, name: str) -> Ledger:
        return self.closed().close(name)

    def _enter(
        self,
        name: str,
        reservation: str | None = None,
        held: Amounts | None = None,
        *,
        reserve: Amounts = NOTHING,
        release: Amounts = NOTHING,
        settle: Amounts = NOTHING,
        overrun: Amounts = NOTHING,
    ) -> Ledger:
        accounts: Any = self.accounts
        enter(accounts, name, reservation, held, reserve, release, settle, overrun)
        return self


def open_ledger(ledger: Ledger) -> OpenLedger:
    """A copy to write to. Its accounts are copied when they are first written to."""
    opened: Any = object.__new__(OpenLedger)
    opened.accounts = dict(ledger.accounts)
    return opened
