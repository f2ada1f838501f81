"""Text for generated pages: tables, paragraphs, and what the code says of itself in docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import fill
from types import ModuleType


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table. A bar in a cell would end it."""
    heads = list(heads)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(' '.join(cell.replace('|', chr(92) + '|').split()) for cell in row)} |"
    yield ""


def prose(doc: str) -> str:
    """A docstring as a page has it: code in single backticks, promises as links."""
    linked = re.sub(
        r"\b([A-J]\d{1,2})\b(?=[,)])", lambda found: f"[{found[1]}](guarantees.md#{found[1].lower()})", doc
    )
    return linked.replace("``", "`")


def pages_of(doc: str) -> Iterator[str]:
    """A longer docstring without its first line: paragraphs, and what is indented in them as code."""
    _, _, rest = inspect.cleandoc(doc).partition("\n\n")
    for is_code, part in _parts(rest):
        if is_code:
            yield from ("```", inspect.cleandoc(part), "```", "")
        else:
            yield from (prose(part.strip().replace("::", ":")), "")


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    paragraphs = text.split("\n\n")
    for is_code, group in groupby(paragraphs, key=lambda one: one.startswith(" ")):
        yield is_code, "\n\n".join(group)


def wrapped(text: str) -> str:
    """A paragraph, as wide as the pages are."""
    return fill(text, width=110, break_long_words=False, break_on_hyphens=False)


def docs_below(module: ModuleType, name: str) -> dict[str, str]:
    """The texts that stand below the names of a class, which Python itself throws away."""
    tree = ast.parse(inspect.getsource(module))
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    docs: dict[str, str] = {}
    for above, node in zip(found.body, found.body[1:], strict=False):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            target = above.targets[0] if isinstance(above, ast.Assign) else getattr(above, "target", None)
            if isinstance(target, ast.Name):
                docs[target.id] = " ".join(str(node.value.value).split())
    return docs
