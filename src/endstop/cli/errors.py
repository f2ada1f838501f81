"""What went wrong, in words on stderr, and the exit code that says so to a shell (I7, J1)."""

from __future__ import annotations

import json
import sys
from typing import Any

from endstop.cli.texts import clean
from endstop.errors import (
    AccessError,
    EndstopError,
    GrantRefusedError,
    InvalidValueError,
    PriceUnknownError,
    RepositoryError,
    RunStateError,
    TreeError,
    UnboundedError,
    UnknownModelError,
    UnknownRunError,
    UnknownTokenError,
    UnknownUserError,
    cause,
)

DEBUG = "ENDSTOP_DEBUG"
FAILURE = 1
USAGE = 2

_REFUSED = (
    InvalidValueError,
    UnboundedError,
    UnknownRunError,
    UnknownModelError,
    RunStateError,
    GrantRefusedError,
    PriceUnknownError,
    RepositoryError,
    TreeError,
    AccessError,
    UnknownUserError,
    UnknownTokenError,
)
"""What was asked cannot be done as it was asked, and nothing was done."""


class UsageError(EndstopError):
    """The command line cannot be read."""

    code = "usage"


class FaultError(EndstopError):
    """Something that nobody foresaw."""

    code = "fault"


def exit_code_of(error: EndstopError) -> int:
    return USAGE if isinstance(error, (*_REFUSED, UsageError)) else FAILURE


def tell(error: EndstopError, *, is_json: bool) -> None:
    """Say on stderr what happened, what is allowed and what to do."""
    if is_json:
        told = {"code": error.code, "what": error.what, "allowed": error.allowed, "to_do": error.to_do}
        text = json.dumps({"error": told})
    else:
        lines = [f"endstop: {_sentence(error.what)}"]
        if error.allowed:
            lines.append(f"  Allowed: {_sentence(error.allowed)}")
        if error.to_do:
            lines.append(f"  To do: {_sentence(error.to_do)}")
        text = clean("\n".join(lines))
    sys.stderr.write(text + "\n")


def usage_error(error: Any) -> UsageError:
    """What the parser of the command line has to say, as an error of ours."""
    context: Any = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "endstop")
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{context.get_help()}\n\n")
        return UsageError("No command was given", to_do=f"Name one of the commands above: {path} COMMAND")
    return UsageError(str(error.format_message()), to_do=f"See {path} --help")


def fault(error: Exception) -> FaultError:
    """An error nobody foresaw: said in words, with the way to see more."""
    return FaultError(
        f"Something went wrong that should not have: {cause(error)}",
        to_do=f"What was recorded is safe. Set {DEBUG}=1 to see where it happened, and report it",
    )


def _sentence(text: str) -> str:
    text = text.rstrip()
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."
