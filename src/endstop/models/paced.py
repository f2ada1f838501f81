"""Models that are called only so often, by all who share a gate: for the rate limits of providers.

A gate knows when the next call of a model may be made. In one process the calls of a model go through it one
after the other, so each process holds one moment at most: one that dies, or is told to end, wastes no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from decimal import Decimal
from typing import Any

from endstop.errors import InvalidValueError, StoreError
from endstop.ports import Message, Model, ModelRequest, ModelUsage, Piece, ThoughtPiece, ToolSpec

SIGN_EVERY_S = 15.0
"""So often a call that waits says that it is alive: it is not the provider that is silent."""

LEAST_PER_MINUTE = 0.01
MOST_PER_MINUTE = 1_000_000.0

_AGAIN_S = 1.0

TakeMoment = Callable[[str, float], Awaitable[float]]
"""Takes the next moment of a model that may be called so often per minute; how many seconds it is away.
``StoreError`` if nobody can say."""


class Gate:
    """Where calls wait for their moment."""

    def __init__(self, per_minute: Mapping[str, float], take: TakeMoment) -> None:
        """``per_minute``: how often models may be called, by their names; others are not held up."""
        for name, calls in per_minute.items():
            _require_rate(name, calls)
        self._per_minute = dict(per_minute)
        self._take = take
        self._turns: dict[str, asyncio.Lock] = {}

    def paced(self, model: Model) -> Model:
        """The model, called only so often; the model itself if it has no rate."""
        return Paced(model, self) if model.name in self._per_minute else model

    async def wait(self, model: str) -> None:
        """Wait until the model may be called. Nobody is let through because the gate cannot be asked."""
        per_minute = self._per_minute[model]
        async with self._turns.setdefault(model, asyncio.Lock()):  # first come, first served
            while True:
                with suppress(StoreError):
                    await asyncio.sleep(await self._take(model, per_minute))
                    return
                await asyncio.sleep(_AGAIN_S)


class Paced:
    """A model whose calls wait at a gate. In all else it is the one it stands for.

    It waits inside the call, so the time limit of the run holds, and whoever cancels cuts it short at once.
    """

    def __init__(self, model: Model, gate: Gate, *, sign_every_s: float = SIGN_EVERY_S) -> None:
        self._model = model
        self._gate = gate
        self._sign_every_s = sign_every_s

    @property
    def name(self) -> str:
        return self._model.name

    def count(
        self, *, system: str = "", tools: Sequence[ToolSpec] = (), messages: Iterable[Message] = ()
    ) -> int:
        return self._model.count(system=system, tools=tools, messages=messages)

    def cost_usd(self, usage: ModelUsage) -> Decimal | None:
        return self._model.cost_usd(usage)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        waiting = asyncio.ensure_future(self._gate.wait(self.name))
        try:
            while not (await asyncio.wait((waiting,), timeout=self._sign_every_s))[0]:
                yield ThoughtPiece(text="")
            waiting.result()
        finally:
            waiting.cancel()
        pieces: Any = self._model.stream(request)
        async with aclosing(aiter(pieces)):  # whoever closes this one ends the call at the provider, too
            async for piece in pieces:
                yield piece


def _require_rate(model: str, per_minute: float) -> None:
    if not LEAST_PER_MINUTE <= per_minute <= MOST_PER_MINUTE:  # NaN included
        raise InvalidValueError(
            "rate",
            f"{model}={per_minute:g}",
            allowed=f"{LEAST_PER_MINUTE:g} to {MOST_PER_MINUTE:,.0f} calls per minute",
            to_do="Give what the provider allows, or leave it out for a model without a rate",
        )
