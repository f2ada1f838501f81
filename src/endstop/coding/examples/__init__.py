"""Sessions that can be watched without a key: a script stands for the language model.

Everything else is real: the repository, the worktree, the files, the tests, the commits, and the code that
conducts a session. Only the price is made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from types import MappingProxyType

from endstop.coding.examples.accepted import ACCEPTED
from endstop.coding.examples.dear import DEAR
from endstop.coding.examples.example import Example
from endstop.coding.examples.sample_repository import make_sample_repository
from endstop.coding.examples.script import next_reply
from endstop.coding.examples.stuck import STUCK
from endstop.coding.examples.vague import VAGUE
from endstop.errors import InvalidValueError
from endstop.kernel.texts import closest
from endstop.ports import Model
from endstop.testing.counting import ScriptedPrice
from endstop.testing.scripted_model import ScriptedModel

__all__ = ["EXAMPLE", "EXAMPLES", "Example", "example_model", "make_sample_repository"]

EXAMPLE = "example:"
"""How the model of an example is named: this, and the name of the example."""

EXAMPLES: Mapping[str, Example] = MappingProxyType(
    {example.name: example for example in (ACCEPTED, VAGUE, DEAR, STUCK)}
)

_PRICE = ScriptedPrice(input_usd_per_million=Decimal(3), output_usd_per_million=Decimal(15))
"""Made up, so that there is something to see on the meters."""


def example_model(name: str) -> Model:
    """The model that plays the example of that name."""
    example = EXAMPLES.get(name)
    if example is None:
        meant = closest(name, EXAMPLES)
        raise InvalidValueError(
            "example",
            name,
            allowed=", ".join(EXAMPLES),
            to_do=f"Did you mean {meant}?" if meant else "Choose one of them",
        )
    return ScriptedModel(partial(next_reply, example.script), name=f"{EXAMPLE}{name}", price=_PRICE)
