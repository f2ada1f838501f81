"""What a sandbox is made of: whether bubblewrap works, what is visible in it, and who watches over it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tools_words import comes_true

from endstop.errors import InvalidValueError
from endstop.tools import confinement as confining
from endstop.tools.confinement import Confinement, scratch_folder
from endstop.tools.footprint import Watch, takes_more
from endstop.tools.sandbox import Bubblewrap, Openings, installed_bubblewrap, sandboxed, tried
from endstop.tools.visible import outermost, private_settings, program_folders, visible_folders

NOT_THERE = Bubblewrap(why_not="bubblewrap is not installed")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


# ── what it says of itself ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(installed_bubblewrap().program is None, reason="needs bubblewrap")
def test_a_sandbox_says_what_it_keeps_in(work: Path) -> None:
    assert Confinement(work).words == (
        "bubblewrap: only the worktree can be written, no network, at most 2,048 MB of memory"
    )
    assert "the network is open" in Confinement(work, network=True).words
    assert Confinement(work).is_sandboxed


def test_without_bubblewrap_it_says_what_is_not_kept_in(work: Path) -> None:
    plain = Confinement(work, bubblewrap=NOT_THERE, memory_mb=100)
    assert not plain.is_sandboxed
    assert plain.words == (
        "path checks and resource limits only (bubblewrap is not installed): commands can read and write "
        "what you can, and can use the network; at most 100 MB of memory"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
            "setting up uid map: Permission denied",
        ),
        ("exit 1", "it says nothing"),
    ],
)
def test_a_bubblewrap_that_does_not_work_is_not_used_and_it_says_why(
    tmp_path: Path, work: Path, text: str, why: str
) -> None:
    found = tried(program(tmp_path / "bwrap", text))
    assert found.program is None
    assert f"bubblewrap does not work here: {why}" in Confinement(work, bubblewrap=found).words


def test_a_bubblewrap_that_cannot_be_started_or_hangs_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").write_text("nonsense")
    assert "PermissionError" in tried(str(tmp_path / "bwrap")).why_not
    monkeypatch.setattr("endstop.tools.sandbox._PROBE_S", 0.1)
    assert "TimeoutExpired" in tried(program(tmp_path / "slow", "exec sleep 5")).why_not


def test_an_older_bubblewrap_is_used_without_what_it_does_not_have(tmp_path: Path, work: Path) -> None:
    old = program(
        tmp_path / "bwrap",
        'case "$*" in *--size*|*--disable-userns*) echo "Unknown option" >&2; exit 1;; esac',
    )
    found = tried(old)
    assert found == Bubblewrap(program=old)
    words = sandboxed(["true"], found, Openings(folder=work, memory_bytes=1_000))
    assert "--tmpfs" in words
    assert "--size" not in words


def test_whether_it_is_installed_is_looked_up_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look: Callable[[], Bubblewrap] = installed_bubblewrap.__wrapped__
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look() == NOT_THERE
    path = program(tmp_path / "bwrap", "exit 0")
    assert look().program == path


@pytest.mark.parametrize("readable", ["/", "relative/path"])
def test_the_whole_machine_cannot_be_made_readable(work: Path, readable: str) -> None:
    with pytest.raises(InvalidValueError, match="readable"):
        Confinement(work, readable=[readable])


def test_a_folder_that_is_not_there_and_too_little_memory_are_refused(work: Path) -> None:
    with pytest.raises(InvalidValueError, match="folder"):
        Confinement(work / "nowhere")
    with pytest.raises(InvalidValueError, match="memory_mb"):
        Confinement(work, memory_mb=1)


def test_the_names_of_the_network_are_found_where_they_lead(
    work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = tmp_path / "resolv.conf"
    (tmp_path / "real.conf").write_text("nameserver ::1")
    names.symlink_to(tmp_path / "real.conf")
    monkeypatch.setattr(confining, "_NAMES", names)
    openings = Confinement(work, network=True, bubblewrap=NOT_THERE).openings()
    assert tmp_path / "real.conf" in openings.readable


# ── what is visible ──────────────────────────────────────────────────────────────────────────────────────


def test_an_installation_is_visible_as_a_whole_and_a_folder_of_links_leads_to_others(tmp_path: Path) -> None:
    node, local, tool = tmp_path / "node", tmp_path / ".local", tmp_path / "tools" / "x"
    for folder in (node / "bin", node / "lib", local / "bin", local / "lib", tool / "bin", tool / "lib"):
        folder.mkdir(parents=True)
    program(tool / "bin" / "x", "true")
    (local / "bin" / "x").symlink_to(tool / "bin" / "x")
    seen = visible_folders({"PATH": f"{node}/bin:{local}/bin:{tmp_path}/not-there:relative"})
    assert {node, local / "bin", tool} <= set(seen)
    assert local not in seen
    assert Path("/usr") in seen


def test_a_program_is_followed_through_its_links(tmp_path: Path) -> None:
    base, environment = tmp_path / "python3", tmp_path / "repo" / ".venv"
    for folder in (base / "bin", base / "lib", environment / "bin"):
        folder.mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    program(base / "bin" / "python3", "true")
    (environment / "bin" / "python3").symlink_to(base / "bin" / "python3")
    (environment / "bin" / "python").symlink_to("python3")
    assert program_folders(environment / "bin" / "python") == (base, environment)


def test_links_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert program_folders(tmp_path / "a") == (tmp_path,)


def test_what_python_finds_in_the_home_and_tool_chains_are_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, chains = tmp_path / "packages", tmp_path / "chains"
    packages.mkdir()
    chains.mkdir()
    monkeypatch.setattr("site.ENABLE_USER_SITE", True)
    monkeypatch.setattr("site.getusersitepackages", lambda: str(packages))
    assert {packages, chains} <= set(visible_folders({"PATH": "", "RUSTUP_HOME": str(chains)}))
    assert chains not in visible_folders({"PATH": "", "RUSTUP_HOME": str(tmp_path / "none")})


def test_a_folder_inside_another_is_not_named_twice(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    wanted = [tmp_path / "a" / "b", tmp_path / "a", tmp_path / "link"]
    assert outermost(wanted) == (tmp_path / "a", tmp_path / "link")


def test_private_settings_are_files_and_folders_that_are_not_for_everybody(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "keys" / "inner").write_text("x")
    (tmp_path / "sub").mkdir(mode=0o755)
    for name, mode in {"open": 0o644, "sub/shadow": 0o640}.items():
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "shadow")
    (tmp_path / "broken").symlink_to("nowhere")
    assert set(private_settings(str(tmp_path))) == {
        (f"{tmp_path}/keys", True),
        (f"{tmp_path}/sub/shadow", False),
    }


# ── watching ─────────────────────────────────────────────────────────────────────────────────────────────


def test_where_there_is_nothing_to_look_at_nothing_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> str:
        raise FileNotFoundError

    watch = Watch("mark", most_bytes=1)
    monkeypatch.setattr("os.readlink", gone)
    watch.look()
    assert watch.excess == ""


def test_a_process_that_has_just_ended_takes_nothing() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert takes_more([os.getpid(), ended.pid], 1)
    assert not takes_more([ended.pid], 1)


def test_only_what_bears_the_mark_is_killed() -> None:
    with (
        subprocess.Popen(["sleep", "60"]) as other,
        subprocess.Popen(["sleep", "60"], env={"ENDSTOP_CONFINED": "one"}) as one,
    ):
        watch = Watch("one", most_bytes=1)
        assert comes_true(lambda: (watch.look(), watch.excess != "")[1])
        assert one.wait(5) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


async def test_what_a_killed_process_left_is_deleted_when_it_is_a_day_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = ("endstop-scratch-old", "endstop-scratch-new", "other-old")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    for name in (names[0], names[2]):
        os.utime(tmp_path / name, (0, time.time() - 90_000))
    async with scratch_folder():
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"endstop-scratch-new", "other-old"}


async def test_a_scratch_folder_is_private_and_goes_with_all_in_it() -> None:
    async with scratch_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "deep" / "er").mkdir(parents=True)
    assert not folder.exists()
