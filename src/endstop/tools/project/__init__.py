"""Tools over a project folder: search its code and its documentation, read and list its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endstop.ports import Tool

__all__ = ["project_tools"]


def project_tools(
    folder: str | Path, *, vault: str | Path | None = None, cache_dir: str | Path | None = None
) -> tuple[Tool, ...]:
    """``search_code``, ``read_file``, ``list_files`` and ``search_docs`` over a folder.

    ``vault``: another folder with notes and documentation, for ``search_docs`` and ``read_file``.
    ``cache_dir``: where the index is kept; in memory without one, or when it cannot be written to.
    """
    from endstop.tools.function import FunctionTool
    from endstop.tools.project.project import Project

    project = Project(folder, vault=vault, cache_dir=cache_dir)
    return (
        FunctionTool(project.search_code, idempotent=True),
        FunctionTool(project.read_file, idempotent=True),
        FunctionTool(project.list_files, idempotent=True),
        FunctionTool(project.search_docs, idempotent=True),
    )
