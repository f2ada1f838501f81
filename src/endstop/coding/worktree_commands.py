"""The commands of a worktree as tools: any command, confined; and the project's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from endstop.coding.testing import TestCommand, project_environment, run_tests, told
from endstop.tools.confinement import Confinement
from endstop.tools.function import FunctionTool
from endstop.tools.shell import BACKSTOP_S, as_allowed, beginnings
from endstop.tools.shell import told as command_told


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
    allowed = None if allow is None else beginnings(allow)
    own: Mapping[str, str] = {} if tests is None else tests.environment

    async def run_command(command: Annotated[str, "What to run, as for sh -c"]) -> str:
        done = await confinement.run(
            command if allowed is None else as_allowed(command, allowed),
            timeout_s=seconds,
            env={**project_environment(confinement.folder), **own},
            readable=() if tests is None else tests.readable,
        )
        return command_told(done, timeout_s=seconds)

    rule = "" if allow is None else f" Only these, without pipes and such: {', '.join(allow) or 'none'}."
    return FunctionTool(
        run_command,
        description="Run a command in the project folder. It can write there only, cannot ask back, and "
        f"nothing of it goes on in the background. It may take {seconds:g} s.{rule}",
        changes_something=True,
        timeout_s=seconds + BACKSTOP_S,
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
        timeout_s=seconds + BACKSTOP_S,
    )
