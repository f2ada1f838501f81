"""Running the program ``endstop`` in tests: in this process, in one of its own, and on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "endstop.cli")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.err)["error"]

    @property
    def plain(self) -> str:
        """What a terminal was sent, without what steers it."""
        return _ESCAPES.sub("", self.out)


Endstop = Callable[..., Done]
"""Runs the program: ``endstop("runs", "--all", ENDSTOP_USER="ann")``."""


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a command that keeps its things in ``home``."""
    theirs = ("ENDSTOP_", "ORACLE_", "COLUMNS", "LINES")  # how wide it is, the terminal itself tells
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # dozens of processes would compile all modules again
    return {**kept, "ENDSTOP_HOME": str(home), "TERM": "xterm-256color", **more}


def in_process_of_its_own(home: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(home, **(env or {})),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def started(home: Path, *arguments: str, program: Sequence[str] = COMMAND) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*program, *arguments],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The first line that has these words, waiting for it."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"no line with {words!r}: {process.stderr.read() if process.stderr else ''}")


def _is_quiet(terminal: int) -> bool:
    """Whether nothing more comes for a moment: then it was a question, and no line cut in two."""
    return not select.select([terminal], [], [], 0.15)[0]


def on_terminal(
    home: Path,
    *arguments: str,
    columns: int = 100,
    typed: str = "",
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = COMMAND,
) -> Done:
    """The command on a terminal of its own; ``typed`` is answered line by line, each to a new question.

    Control keys (Ctrl-C, Ctrl-D) are pressed as people press them, without Enter.
    """
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover - another program takes over here
        os.execve(program[0], [*program, *arguments], environment(home, **(env or {})))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    answers = typed.splitlines()
    out = b""
    asked = 0
    until = time.monotonic() + 50
    while time.monotonic() < until:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:
            break
        if not piece:
            break
        out += piece
        if answers and out[asked:].rstrip(b" ").endswith(b":") and _is_quiet(terminal):
            asked = len(out)
            answer = answers.pop(0)
            os.write(terminal, (answer if answer and not answer.isprintable() else f"{answer}\n").encode())
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return Done(code=os.waitstatus_to_exitcode(status), out=out.decode())
