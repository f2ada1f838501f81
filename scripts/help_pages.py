"""Writes docs/reference/terminal.md: what every command of the terminal says of itself.

python scripts/help_pages.py            write the page
python scripts/help_pages.py --check    fail if the page is not as it would be written
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from generated_page import ROOT, write_or_check

PAGE = ROOT / "docs" / "reference" / "terminal.md"

WIDTH = "100"
"""Of the terminal that the help is written for, so that the page does not depend on whose it is."""

INTRODUCTION = """\
# The terminal's help

<!-- Written by scripts/help_pages.py from the program itself. Do not edit. -->

What `endstop --help` and the help of each command say. How the commands go together: [The
terminal](../guides/terminal.md).
"""


def help_of(*command: str) -> str:
    """What the program prints for ``endstop … --help``."""
    done = subprocess.run(
        [sys.executable, "-m", "endstop.cli", *command, "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1", "PYTHONUTF8": "1"},
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"endstop {' '.join(command)} --help failed:\n{done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def commands_in(overview: str) -> list[str]:
    """The names of the commands, in the order in which the program lists them; none if it lists none."""
    listed = overview.partition("\nCommands:\n")[2]
    return re.findall(r"^  ([a-z][a-z-]*)\b", listed, flags=re.MULTILINE)


def section(heading: str, text: str) -> str:
    return f"\n## {heading}\n\n```text\n{text}\n```\n"


def sections_of(*command: str) -> list[str]:
    """The section of a command, and those of the commands it has."""
    text = help_of(*command)
    found = [section(" ".join(("endstop", *command)), text)]
    for name in commands_in(text):
        found += sections_of(*command, name)
    return found


def page() -> str:
    """The whole page, as text."""
    sections = sections_of()
    return INTRODUCTION + "".join(sections) if len(sections) > 1 else sys.exit("endstop lists no commands")


def main() -> None:
    write_or_check(PAGE, page())


if __name__ == "__main__":
    main()
