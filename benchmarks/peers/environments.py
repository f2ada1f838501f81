"""The peers' packages, each set in an environment of its own under ``benchmarks/.peers``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
ENVIRONMENTS = BENCHMARKS / ".peers"

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "autogen": ("autogen-agentchat==0.7.5",),
    "langgraph": ("langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2", "langchain==1.4.7"),
    "openai_agents": ("openai-agents==0.24.0",),
    "py_trees": ("py-trees==2.6.0",),
    "pydantic_ai": ("pydantic-ai-slim==2.66.0",),
    "smolagents": ("smolagents==1.26.0",),
}
"""Fixed, so that figures of one day can be held against those of another."""

_INSTALL_TIMEOUT_S = 900
_LONGEST_WORDS = 300


class NotInstalledError(Exception):
    """The environment of a peer could not be made; says why."""


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there or is out of date."""
    folder = ENVIRONMENTS / peer
    python = folder / "bin" / "python"
    stamp = folder / "requirements.txt"
    wanted = "\n".join(REQUIREMENTS[peer])
    if not python.exists() or not stamp.exists() or stamp.read_text() != wanted:
        print(f"setting up {peer} ({', '.join(REQUIREMENTS[peer])}) …", file=sys.stderr, flush=True)
        _uv("venv", "--clear", "--python", sys.executable, str(folder))
        _uv("pip", "install", "--python", str(python), *REQUIREMENTS[peer])
        stamp.write_text(wanted)
    return python


def _uv(*arguments: str) -> None:
    own = BENCHMARKS.parent / ".tools" / "bin" / "uv"
    uv = str(own) if own.exists() else shutil.which("uv")
    if uv is None:
        raise NotInstalledError("there is no uv: run `make setup`")
    try:
        # uv brings certificates of its own; behind a proxy only the machine's are known, so those come second
        failed = _run(uv, *arguments) and _run(uv, "--system-certs", *arguments)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(str(error)) from error
    if failed:
        raise NotInstalledError(failed)


def _run(*command: str) -> str:
    """Why a command failed, in its own words; nothing if it did not."""
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    done = subprocess.run(
        [command[0], "--quiet", *command[1:]],
        capture_output=True,
        text=True,
        timeout=_INSTALL_TIMEOUT_S,
        env=environment,
        check=False,
    )
    words = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
    return words[:_LONGEST_WORDS] if done.returncode else ""
