"""What a browser has to load before it can show the chat: under 250 kB of JavaScript, gzipped.

It follows the page as it was built: the scripts that `index.html` names, all they import at once, and the
view that is opened first with all that it imports.

    python scripts/page_weight.py
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "src" / "endstop" / "page"
MOST_BYTES = 250_000
FIRST = ("chat-view", "markdown-block")
"""The view that is opened first, and what it fetches at once for its first answer."""

_IN_HTML = re.compile(r"""(?:src|href)="/(assets/[^"]+\.js)\"""")
_IMPORTED = re.compile(r"""(?:from|import)\s*"\./([^"]+\.js)\"""")


def main() -> int:
    found: dict[str, int] = {}
    waiting = [path.split("/")[-1] for path in _IN_HTML.findall((PAGE / "index.html").read_text())]
    waiting += [path.name for name in FIRST for path in (PAGE / "assets").glob(f"{name}-*.js")]
    if not waiting:
        print(f"No scripts are named in {PAGE.name}/index.html", file=sys.stderr)
        return 1
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        code = (PAGE / "assets" / name).read_bytes()
        found[name] = len(gzip.compress(code))
        waiting += _IMPORTED.findall(code.decode())
    weight = sum(found.values())
    print(
        f"The first load is {weight / 1000:.0f} kB of JavaScript, gzipped (at most {MOST_BYTES / 1000:.0f})."
    )
    if weight <= MOST_BYTES:
        return 0
    for name, size in sorted(found.items(), key=lambda one: -one[1]):
        print(f"  {size / 1000:7.1f} kB  {name}", file=sys.stderr)
    print("Load heavy parts on demand: import(…) where they are first needed.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
