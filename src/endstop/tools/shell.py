"""The shell as a tool. For agents that are allowed it: it is in no default set."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from endstop.errors import InvalidValueError, ToolArgumentsError, ToolError, ToolRefusedError, brief
from endstop.kernel.texts import shortened
from endstop.tools.function import FunctionTool
from endstop.tools.processes import CommandResult, run_command

DEFAULT_TIMEOUT_S = 60.0
BACKSTOP_S = 5.0
"""The command is stopped by its own time limit first, so that its output so far is not lost."""
_SHELL_SIGNS = frozenset(";&|<>()`$\n")
_MOST_CHARS_OF_A_FAILURE = 2_000


def shell_tool(
    folder: str | Path, *, timeout_s: float = DEFAULT_TIMEOUT_S, allow: Sequence[str] | None = None
) -> FunctionTool[..., object]:
    """A tool ``shell`` that runs commands in ``folder``, with no secret in their environment.

    With ``allow``, such as ``("pytest", "git status")``, only commands that begin with these words run, and
    no shell reads them: no pipes, no ``;``, no ``$``.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidValueError("folder", str(folder), allowed="a folder that exists")
    allowed = None if allow is None else beginnings(allow)

    async def shell(command: Annotated[str, "What to run, as for sh -c"]) -> str:
        done = await run_command(
            as_allowed(command, allowed) if allowed is not None else command, cwd=root, timeout_s=timeout_s
        )
        return told(done, timeout_s=timeout_s)

    rule = "" if allow is None else f" Only these commands, without pipes and such: {', '.join(allow)}."
    return FunctionTool(
        shell,
        description="Run a command in the project folder. It cannot ask back, and nothing of it goes on in "
        f"the background. It may take {timeout_s:g} s.{rule}",
        changes_something=True,
        timeout_s=timeout_s + BACKSTOP_S,
    )


def told(done: CommandResult, *, timeout_s: float) -> str:
    """The result in words. That a command failed is a result, too; that it had to be killed is an error."""
    if done.timed_out:
        raise ToolError(
            f"The command did not end within {timeout_s:g} s and was killed, with all it had started",
            to_do=f"Its output so far: {shortened(done.output, _MOST_CHARS_OF_A_FAILURE) or '(none)'}",
        )
    said = f"exit code {done.exit_code}" if done.exit_code >= 0 else f"ended by signal {-done.exit_code}"
    return f"{said}\n{done.output}" if done.output else f"{said}, no output"


def beginnings(allow: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The words that allowed commands begin with."""
    if isinstance(allow, str):
        raise InvalidValueError("allow", allow, allowed='several commands: ("pytest", "git status")')
    return tuple(tuple(shlex.split(one)) for one in allow)


def as_allowed(command: str, allowed: tuple[tuple[str, ...], ...]) -> list[str]:
    """The words of the command, if it may run."""
    shown = ", ".join(shlex.join(one) for one in allowed) or "none"
    if _SHELL_SIGNS & set(command):
        raise ToolRefusedError(
            f"The command {brief(command)} uses signs of the shell",
            allowed=f"plain commands that begin with: {shown}",
            to_do="Run one plain command at a time",
        )
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ToolArgumentsError(f"The command {brief(command)} cannot be read: {error}") from error
    if not any(one and tuple(words[: len(one)]) == one for one in allowed):
        raise ToolRefusedError(
            f"The command {brief(command)} is not allowed",
            allowed=f"commands that begin with: {shown}",
            to_do="Use one of these, or do without",
        )
    return words
