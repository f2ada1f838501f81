"""The books of a run: nothing is spent that was not reserved first.

Per account and kind: ``maximum + granted − settled − reserved − overrun = remaining``. A scope (a
sub-agent, a phase, a branch) has an account of its own. What it is given is *carved*: reserved in its
parent for as long as it is open, and settled there at what it used when it closes. What a scope has no
limit of its own for, it draws from its ancestors. An entry is made in all accounts or in none.

The ledger is a value: every operation returns the next ledger and leaves this one as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar, cast

from endstop.errors import (
    ClosedAccountError,
    GrantRefusedError,
    LedgerError,
    NotEnoughLeftError,
    OverReservationError,
    UnknownReservationError,
)
from endstop.kernel.account import Account
from endstop.kernel.amounts import NOTHING, SPENT_KINDS, Amounts
from endstop.kernel.budget import Budget, Grant
from endstop.kernel.evolve import draft, quick
from endstop.kernel.limits import LIMIT_FACTS, LimitKind, Number, plus, shown

_GRANTABLE = (*SPENT_KINDS, LimitKind.SECONDS)
_Count = TypeVar("_Count", int, Decimal)

ROOT = "run"
"""The name of a run's own account, the ancestor of all others."""

CHILD_HOLD = "child"
"""The reservation, in its scope, of all that a sub-agent may use which runs as a run of its own."""

_TURN, _SCOPE = "turn:", "scope:"


def turn_hold(turn: int) -> str:
    """The name of the reservation that a turn under way holds."""
    return f"{_TURN}{turn}"


def scope_hold(child: str) -> str:
    """The name of the reservation that an open scope holds in its parent."""
    return f"{_SCOPE}{child}"


def is_call_hold(reservation: str) -> bool:
    """Whether a reservation is a model call's own, and not a turn's or a scope's."""
    return not reservation.startswith((_TURN, _SCOPE))


@quick
@dataclass(frozen=True, slots=True)
class Ledger:
    """All accounts of a run that are open, by their names."""

    accounts: Mapping[str, Account]

    @classmethod
    def open(cls, budget: Budget) -> Ledger:
        return cls({ROOT: Account(id=ROOT, budget=budget)})

    def account(self, name: str) -> Account:
        try:
            return self.accounts[name]
        except KeyError:
            raise ClosedAccountError(
                f"There is no open account {name!r}",
                allowed=", ".join(self.accounts) or "none: the run has ended",
                to_do="A run or scope that has ended takes no more entries; open a new one",
            ) from None

    def left(self, name: str, kind: LimitKind, *, closing: bool = False) -> Number | None:
        """What can still be reserved for ``name``, its ancestors considered; None if nothing limits it.

        The finish reserve of every account on the way is kept, save that a closing turn may use its own.
        """
        if kind not in SPENT_KINDS:
            return None  # time passes and ceilings stand: neither is reserved
        for account in self.lineage(name):
            rest = account.left(kind, keep_finish=not closing or account.id != name)
            if rest is not None:
                return rest  # what was carved for this account is held by its ancestors already
        return None

    def fit(self, name: str, asked: Amounts, *, closing: bool = False) -> Amounts:
        """``asked``, clamped to what is left."""
        if asked.is_nothing:
            return NOTHING
        return Amounts(
            turns=self._clamped(name, LimitKind.TURNS, asked.turns, closing),
            model_calls=self._clamped(name, LimitKind.MODEL_CALLS, asked.model_calls, closing),
            tokens=self._clamped(name, LimitKind.TOKENS, asked.tokens, closing),
            cost_usd=self._clamped(name, LimitKind.COST_USD, asked.cost_usd, closing),
        )

    def reserve(self, name: str, reservation: str, amounts: Amounts, *, closing: bool = False) -> Ledger:
        """Set ``amounts`` aside in ``name`` and all its ancestors, or raise and set nothing aside."""
        account = self.account(name)
        if reservation in account.holds:
            raise LedgerError(
                f"A reservation {reservation!r} is open already in {name!r}",
                to_do="Settle it first, or give this one a name of its own",
            )
        if closing or account.parent is not None or not account.has_room(amounts):
            self._require_room(name, amounts, closing=closing)
        return self._enter(name, reservation, amounts, reserve=amounts)

    def top_up(self, name: str, reservation: str, more: Amounts, *, closing: bool = False) -> Ledger:
        """Make an open reservation larger, or raise and change nothing."""
        held = self.held(name, reservation)
        self._require_room(name, more, closing=closing)
        return self._enter(name, reservation, held.plus(more), reserve=more)

    def settle(self, name: str, reservation: str, used: Amounts, *, final: bool = True) -> Ledger:
        """Enter what was really used; with ``final``, give the rest of the reservation back."""
        held = self.held(name, reservation)
        if reservation.startswith(_SCOPE) and reservation.removeprefix(_SCOPE) in self.children(name):
            raise LedgerError(f"{reservation!r} is held for an open scope", to_do="Close the scope instead")
        if used is not held and not used.is_within(held):
            raise OverReservationError(
                f"{_listed(used)} used, but only {_listed(held)} reserved in {reservation!r}",
                allowed="at most what was reserved; the reservation is still open",
                to_do="Top up the reservation first, or enter the excess with overrun()",
            )
        rest = None if final else held.minus(used)
        return self._enter(name, reservation, rest, release=held if final else used, settle=used)

    def overrun(self, name: str, amounts: Amounts) -> Ledger:
        """Enter what was used past every reservation. It counts as used, and every audit will show it."""
        if amounts.is_nothing:
            return self
        return self._enter(self.account(name).id, overrun=amounts)

    def held(self, name: str, reservation: str) -> Amounts:
        """What an open reservation still holds."""
        held = self.account(name).holds.get(reservation)
        if held is None:
            raise UnknownReservationError(
                f"There is no open reservation {reservation!r} in {name!r}",
                allowed=", ".join(self.account(name).holds) or "none is open",
                to_do="A reservation is settled once; reserve again before the next call",
            )
        return held

    def grant(self, name: str, grant: Grant) -> Ledger:
        """Add to the limits of an account. A scope is granted only what its parent has left."""
        account = self.account(name)
        for kind in _GRANTABLE:
            _require_grantable(account, kind, grant)
        granted = replace(
            account,
            granted=account.granted.plus(grant.amounts),
            granted_s=account.granted_s + grant.seconds,
        )
        if account.parent is None:
            return self._with_account(granted)
        larger = self.top_up(account.parent, scope_hold(name), grant.amounts)
        return larger._with_account(granted)

    def carve(self, parent: str, child: str, budget: Budget) -> Ledger:
        """Open an account with at most ``budget``, taken from what ``parent`` has left."""
        if child in self.accounts:
            raise LedgerError(f"There is an open account {child!r} already", to_do="Use a name of its own")
        asked = Amounts(
            turns=budget.turns or 0,
            model_calls=budget.model_calls or 0,
            tokens=budget.tokens or 0,
            cost_usd=budget.cost_usd or Decimal(0),
        )
        allowance = self.fit(parent, asked)
        for kind in SPENT_KINDS:
            if asked.of(kind) and allowance.of(kind) < LIMIT_FACTS[kind].smallest:
                raise NotEnoughLeftError(
                    f"{parent!r} has no {kind.value} left to give to {child!r}",
                    allowed="a part of what is left, beyond what is held back for the closing turn",
                    to_do="Close what is open, grant more, or finish the run",
                )
        carved = replace(
            budget,
            turns=allowance.turns or None,
            model_calls=allowance.model_calls or None,
            tokens=allowance.tokens or None,
            cost_usd=allowance.cost_usd or None,
        )
        opened = self.reserve(parent, scope_hold(child), allowance)
        return opened._with_account(Account(id=child, parent=parent, budget=carved))

    def close(self, name: str) -> Ledger:
        """Close an account: what it did not use flows back to its parent, exactly."""
        account = self.account(name)
        if account.holds:
            raise LedgerError(
                f"{name!r} cannot close: still open are {', '.join(account.holds)}",
                to_do="Settle its reservations and close its scopes first",
            )
        closed = Ledger({key: value for key, value in self.accounts.items() if key != name})
        if account.parent is None:
            return closed
        own_kinds = tuple(kind for kind in SPENT_KINDS if account.budget.maximum(kind) is not None)
        settled = closed.settle(account.parent, scope_hold(name), account.settled.only(own_kinds))
        past = account.overrun.only(own_kinds)
        return settled if past.is_nothing else settled.overrun(account.parent, past)

    def children(self, name: str) -> tuple[str, ...]:
        """The open scopes directly below ``name``."""
        return tuple(account.id for account in self.accounts.values() if account.parent == name)

    def lineage(self, name: str) -> Iterator[Account]:
        """The account and its ancestors, up to the root."""
        current: str | None = name
        while current is not None:
            account = self.account(current)
            yield account
            current = account.parent

    def _clamped(self, name: str, kind: LimitKind, asked: _Count, closing: bool) -> _Count:
        left = self.left(name, kind, closing=closing) if asked else None
        return asked if left is None else min(asked, cast("_Count", left))

    def has_plenty(self, name: str, amounts: Amounts) -> bool:
        """Whether the account and every ancestor are far enough from their limits to give this much."""
        account = self.account(name)
        while account.has_room(amounts):
            if account.parent is None:
                return True
            account = self.accounts[account.parent]
        return False

    def _require_room(self, name: str, amounts: Amounts, *, closing: bool) -> None:
        if not closing and self.has_plenty(name, amounts):
            return
        for kind in SPENT_KINDS:
            wanted = amounts.of(kind)
            if not wanted:
                continue
            left = self.left(name, kind, closing=closing)
            if left is not None and wanted > left:
                raise NotEnoughLeftError(
                    f"{shown(kind, wanted)} {kind.value} asked for in {name!r}, {shown(kind, left)} left",
                    allowed="at most what is left in the run and all its ancestors",
                    to_do="Ask for less, take the closing turn, or have more granted",
                )

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
        """One entry, in every account that bears it. The reservation it belongs to is held in ``name``, at
        ``held`` from now on; None: it is open no longer."""
        accounts = dict(self.accounts)
        enter(accounts, name, reservation, held, reserve, release, settle, overrun)
        close_accounts(accounts)
        return Ledger(accounts)

    def _with_account(self, changed: Account) -> Ledger:
        return Ledger({**self.accounts, changed.id: changed})


def enter(
    accounts: dict[str, Account],
    name: str,
    reservation: str | None,
    held: Amounts | None,
    reserve: Amounts,
    release: Amounts,
    settle: Amounts,
    overrun: Amounts,
) -> None:
    """Make an entry in accounts that are the caller's own to write to.

    A kind stops rising at the account it was carved for: its ancestors hold the carve already.
    """
    kinds: tuple[LimitKind, ...] = SPENT_KINDS
    account: Any = accounts[name]
    if account.__class__ is Account:
        account = _opened(accounts, name)
    if held is not None:
        account.holds[reservation] = held
    elif reservation is not None:
        del account.holds[reservation]
    while True:
        if reserve is not NOTHING:
            account.reserved = account.reserved.plus(reserve)
        if release is not NOTHING:
            account.reserved = account.reserved.minus(release)
        if settle is not NOTHING:
            account.settled = account.settled.plus(settle)
        if overrun is not NOTHING:
            account.overrun = account.overrun.plus(overrun)
        if account.parent is None:
            return
        kinds = tuple(kind for kind in kinds if kind not in account.budget.limits)
        if not kinds:
            return
        reserve, release = reserve.only(kinds), release.only(kinds)
        settle, overrun = settle.only(kinds), overrun.only(kinds)
        account = _opened(accounts, account.parent)


def _opened(accounts: dict[str, Account], name: str) -> Any:
    """An account as a draft of its own, to be written to."""
    account: Any = accounts[name]
    if account.__class__ is Account:
        account = accounts[name] = draft(account)
        account.holds = dict(account.holds)
    return account


def close_accounts(accounts: Mapping[str, Account]) -> None:
    """Make the accounts that were opened into values again."""
    for account in accounts.values():
        if account.__class__ is not Account:
            account.__class__ = Account


def _listed(amounts: Amounts) -> str:
    parts = [f"{shown(kind, amounts.of(kind))} {kind.value}" for kind in SPENT_KINDS if amounts.of(kind)]
    return ", ".join(parts) or "nothing"


def _require_grantable(account: Account, kind: LimitKind, grant: Grant) -> None:
    more = grant.seconds if kind is LimitKind.SECONDS else grant.amounts.of(kind)
    if not more:
        return
    first = account.budget.maximum(kind)
    if first is None:
        raise GrantRefusedError(
            f"{account.id!r} has no {LIMIT_FACTS[kind].word} limit to add to",
            allowed=", ".join(kind for kind in _GRANTABLE if kind in account.budget.limits)
            or "nothing: no limit is set",
            to_do="Grant only what the budget limits",
        )
    before = account.granted_s if kind is LimitKind.SECONDS else account.granted.of(kind)
    most = account.budget.most_granted(kind)
    total = plus(before, more)
    if kind is LimitKind.SECONDS:
        total, most = round(float(total), 6), round(float(most), 6)  # parts of a second do not add up exactly
    if total > most:
        raise GrantRefusedError(
            f"{shown(kind, more)} more {kind.value} would pass the cap on grants: {shown(kind, before)} "
            f"granted so far, {shown(kind, most)} in all",
            allowed=f"at most {account.budget.grant_cap:g} times the first limit, all grants together",
            to_do="Grant less, or start a new run with a larger budget",
        )
