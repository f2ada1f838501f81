"""The four tools over a project folder, as methods. They block: they are called in threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from endstop.errors import ToolError, ToolRefusedError, brief
from endstop.kernel.texts import closest
from endstop.ports import Source, ToolResult
from endstop.tools.project.code_search import CodeHit, search_code
from endstop.tools.project.docs_search import DocsHit, search_docs
from endstop.tools.project.folder import Folder
from endstop.tools.project.glob import matches
from endstop.tools.project.index import TOO_LARGE, Index, text_of
from endstop.tools.project.walk import MOST_FILES

VAULT = "vault:"
"""Before the path of a file in the vault."""
MOST_RESULTS = 50
MOST_LINES = 2_000
MOST_LISTED = 500
MOST_READ_BYTES = 20_000_000

_LINES_BEFORE, _LINES_AFTER = 2, 7
_MOST_LINE_CHARS = 400
_MOST_PASSAGE_CHARS = 4_000
_MOST_NOTED = 5

Limit = Annotated[int, f"How many results, at most {MOST_RESULTS}"]


class Project:
    """A project folder, and perhaps a vault of notes beside it."""

    def __init__(
        self, folder: str | Path, *, vault: str | Path | None = None, cache_dir: str | Path | None = None
    ) -> None:
        cache = None if cache_dir is None else Path(cache_dir)
        self._index = Index(Folder(folder), cache_dir=cache)
        self._vault = None if vault is None else Index(Folder(vault, field="vault"), cache_dir=cache)

    def search_code(
        self,
        query: Annotated[str, "A name, a fragment of code, or some words"],
        path: Annotated[str, "Only in this folder or file"] = "",
        limit: Limit = 10,
    ) -> ToolResult:
        """Search the project's files. Finds names, fragments and words, and shows the lines around them.

        Definitions come first.
        """
        below = self._index.folder.inside(path)
        with self._index.searching() as connection:
            hits = search_code(connection, query, below=below, most=_within(limit, MOST_RESULTS))
            (count,) = connection.execute("SELECT count(*) FROM files WHERE skipped IS NULL").fetchone()
            rows = connection.execute("SELECT path FROM files WHERE skipped = ? LIMIT 6", (TOO_LARGE,))
            too_large = [str(path) for (path,) in rows]
        note = f"\n\nNot searched, {TOO_LARGE}: {_listed(too_large)}" if too_large else ""
        if not hits:
            where = f" below {below}" if below else ""
            return ToolResult(
                text=f"Nothing found for {brief(query)}{where} ({count:,} files searched). Try another word, "
                f"or a part of the name.{note}"
            )
        shown = [_code_shown(hit) for hit in hits]
        return ToolResult(
            text="\n\n".join(text for text, _ in shown) + note, sources=tuple(source for _, source in shown)
        )

    def search_docs(self, query: Annotated[str, "Words, or a question"], limit: Limit = 10) -> ToolResult:
        """Search the notes and the documentation (Markdown, reStructuredText, AsciiDoc, plain text)."""
        most = _within(limit, MOST_RESULTS)
        hits: list[tuple[str, DocsHit]] = []
        for prefix, index in (("", self._index), (VAULT, self._vault)):
            if index is not None:
                with index.searching() as connection:
                    hits += [(prefix, hit) for hit in search_docs(connection, query, most=most)]
        hits.sort(key=lambda one: -one[1].score)
        if not hits:
            return ToolResult(text=f"Nothing found for {brief(query)}. Try other words, or search_code.")
        shown = [_docs_shown(prefix, hit) for prefix, hit in hits[:most]]
        return ToolResult(
            text="\n\n".join(text for text, _ in shown), sources=tuple(source for _, source in shown)
        )

    def read_file(
        self,
        path: Annotated[str, "Such as src/main.py"],
        start_line: Annotated[int, "The first line to show"] = 1,
        lines: Annotated[int, f"How many lines, at most {MOST_LINES}"] = 200,
    ) -> ToolResult:
        """Read a file of the project, with line numbers."""
        prefix, index, name = self._located(path)
        text = text_of(index.folder.read(name, most_bytes=MOST_READ_BYTES))
        if text is None:
            raise ToolError(f"{brief(path)} is a binary file", to_do="Read another one")
        all_lines = text.removesuffix("\n").split("\n") if text else []
        start = max(1, start_line)
        if start > max(1, len(all_lines)):
            raise ToolError(
                f"{brief(path)} has no line {start:,}", allowed=f"start_line from 1 to {len(all_lines):,}"
            )
        chosen = all_lines[start - 1 : start - 1 + _within(lines, MOST_LINES)]
        end = start + len(chosen) - 1
        shown = prefix + name
        more = f"\n({len(all_lines) - end:,} more lines)" if end < len(all_lines) else ""
        body = _numbered(chosen, start) if chosen else "(the file is empty)"
        return ToolResult(
            text=f"{shown}, lines {start} to {end} of {len(all_lines):,}\n{body}{more}",
            sources=(_source(shown, start, "\n".join(chosen)),),
        )

    def list_files(
        self,
        path: Annotated[str, "Only below this folder"] = "",
        pattern: Annotated[str, "Such as *.py or src/**/test_*.py"] = "",
    ) -> ToolResult:
        """List the files of the project. What git ignores is left out."""
        below = self._index.folder.inside(path)
        all_files = self._index.walker.files()
        found = [one for one in all_files if not below or one.path.startswith(f"{below}/")]
        if below and not found and any(one.path == below for one in all_files):
            raise ToolError(f"{brief(path)} is a file", to_do="Read it with read_file")
        wanted = pattern.strip()
        matching = [one for one in found if not wanted or matches(one.path, wanted)]
        if not matching:
            what = f"No file matches {brief(pattern)}" if wanted else "There are no files"
            return ToolResult(text=f"{what} below {below or 'the project folder'}.")
        listed = "\n".join(f"{one.path} ({_size(one.size)})" for one in matching[:MOST_LISTED])
        left_out = len(matching) - MOST_LISTED
        notes = f"\n({left_out:,} more; use path or pattern to see them)" if left_out > 0 else ""
        if len(all_files) >= MOST_FILES:
            notes += f"\n(the project has too many files: only the first {MOST_FILES:,} are known)"
        return ToolResult(text=listed + notes)

    def _located(self, path: str) -> tuple[str, Index, str]:
        """The file that is meant: its prefix, the folder it is in, and its path there."""
        prefix, index, wanted = "", self._index, path
        if self._vault is not None and path.startswith(VAULT):
            prefix, index, wanted = VAULT, self._vault, path.removeprefix(VAULT)
        name = index.folder.inside(wanted)
        if not name:
            raise ToolError(f"{brief(path)} is a folder", to_do="Use list_files to see what is in it")
        if index.walker.is_ignored(name):
            raise ToolRefusedError(f"{brief(path)} is ignored by git", allowed="files that list_files shows")
        if not (Path(index.folder.root) / name).exists():
            raise self._missing(path, index)
        return prefix, index, name

    def _missing(self, path: str, index: Index) -> ToolError:
        paths = [one.path for one in index.walker.files()]
        wanted = path.rpartition("/")[2]
        same_name = [one for one in paths if one.rpartition("/")[2] == wanted]
        meant = same_name[0] if same_name else closest(path, paths[:MOST_LINES])
        return ToolError(
            f"There is no file {brief(path)}",
            to_do=f"Probably {meant} was meant" if meant else "Use list_files to see what there is",
        )


def _code_shown(hit: CodeHit) -> tuple[str, Source]:
    first = max(1, hit.line - _LINES_BEFORE)
    chosen = hit.lines[first - 1 : hit.line + _LINES_AFTER]
    while len(chosen) > 1 and not chosen[-1].strip():
        chosen = chosen[:-1]
    source = _source(hit.path, hit.line, "\n".join(chosen[hit.line - first :]))  # begins where it says
    return f"{source.location}\n{_numbered(chosen, first)}", source


def _docs_shown(prefix: str, hit: DocsHit) -> tuple[str, Source]:
    body = hit.text.rstrip()
    source = _source(prefix + hit.path, hit.line, body, title=hit.heading)
    title = f" {hit.heading}" if hit.heading else ""
    return f"{source.location}{title}\n{_numbered(body.split(chr(10)), hit.line)}", source


def _source(path: str, line: int, passage: str, *, title: str = "") -> Source:
    return Source(title=title or path, location=f"{path}:{line}", passage=passage[:_MOST_PASSAGE_CHARS])


def _numbered(lines: Sequence[str], first: int) -> str:
    width = len(str(first + len(lines)))
    return "\n".join(f"{number:>{width}}  {_cut(line)}" for number, line in enumerate(lines, first))


def _cut(line: str) -> str:
    if len(line) <= _MOST_LINE_CHARS:
        return line
    return f"{line[:_MOST_LINE_CHARS]} [... {len(line) - _MOST_LINE_CHARS:,} characters left out ...]"


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_MOST_NOTED]) + (" and more" if len(paths) > _MOST_NOTED else "")


def _size(count: int) -> str:
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _within(number: int, most: int) -> int:
    return max(1, min(number, most))
