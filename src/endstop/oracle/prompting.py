"""The prompt of the oracle, composed from files (E9): what always holds, the type of question, hints.

The same inputs give the same prompt, byte for byte, whatever the line ends of the files. Values go into the
placeholders in one pass over the whole, so that no name of a project or a tool can smuggle one in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from endstop.errors import InvalidValueError
from endstop.kernel.texts import closest
from endstop.oracle.query import QueryType
from endstop.ports import ToolSpec

MOST_TOKENS = 8_000
"""The longest prompt before its tools. A token is at least one byte, so bytes are what is counted."""

RECOVERY = (
    "tool_failed",
    "tool_tripped",
    "unknown_tool",
    "bad_arguments",
    "refused",
    "timed_out",
    "no_results",
    "truncated",
    "empty",
    "malformed_signal",
)
"""The situations there is a hint for, in the order in which hints are given."""

_ALWAYS = ("base.md", "signals.md", "tools.md")
_OF_TYPE: Mapping[QueryType, str] = MappingProxyType({type_: f"{type_}.md" for type_ in QueryType})
_HINTS = tuple(f"recovery/{name}.md" for name in RECOVERY)
PROMPT_FILES = (*_ALWAYS, *_OF_TYPE.values(), *_HINTS)
"""Every file there is, as its path below the folder."""

_OURS = Path(__file__).parent / "prompts"
_PLACEHOLDER = re.compile(r"\{\{\s*(\w*)\s*\}\}")
_PLACEHOLDERS = ("project", "tools")
_NO_PROJECT = "this project"
_NO_TOOLS = "You have none for this: answer from this conversation."
_MOST_NAME_CHARS = 120
_MOST_DESCRIPTION_CHARS = 300
_MOST_PROJECT_BYTES = 4 * _MOST_NAME_CHARS


class PromptFiles:
    """The texts that prompts are made of: ours, each replaced by the file of the same name in ``folder``.

    All are read and checked at once, here, so that a run never fails over a prompt.
    """

    __slots__ = ("_texts", "folder")

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        paths = {name: _OURS / name for name in PROMPT_FILES}
        if self.folder is not None:
            paths |= _replacements(self.folder)
        self._texts = MappingProxyType({name: _read(path) for name, path in paths.items()})
        _check_whole(self._texts, paths)

    def text(self, name: str) -> str:
        """The text of the file ``name``, such as ``base.md`` or ``recovery/empty.md``."""
        return self._texts[name]


def compose(
    query_type: QueryType,
    *,
    tools: Sequence[ToolSpec] = (),
    recovery: Iterable[str] = (),
    project: str = "",
    files: PromptFiles | None = None,
) -> str:
    """The prompt for a question of ``query_type``; ``recovery`` names what went wrong in the turn before."""
    files = _our_files() if files is None else files
    wanted = {_known_hint(name) for name in recovery}
    hints = [f"recovery/{name}.md" for name in RECOVERY if name in wanted]
    # What stays the same from turn to turn comes first: providers charge less for a beginning they know.
    names = (*_ALWAYS, _OF_TYPE[query_type], *hints)
    whole = "\n\n".join(text for name in names if (text := files.text(name)))
    values = {"project": _one_line(project, _MOST_NAME_CHARS) or _NO_PROJECT, "tools": _listed(tools)}
    return _PLACEHOLDER.sub(lambda found: values[found[1]], whole) + "\n"


@cache
def _our_files() -> PromptFiles:
    return PromptFiles()


def _known_hint(name: str) -> str:
    if name not in RECOVERY:
        raise InvalidValueError("recovery", name, allowed=", ".join(RECOVERY))
    return name


def _listed(tools: Sequence[ToolSpec]) -> str:
    if not tools:
        return _NO_TOOLS
    return "\n".join(
        f"- {_one_line(tool.name, _MOST_NAME_CHARS)}: {_one_line(tool.description, _MOST_DESCRIPTION_CHARS)}"
        for tool in tools
    )


def _one_line(text: str, most: int) -> str:
    """Words from elsewhere: on one line, so that they cannot look like a part of the prompt."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _replacements(folder: Path) -> dict[str, Path]:
    """The files in ``folder`` by name. One that replaces nothing is a mistake, and silence would hide it."""
    if not folder.is_dir():
        raise InvalidValueError(
            "prompts", str(folder), allowed="a folder that exists", to_do="Make the folder, or leave it out"
        )
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    by_name = {path.relative_to(folder).as_posix(): path for path in found}
    visible = {
        name: path for name, path in by_name.items() if not any(part[0] == "." for part in name.split("/"))
    }
    for name in visible:
        if name not in PROMPT_FILES:
            near = closest(name, PROMPT_FILES)
            raise InvalidValueError(
                f"a prompt file in {folder}",
                name,
                allowed=f"one of {', '.join(PROMPT_FILES)}",
                to_do=f"Did you mean {near}?" if near else "Rename it, or take it out of the folder",
            )
    return visible


def _read(path: Path) -> str:
    """A file as it goes into a prompt: line ends of one kind, no blanks where nobody sees them."""
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MOST_TOKENS else b""
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValueError(
            f"a prompt file in {path.parent}",
            path.name,
            allowed=f"a file with UTF-8 text that can be read ({error})",
        ) from error
    if size > MOST_TOKENS:
        raise _too_large(path, size)
    for placeholder in _PLACEHOLDER.findall(text):
        if placeholder not in _PLACEHOLDERS:
            raise InvalidValueError(
                f"a placeholder in {path}",
                "{{" + placeholder + "}}",
                allowed=", ".join("{{" + name + "}}" for name in _PLACEHOLDERS),
            )
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _check_whole(texts: Mapping[str, str], paths: Mapping[str, Path]) -> None:
    """Even the longest prompt that can be composed stays within the limit."""
    of_type = max(_OF_TYPE.values(), key=lambda name: _bytes(texts[name]))
    parts = (*_ALWAYS, of_type, *_HINTS)
    projects = sum(texts[name].count("{{") for name in parts) * _MOST_PROJECT_BYTES
    total = sum(_bytes(texts[name]) + len("\n\n") for name in parts) + projects
    if total > MOST_TOKENS:
        ours = {name: (_OURS / name).stat().st_size for name in parts}
        grown = max(parts, key=lambda name: (_bytes(texts[name]) - ours[name], _bytes(texts[name])))
        raise _too_large(paths[grown], _bytes(texts[grown]), total=total)


def _too_large(path: Path, size: int, *, total: int | None = None) -> InvalidValueError:
    whole = "" if total is None else f"; with the others it makes a prompt of up to {total:,}"
    return InvalidValueError(
        f"the size of the prompt file {path}",
        size,
        allowed=f"at most {MOST_TOKENS:,} bytes for the whole prompt before its tools{whole}",
        to_do="Make it shorter",
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))
