"""Small words for tests of the ledger."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from endstop.errors import EndstopError
from endstop.kernel.amounts import Amounts
from endstop.kernel.budget import Budget
from endstop.kernel.ledger import Ledger


def with_tokens(tokens: int, *, finish_reserve: float = 0) -> Ledger:
    """The books of a run that may use so many tokens."""
    return Ledger.open(Budget(tokens=tokens, finish_reserve=finish_reserve))


def some(tokens: int) -> Amounts:
    return Amounts(tokens=tokens)


def assert_refused(
    ledger: Ledger, entry: Callable[[Ledger], object], error: type[EndstopError], words: str = "."
) -> None:
    """The entry is refused with that error, and the books are as they were."""
    before = repr(ledger)
    with pytest.raises(error, match=words):
        entry(ledger)
    assert repr(ledger) == before
