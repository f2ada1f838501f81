"""The tools that the agents of a session are given to work with, as far as the policy allows them (G8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from endstop.coding.finding_tests import TestCommand
from endstop.coding.forbidden import Forbidden
from endstop.coding.policy import Permission, Policy
from endstop.coding.worktree_commands import command_tool, tests_tool
from endstop.coding.worktree_files import WorktreeFiles
from endstop.ports import Tool
from endstop.tools.confinement import Confinement
from endstop.tools.function import FunctionTool
from endstop.tools.project import project_tools

_READING = ("read_file", "search_code", "list_files")


def worktree_tools(
    folder: str | Path,
    confinement: Confinement,
    policy: Policy,
    test_command: TestCommand | None,
    *,
    cache_dir: str | Path | None = None,
    writes: bool,
) -> tuple[Tool, ...]:
    """The tools for one who only looks, or for one who ``writes``, without those that the policy denies."""
    tools = [tool for tool in project_tools(folder, cache_dir=cache_dir) if tool.spec.name in _READING]
    if writes:
        tools += _writing(folder, confinement, policy, test_command)
    return tuple(tool for tool in tools if policy.tools.get(tool.spec.name) is not Permission.DENY)


def _writing(
    folder: str | Path, confinement: Confinement, policy: Policy, test_command: TestCommand | None
) -> Iterator[Tool]:
    forbidden = Forbidden(paths=policy.forbidden.paths, contents=policy.forbidden.contents)
    files = WorktreeFiles(folder, forbidden)
    yield FunctionTool(files.write_file, changes_something=True, idempotent=True)
    yield FunctionTool(files.edit_file, changes_something=True)
    yield FunctionTool(files.delete_file, changes_something=True)
    rules = policy.commands
    yield command_tool(confinement, test_command, seconds=rules.seconds, allow=rules.allow)
    if test_command is not None:
        yield tests_tool(confinement, test_command, seconds=policy.tests.seconds)
