"""Every error Endstop raises, in one tree.

    EndstopError
    ├── InvalidValueError          a value outside its bounds (a limit, a threshold, an amount)
    ├── UnboundedError             nothing in the budget would ever end the run
    ├── LedgerError                the books refuse an entry; nothing was changed
    │   ├── NotEnoughLeftError     the reservation does not fit
    │   ├── UnknownReservationError  settled twice, or never made
    │   ├── OverReservationError   more was used than had been reserved
    │   ├── GrantRefusedError      an empty grant, or one past the cap
    │   └── ClosedAccountError     the run or scope has ended
    ├── ObservationError           what was reported cannot have happened (time or usage ran backwards)
    ├── PolicyError                a decision tree raised, or answered nonsense
    │   └── UnknownPolicyError     no decision tree of that name is registered
    ├── TreeError                  a behaviour tree cannot be used; carries all its problems
    │   └── UnknownTreeError       there is no tree of that name
    ├── RecordError                the record of a run cannot be read as it stands
    │   ├── MalformedFactError     not JSON, cut off, a field missing or of the wrong kind
    │   ├── UnknownFactError       a type this version has never heard of
    │   ├── NewerFactError         written by a newer version of Endstop
    │   └── FactOrderError         a fact is missing, doubled or out of order
    ├── ModelError                 a model call failed; says whether trying again may help
    │   ├── UnknownModelError      no such provider or model, or what it needs is not installed
    │   ├── ModelAccessError       the key is missing or wrong, or may not do this
    │   ├── ModelUnreachableError  nobody answers: no network, wrong address, server down
    │   ├── ModelOverloadedError   the provider is too busy, or broke down on its side
    │   ├── ModelRefusedError      the provider will not take the request as it is
    │   └── ModelBrokeOffError     the reply broke off in the middle
    ├── PriceUnknownError          a cost limit is set, and nobody knows the model's price
    ├── ToolError                  a tool call cannot be done
    │   ├── ToolArgumentsError     the arguments are not what the tool takes
    │   ├── ToolRefusedError       the tool may not do this
    │   └── UnknownToolError       there is no such tool
    ├── RepositoryError            a git repository cannot be used, or changed, as it is; says what to do
    ├── StoreError                 the database cannot be used as it is; says what to do
    │   ├── RecordTakenError       another process has written to the record: this one must stop
    │   ├── UnknownRunError        there is no such run
    │   ├── UnknownConversationError  there is no such conversation
    │   ├── UnknownUserError       there is no such user
    │   ├── UnknownTokenError      there is no such token
    │   └── NewerStoreError        the database was made by a newer version of Endstop
    ├── AccessError                nobody knows who calls: no token, or none that is good
    │   └── ForbiddenError         whoever it is, they may not do this from there
    ├── RequestError               a request to the server cannot be read as it is
    │   ├── RequestTooLargeError   it has more than the server takes
    │   └── RequestTooSlowError    it did not come in time
    ├── TooManyError               too much at once, or in a minute; says when to come again
    ├── RunStateError              the run is not in a state for this (finished, not paused, decided already)
    ├── EscalationError            the handler of a hard limit failed; carries the limit it was for
    └── IterationLimitError        a hard limit was reached: an ending, like end of file, not a failure

Each has a stable ``code`` and says what happened, what is allowed and what to do next. Reaching a
limit is not in this tree, save for ``IterationLimitError``: it is an ``Outcome``, a value.
"""

from __future__ import annotations

from typing import ClassVar

USE_ALLOWED = "Use a value that is allowed"


class EndstopError(Exception):
    """The root. ``what`` happened, what is ``allowed``, what ``to_do`` next."""

    code: ClassVar[str] = "endstop_error"

    def __init__(self, what: str, *, allowed: str = "", to_do: str = "") -> None:
        self.what = what
        self.allowed = allowed
        self.to_do = to_do
        parts = [_sentence(what)]
        if allowed:
            parts.append(f"Allowed: {_sentence(allowed)}")
        if to_do:
            parts.append(_sentence(to_do))
        super().__init__(" ".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross processes with all their fields, though their constructors differ."""
        return _rebuilt, (type(self), self.args, self.__dict__)


class InvalidValueError(EndstopError):
    """A value outside its bounds. ``field`` names it."""

    code = "invalid_value"

    def __init__(self, field: str, value: object, *, allowed: str, to_do: str = USE_ALLOWED) -> None:
        self.field = field
        self.value = value
        super().__init__(f"{field} is {brief(value)}", allowed=allowed, to_do=to_do)


class UnboundedError(EndstopError):
    """Nothing in the budget would ever end the run."""

    code = "unbounded"


class LedgerError(EndstopError):
    """The books refuse an entry. Nothing was changed."""

    code = "ledger_refused"


class NotEnoughLeftError(LedgerError):
    """A reservation asks for more than is left, in the run or in one of its ancestors."""

    code = "not_enough_left"


class UnknownReservationError(LedgerError):
    """A reservation is settled that is not open: settled already, or never made."""

    code = "unknown_reservation"


class OverReservationError(LedgerError):
    """A reservation is settled at more than was reserved."""

    code = "over_reservation"


class GrantRefusedError(LedgerError):
    """A grant of nothing, of something that has no limit, or past the cap on grants."""

    code = "grant_refused"


class ClosedAccountError(LedgerError):
    """The run or scope has ended: nothing can be added to it."""

    code = "closed_account"


class ObservationError(EndstopError):
    """What was reported cannot have happened, such as a clock that runs backwards."""

    code = "impossible_observation"


class PolicyError(EndstopError):
    """A decision tree raised, or answered with something that is not an answer."""

    code = "policy_failed"


class UnknownPolicyError(PolicyError):
    """No decision tree is registered under that name."""

    code = "unknown_policy"


class TreeError(EndstopError):
    """A behaviour tree cannot be used as it is written. ``problems`` has all of them, with file and line."""

    code = "tree_refused"

    def __init__(
        self, what: str, *, problems: tuple[str, ...] = (), allowed: str = "", to_do: str = ""
    ) -> None:
        self.problems = problems
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(what + (":" + listed if listed else ""), allowed=allowed, to_do=to_do)


class UnknownTreeError(TreeError):
    """There is no tree of that name."""

    code = "unknown_tree"


class RecordError(EndstopError):
    """The record of a run cannot be read as it stands."""

    code = "record_unreadable"


class MalformedFactError(RecordError):
    """Not JSON, cut off in the middle, a field missing or of the wrong kind."""

    code = "malformed_fact"


class UnknownFactError(RecordError):
    """A type of fact that this version has never heard of."""

    code = "unknown_fact"


class NewerFactError(RecordError):
    """A fact written by a newer version of Endstop."""

    code = "newer_fact"


class FactOrderError(RecordError):
    """A fact is missing, doubled or out of order."""

    code = "fact_order"


class ModelError(EndstopError):
    """A model call failed. ``is_retryable``: trying again may help, after ``retry_after_s`` if given."""

    code = "model_failed"
    is_retryable: bool = False

    def __init__(
        self, what: str, *, allowed: str = "", to_do: str = "", retry_after_s: float | None = None
    ) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(what, allowed=allowed, to_do=to_do)


class UnknownModelError(ModelError):
    """No such provider or model, or the package it needs is not installed."""

    code = "unknown_model"


class ModelAccessError(ModelError):
    """The key is missing or wrong, or it may not do this."""

    code = "model_access"


class ModelUnreachableError(ModelError):
    """Nobody answers: no network, a wrong address, a server that is down."""

    code = "model_unreachable"
    is_retryable = True


class ModelOverloadedError(ModelError):
    """The provider is too busy (429), or something broke on its side (5xx)."""

    code = "model_overloaded"
    is_retryable = True


class ModelRefusedError(ModelError):
    """The provider will not take the request as it is (4xx)."""

    code = "model_refused"


class ModelBrokeOffError(ModelError):
    """The reply broke off in the middle."""

    code = "model_broke_off"
    is_retryable = True


class PriceUnknownError(EndstopError):
    """A cost limit is set, and nobody knows what the model costs: the run does not start (A10)."""

    code = "price_unknown"


class ToolError(EndstopError):
    """A tool call cannot be done. The words are for the model."""

    code = "tool_failed"


class ToolArgumentsError(ToolError):
    """The arguments are not what the tool takes."""

    code = "tool_arguments"


class ToolRefusedError(ToolError):
    """The tool may not do this."""

    code = "tool_refused"


class UnknownToolError(ToolError):
    """There is no tool of that name."""

    code = "unknown_tool"


class RepositoryError(EndstopError):
    """A git repository cannot be used as it is, or not be changed in this way."""

    code = "repository"


class StoreError(EndstopError):
    """The database cannot be used as it is: locked, read-only, full, corrupt, out of reach."""

    code = "store_failed"


class RecordTakenError(StoreError):
    """Another process has written to the record meanwhile: this one must stop working on the run."""

    code = "record_taken"


class UnknownRunError(StoreError):
    """There is no run of that name."""

    code = "unknown_run"


class UnknownConversationError(StoreError):
    """There is no conversation of that name."""

    code = "unknown_conversation"


class UnknownUserError(StoreError):
    """There is no user of that name."""

    code = "unknown_user"


class UnknownTokenError(StoreError):
    """There is no token of that name."""

    code = "unknown_token"


class NewerStoreError(StoreError):
    """The database was made by a newer version of Endstop."""

    code = "newer_store"


class AccessError(EndstopError):
    """Nobody knows who calls: no token or cookie was sent, or none that is good (I6)."""

    code = "access_denied"


class ForbiddenError(AccessError):
    """Whoever calls, this may not be done from there: a page of others, a name that is not ours."""

    code = "access_forbidden"


class RequestError(EndstopError):
    """A request to the server cannot be read as it is."""

    code = "bad_request"


class RequestTooLargeError(RequestError):
    """A request has more than the server takes."""

    code = "too_large"


class RequestTooSlowError(RequestError):
    """A request did not come in time."""

    code = "too_slow"


class TooManyError(EndstopError):
    """Too much at once, or in a minute. ``retry_after_s``: when it is worth coming again."""

    code = "too_many"

    def __init__(self, what: str, *, allowed: str = "", to_do: str = "", retry_after_s: float) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(what, allowed=allowed, to_do=to_do)


class RunStateError(EndstopError):
    """The run is not in a state for this: it has finished, is not paused, was decided already."""

    code = "run_state"


class IterationLimitError(EndstopError):
    """A hard limit of an escalation was reached. An ending, like end of file; never a failure."""

    code = "iteration_limit"

    def __init__(self, key: str, limit: int, iteration: int) -> None:
        self.key = key
        self.limit = limit
        self.iteration = iteration
        super().__init__(f"iteration limit ({limit}) exceeded for key '{key}' at iteration {iteration}")

    def __str__(self) -> str:
        return self.what


class EscalationError(EndstopError):
    """The handler of a hard limit failed. The limit that was reached is still here, in ``limit``."""

    code = "escalation_failed"

    def __init__(self, limit: IterationLimitError, error: BaseException) -> None:
        self.limit = limit
        super().__init__(
            f"{limit}; its handler failed with {cause(error)}",
            to_do="The run has ended at its limit all the same, with its work saved; mend the handler",
        )


def _sentence(text: str) -> str:
    """``text`` with one mark at its end."""
    return text if text.endswith(("?", "!")) else text.rstrip(".") + "."


def _rebuilt(kind: type[EndstopError], args: tuple[object, ...], fields: dict[str, object]) -> EndstopError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def brief(value: object, *, most: int = 80) -> str:
    """A value as text for a person: short, and never an error itself, whatever the value is."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - not our object, and its repr may do anything
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= most else text[: most - 3] + "..."


def cause(error: BaseException) -> str:
    """An error of somebody else's for a message of ours: its kind and its words."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its str may do anything, too
        return type(error).__name__
