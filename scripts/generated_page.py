"""A page that is generated: written anew, or with ``--check`` compared with what would be written."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def write_or_check(page: Path, text: str) -> None:
    shown = page.relative_to(ROOT)
    if "--check" not in sys.argv:
        page.write_text(text, encoding="utf-8")
        print(f"Wrote {shown}")
    elif not page.exists() or page.read_text(encoding="utf-8") != text:
        sys.exit(f"{shown} is not up to date. Run `make docs` and commit it.")
    else:
        print(f"{shown} is up to date")
