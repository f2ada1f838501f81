"""What importing endstop costs, against bare ``import dataclasses, json, decimal``, each in a fresh process.

``import endstop`` loads nothing until a name is used; the last line is what the first use of the guard costs.
"""

from __future__ import annotations

import subprocess
import sys

from timing import best_of

BARE = "import dataclasses, json, decimal"
CODES = (BARE, "import endstop", "from endstop import Budget, Guard")


def in_a_fresh_process(code: str) -> None:
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def main() -> None:
    codes = ("pass", *CODES)
    took = best_of({code: lambda code=code: in_a_fresh_process(code) for code in codes}, repeats=25)
    bare = took[BARE] - took["pass"]
    print("\nimport time, without the start of the interpreter\n")
    for code in CODES:
        own = took[code] - took["pass"]
        print(f"{code:<40} {own * 1e3:>7.1f} ms {own / bare:>6.2f}x")


if __name__ == "__main__":
    main()
