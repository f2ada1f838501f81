"""The built page, as files: which one a path stands for, of what kind it is, how long a browser may keep it.

A path of a request becomes the name of a file only if every part of it is plain: letters, digits, and dots
that do not come first. So there is no ``..``, no hidden file, and nothing outside of the folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "page"
"""Where ``make page`` builds it, and the wheel carries it."""

ASSETS = "/assets/"
"""What is below has a hash of its content in its name: it never changes, and a browser may keep it."""

_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_PLAIN = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}){1,8}", re.ASCII)
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".ico": "image/x-icon",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
}
"""Ours, and not the machine's: what its files say of ``.js`` has broken pages before."""

_ANY_KIND = "application/octet-stream"
_NOT_BUILT = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Endstop</title>
<h1>Endstop runs here, without its page</h1>
<p>The page was not built. In a clone, build it with <code>make page</code>, then load this again; a package
from PyPI brings it along.</p>
<p>All else works without it: <a href="/openapi.json">what programs can do here</a>, and in a terminal
<code>endstop ask "\xe2\x80\xa6"</code>, <code>endstop runs</code> and <code>endstop review</code>.</p>
</html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """One file, as it is sent."""

    content: bytes
    kind: str
    caching: str

    @property
    def tag(self) -> str:
        """Of its content: a time would not tell two versions apart that were installed reproducibly."""
        return f'"{sha256(self.content).hexdigest()[:32]}"'


class PageFiles:
    """The files of the page, read when they are wanted: a page that is built anew is there at once."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    def find(self, path: str) -> PageFile | None:
        """The file of a path; the page itself where there is none; None for an asset that is not there."""
        if (found := self._file(path)) is not None:
            return found
        if path.startswith(ASSETS):
            return None
        return self._file("/index.html") or _not_built()

    def _file(self, path: str) -> PageFile | None:
        if _PLAIN.fullmatch(path) is None:
            return None
        file = self._folder / path[1:]
        try:
            content = file.read_bytes()
        except OSError:  # not there, a folder, or not ours to read
            return None
        caching = _FOR_EVER if path.startswith(ASSETS) else _ASK_AGAIN
        return PageFile(content=content, kind=_KINDS.get(file.suffix.lower(), _ANY_KIND), caching=caching)


def _not_built() -> PageFile:
    return PageFile(content=_NOT_BUILT, kind=_KINDS[".html"], caching="no-store")
