"""``endstop serve --repo``: which folders a server works in, from the terminal to the interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
from coding_server import made_repository

SERVE = [sys.executable, "-m", "endstop.cli", "serve", "--port", "0"]


def test_repositories_that_are_named_are_served_beside_the_project(tmp_path: Path) -> None:
    project, shop, site = (made_repository(tmp_path / name) for name in ("project", "shop", "site"))
    command = [*SERVE, "--json", "--token", "--project", str(project), "--repo", str(shop)]
    process = subprocess.Popen(
        [*command, "--repo", str(site / "..")],
        env={**os.environ, "ENDSTOP_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        headers = {"Authorization": f"Bearer {ready['token']}"}
        offer = httpx.get(f"{ready['address']}/api/coding/offer", headers=headers, timeout=20).json()
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert offer["repositories"] == [str(shop), str(project), str(site)]
    assert offer["any_repository"]


def test_a_folder_that_is_not_there_is_refused_before_it_serves(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SERVE, "--project", str(tmp_path), "--repo", str(tmp_path / "shop")],
        env={**os.environ, "ENDSTOP_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 2
    assert "a folder that is there and can be read" in done.stderr
