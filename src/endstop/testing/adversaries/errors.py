"""Models that fail: as providers do, and as nobody should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType

from endstop.errors import (
    ModelAccessError,
    ModelBrokeOffError,
    ModelError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnreachableError,
    UnknownModelError,
)
from endstop.ports import ModelRequest
from endstop.testing.replies import ScriptedReply, fails, says
from endstop.testing.scripted_model import ScriptedModel


class Catastrophe(BaseException):
    """No ``Exception``: what catches all of those does not catch this one."""


PROVIDER_ERRORS: Mapping[str, Callable[[], ModelError]] = MappingProxyType(
    {
        "unknown_model": lambda: UnknownModelError("There is no model of that name"),
        "access": lambda: ModelAccessError("The API key is wrong"),
        "unreachable": lambda: ModelUnreachableError("Nobody answers at the address of the provider"),
        "overloaded": lambda: ModelOverloadedError("The provider is too busy"),
        "refused": lambda: ModelRefusedError("The provider will not take the request"),
        "broke_off": lambda: ModelBrokeOffError("The connection was lost before the first token"),
        "other": lambda: ModelError("The provider failed in a way of its own"),
    }
)
"""One of each kind of error that a model may fail with."""


class FailsForEver(ScriptedModel):
    """Fails with a new ``make_error()`` at every call. Tried again if that may help (D11), then ended."""

    def __init__(self, make_error: Callable[[], BaseException], *, name: str = "adversary:fails") -> None:
        super().__init__(self._fail, name=name)
        self._make_error = make_error

    def _fail(self, request: ModelRequest) -> ScriptedReply:  # noqa: ARG002 - replies are asked so
        return fails(self._make_error())


class Recovers(ScriptedModel):
    """Is too busy ``failures`` times and then answers. Tried again (D11), it completes: nothing to stop."""

    def __init__(self, *, failures: int = 2, answer: str = "Here is the answer, after all.") -> None:
        super().__init__(self._answer_at_last, name="adversary:recovers")
        self._failures = failures
        self._answer = answer

    def _answer_at_last(self, request: ModelRequest) -> ScriptedReply:  # noqa: ARG002 - replies are asked so
        if len(self.requests) > self._failures:
            return says(self._answer)
        return fails(ModelOverloadedError("The provider is too busy"))


def asks_to_wait_an_hour() -> FailsForEver:
    """Is too busy and asks to come back in an hour. Time, or giving up, ends it."""
    return FailsForEver(
        lambda: ModelOverloadedError("Too many requests", retry_after_s=3_600.0),
        name="adversary:asks-to-wait-an-hour",
    )


def raises_exception() -> FailsForEver:
    """Raises what is no ``ModelError``: a bug of the adapter. Ends the run, with its work saved."""
    return FailsForEver(lambda: Exception("a bug in the adapter"), name="adversary:raises-exception")


def raises_base_exception() -> FailsForEver:
    """Raises what is not even an ``Exception``. Ends the run, not the process."""
    return FailsForEver(lambda: Catastrophe("the worst"), name="adversary:raises-base-exception")


def raises_system_exit() -> FailsForEver:
    """Calls for the end of the process. Ends the run, not the process."""
    return FailsForEver(lambda: SystemExit(3), name="adversary:raises-system-exit")


def raises_cancelled() -> FailsForEver:
    """Raises ``CancelledError`` though nobody has cancelled it. Ends the run, as a failure of the model."""
    return FailsForEver(lambda: asyncio.CancelledError("not by you"), name="adversary:raises-cancelled")
