"""The tools: functions, a project folder, the shell and MCP servers behind the ``Tool`` port."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # checkers take it for true; the names below are imported when they are first used
if TYPE_CHECKING:
    from endstop.tools.function import FunctionTool, tool
    from endstop.tools.mcp import mcp_tools
    from endstop.tools.processes import CommandResult, run_command
    from endstop.tools.project import project_tools
    from endstop.tools.shell import shell_tool
    from endstop.tools.threads import hung_threads

__all__ = [
    "CommandResult",
    "FunctionTool",
    "hung_threads",
    "mcp_tools",
    "project_tools",
    "run_command",
    "shell_tool",
    "tool",
]

_HOMES = {
    "CommandResult": "processes",
    "FunctionTool": "function",
    "hung_threads": "threads",
    "mcp_tools": "mcp",
    "project_tools": "project",
    "run_command": "processes",
    "shell_tool": "shell",
    "tool": "function",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'endstop.tools' has no attribute {name!r}")
    value: object = getattr(import_module(f"endstop.tools.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
