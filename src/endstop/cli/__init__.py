"""The terminal: one file per command.

``program`` names the commands; ``output`` prints (JSON, plain lines, tables and colour), ``live`` shows a run
under way, ``errors`` turns what went wrong into words and an exit code, ``running`` opens Endstop for a
command and listens to Ctrl-C. What is slow to import is imported inside the command that needs it.
"""

from __future__ import annotations

from endstop.cli.program import main

__all__ = ["main"]
