"""On what terms the next model call can be made: its output clamped to what is left, or not at all (A6).

What only fits with the finish reserve is made as the closing call; what does not fit even so is refused,
and the limit that refuses it is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from endstop.kernel.amounts import Amounts, dollars, sound
from endstop.kernel.evolve import maker, quick
from endstop.kernel.ledger import Ledger
from endstop.kernel.limits import LimitKind, whole
from endstop.kernel.state import GovernorState

LEAST_OUTPUT = 64
"""With less room than this an ordinary call is not worth making: it becomes the closing one."""

CostOf = Callable[[int, int], Decimal | None]
"""The cost of a call by its input and output tokens; None when nobody knows."""

_NO_MONEY = Decimal(0)
_ONE_TURN = Amounts(turns=1)
_MOST_TOKENS = 10**15


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CallTerms:
    """What to reserve for a call, and how long its reply may be."""

    amounts: Amounts
    max_output_tokens: int
    closing: LimitKind | None = None

    @property
    def input_tokens(self) -> int:
        return self.amounts.tokens - self.max_output_tokens


_terms = maker(CallTerms)


def call_terms(
    ledger: Ledger,
    scope: str,
    *,
    input_tokens: int,
    output_cap: int,
    cost_of: CostOf,
    closing: LimitKind | None,
    is_in_turn: bool = False,
) -> CallTerms | LimitKind:
    """The terms of the next call, or the limit that allows none.

    ``is_in_turn``: the turn has begun, so the call can no longer become the closing one.
    """
    wanted = _amounts(input_tokens, output_cap, cost_of)
    is_turn_free = is_in_turn or ledger.has_plenty(scope, _ONE_TURN)
    if closing is None and is_turn_free and ledger.has_plenty(scope, wanted):
        return _terms(amounts=wanted, max_output_tokens=output_cap)
    counted = (LimitKind.MODEL_CALLS,) if is_in_turn else (LimitKind.TURNS, LimitKind.MODEL_CALLS)
    room = _Room(ledger, scope, input_tokens, output_cap, cost_of, counted)
    output, short = room.found(closing=closing is not None)
    is_too_little = closing is None and short is not None and output < min(LEAST_OUTPUT, output_cap)
    if is_too_little and not is_in_turn:
        closing = short
        output, short = room.found(closing=True)
    if output < 1:
        return short or LimitKind.TOKENS
    amounts = _amounts(input_tokens, output, cost_of)
    return _terms(amounts=amounts, max_output_tokens=output, closing=closing)


def _amounts(input_tokens: int, output: int, cost_of: CostOf) -> Amounts:
    """What a call takes at most."""
    tokens = input_tokens + output
    if type(tokens) is not int or not 0 <= tokens <= _MOST_TOKENS:
        whole("tokens", tokens, smallest=0, largest=_MOST_TOKENS)
    cost = cost_of(input_tokens, output)
    money = _NO_MONEY if cost is None else dollars("cost_usd", cost)
    return sound(model_calls=1, tokens=tokens, cost_usd=money)


def time_left_s(state: GovernorState, scope: str, *, at_s: float, closing: bool) -> float | None:
    """How long a call may take that begins now; None where no time limit is set.

    An ordinary call leaves the closing turn its part; a scope leaves those above it theirs.
    """
    left: float | None = None
    charged_s = at_s - state.waited_s
    name: str | None = scope
    while name is not None:
        account = state.ledger.account(name)
        limit = account.budget.limits.get(LimitKind.SECONDS)
        if limit is not None:
            kept = 0.0 if closing and name == scope else float(limit.finish)
            used = charged_s - state.scopes[name].opened_charged_s
            own = float(limit.maximum) + account.granted_s - kept - used
            left = own if left is None or own < left else left
        name = account.parent
    return left


@dataclass(frozen=True, slots=True)
class _Room:
    """The room there is for one call."""

    ledger: Ledger
    scope: str
    input_tokens: int
    output_cap: int
    cost_of: CostOf
    counted: tuple[LimitKind, ...]
    """What the call takes one of."""

    def found(self, *, closing: bool) -> tuple[int, LimitKind | None]:
        """How many tokens of output fit, and the limit that makes them fewer than the cap."""
        for kind in self.counted:
            left = self.ledger.left(self.scope, kind, closing=closing)
            if left is not None and left < 1:
                return 0, kind
        output, short = self.output_cap, None
        tokens_left = self.ledger.left(self.scope, LimitKind.TOKENS, closing=closing)
        if tokens_left is not None and self.input_tokens + output > tokens_left:
            output, short = int(tokens_left) - self.input_tokens, LimitKind.TOKENS
        money_left = self.ledger.left(self.scope, LimitKind.COST_USD, closing=closing)
        if money_left is not None:
            money = Decimal(money_left)
            if not _fits(self.cost_of, self.input_tokens, max(output, 0), money):
                return _most_output(self.cost_of, self.input_tokens, output, money), LimitKind.COST_USD
        return output, short


def _fits(cost_of: CostOf, input_tokens: int, output: int, money_left: Decimal) -> bool:
    cost = cost_of(input_tokens, output)
    return cost is None or dollars("cost_usd", cost) <= money_left


def _most_output(cost_of: CostOf, input_tokens: int, too_much: int, money_left: Decimal) -> int:
    """The most output that the money pays for, by halving: prices need not be linear, only rise."""
    enough = 0
    while too_much - enough > 1:
        middle = (enough + too_much) // 2
        if _fits(cost_of, input_tokens, middle, money_left):
            enough = middle
        else:
            too_much = middle
    return enough
