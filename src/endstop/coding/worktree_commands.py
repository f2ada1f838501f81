"""The commands of a worktree as tools: any command, confined; and the project's tests."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated

from endstop.coding.testing import TestCommand, project_environment, run_tests, told
from endstop.errors import ToolArgumentsError, ToolError, ToolRefusedError, brief
from endstop.kernel.texts import shortened
from endstop.tools.confinement import Confinement
from endstop.tools.function import FunctionTool

_BACKSTOP_S = 5.0
"""A command is stopped by its own time limit first, so that its output so far is not lost."""
_SHELL_SIGNS = frozenset(";&|<>()`$\n")
_MOST_CHARS_OF_A_FAILURE = 2_000


def command_tool(
    confinement: Confinement,
    tests: TestCommand | None = None,
    *,
    seconds: float,
    allow: Sequence[str] | None,
) -> FunctionTool[..., object]:
    """``run_command``. With ``allow`` only commands that begin with these words, and no shell reads them.

    What ``tests`` are run by is there for other commands, too.
    """
    own: Mapping[str, str] = {} if tests is None else tests.environment

    async def run_command(command: Annotated[str, "What to run, as for sh -c"]) -> str:
        done = await confinement.run(
            command if allow is None else _as_allowed(command, allow),
            timeout_s=seconds,
            env={**project_environment(confinement.folder), **own},
            readable=() if tests is None else tests.readable,
        )
        if done.timed_out:
            raise ToolError(
                f"The command did not end within {seconds:g} s and was killed, with all it had started",
                to_do=f"Its output so far: {shortened(done.output, _MOST_CHARS_OF_A_FAILURE) or '(none)'}",
            )
        said = f"exit code {done.exit_code}" if done.exit_code >= 0 else f"ended by signal {-done.exit_code}"
        return f"{said}\n{done.output}" if done.output else f"{said}, no output"

    rule = "" if allow is None else f" Only these, without pipes and such: {', '.join(allow) or 'none'}."
    return FunctionTool(
        run_command,
        description="Run a command in the project folder. It can write there only, cannot ask back, and "
        f"nothing of it goes on in the background. It may take {seconds:g} s.{rule}",
        changes_something=True,
        timeout_s=seconds + _BACKSTOP_S,
    )


def tests_tool(
    confinement: Confinement, command: TestCommand, *, seconds: float
) -> FunctionTool[..., object]:
    """``run_tests``: the same tests that decide about the round."""

    async def run_tests_tool() -> str:
        run = await run_tests(command, confinement, round=0, after="", seconds=seconds)
        return told(run)

    return FunctionTool(
        run_tests_tool,
        name="run_tests",
        description=f"Run the tests of the project ({command.text}) and see which fail. They may take "
        f"{seconds:g} s.",
        idempotent=True,
        timeout_s=seconds + _BACKSTOP_S,
    )


def _as_allowed(command: str, allow: Sequence[str]) -> list[str]:
    """The words of the command, if it may run."""
    allowed = f"plain commands that begin with: {', '.join(allow) or 'none'}"
    if _SHELL_SIGNS & set(command):
        raise ToolRefusedError(
            f"The command {brief(command)} uses signs of the shell",
            allowed=allowed,
            to_do="Run one plain command at a time",
        )
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ToolArgumentsError(f"The command {brief(command)} cannot be read: {error}") from error
    beginnings = [shlex.split(one) for one in allow]
    if not any(one and words[: len(one)] == one for one in beginnings):
        raise ToolRefusedError(
            f"The command {brief(command)} is not allowed",
            allowed=allowed,
            to_do="Use one of these, or do without",
        )
    return words
