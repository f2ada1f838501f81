"""Confined commands: they write in their folder only, see no secret, and end, whatever they try."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from tools_words import comes_true, is_alive, open_files

from endstop.errors import InvalidValueError, ToolError
from endstop.tools import confinement as confining
from endstop.tools import visible
from endstop.tools.confinement import Confinement, scratch_folder
from endstop.tools.footprint import Watch
from endstop.tools.sandbox import Bubblewrap, Openings, installed_bubblewrap, sandboxed, tried
from endstop.tools.visible import outermost, private_settings, program_folders, visible_folders

NOT_THERE = Bubblewrap(why_not="bubblewrap is not installed")
needs_bubblewrap = pytest.mark.skipif(
    installed_bubblewrap().program is None, reason=installed_bubblewrap().why_not or "it works"
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture(
    params=[pytest.param(None, marks=needs_bubblewrap, id="sandbox"), NOT_THERE], ids=["", "plain"]
)
def confined(request: pytest.FixtureRequest, work: Path) -> Confinement:
    """Both kinds, for what has to hold in both."""
    return Confinement(work, bubblewrap=request.param)


@pytest.fixture
def nap() -> str:
    """So many seconds that nobody else sleeps as long: it can be told from other processes by that."""
    return f"9{uuid.uuid4().int % 10**7:07}.25"


@pytest.fixture
def sandbox(work: Path) -> Confinement:
    return Confinement(work)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def marked(mark: str) -> list[int]:
    """The processes that have a text in their command line."""
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes() and is_alive(int(name)):
                found.append(int(name))
        except OSError:
            continue
    return found


# ── what a command can do ────────────────────────────────────────────────────────────────────────────────


async def test_output_and_exit_code_come_back(confined: Confinement) -> None:
    done = await confined.run("echo out; echo err >&2; exit 3", timeout_s=10)
    assert (done.exit_code, done.output, done.timed_out) == (3, "out\nerr\n", False)


async def test_words_are_passed_on_without_a_shell(confined: Confinement) -> None:
    done = await confined.run(["printf", "%s|", "a b", "$HOME", ";"], timeout_s=10)
    assert done.output == "a b|$HOME|;|"


async def test_it_works_in_its_folder_and_can_write_there(confined: Confinement, work: Path) -> None:
    done = await confined.run("pwd; mkdir new && echo hello > new/file", timeout_s=10)
    assert (done.output, (work / "new/file").read_text()) == (f"{work}\n", "hello\n")


async def test_the_interpreter_we_run_in_and_its_packages_are_there(confined: Confinement) -> None:
    done = await confined.run(python("import pytest, ssl; print('fine')"), timeout_s=30)
    assert done.output == "fine\n"


async def test_variables_come_on_top_of_the_few_that_are_safe(
    confined: Confinement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    done = await confined.run("env", timeout_s=10, env={"EXTRA": "yes"})
    assert "EXTRA=yes" in done.output
    assert "secret" not in done.output


async def test_home_and_temporary_files_are_its_own_and_go_with_it(confined: Confinement) -> None:
    done = await confined.run(
        'echo 1 > "$HOME/mine" && echo 1 > "$TMPDIR/mine" && cd && pwd; echo "$TMPDIR"', timeout_s=10
    )
    home, temporary = done.output.split()
    assert home != str(Path.home())
    assert not Path(home, "mine").exists()
    assert not Path(temporary, "mine").exists()


async def test_an_unknown_program_is_a_result(confined: Confinement) -> None:
    done = await confined.run(["no-such-program"], timeout_s=10)
    assert done.exit_code == 127
    assert "no-such-program" in done.output


@pytest.mark.parametrize("command", ["", "  ", [], [""]])
async def test_an_empty_command_is_refused(confined: Confinement, command: str | list[str]) -> None:
    with pytest.raises(ToolError, match="The command is empty"):
        await confined.run(command, timeout_s=10)


async def test_a_folder_that_is_gone_is_a_clear_error(confined: Confinement, work: Path) -> None:
    work.rmdir()
    with pytest.raises(ToolError, match=r"no folder|cannot be confined"):
        await confined.run("true", timeout_s=10)


# ── what ends a command (both kinds) ─────────────────────────────────────────────────────────────────────


@pytest.mark.guarantee("G8", "A11")
@pytest.mark.parametrize(
    "command",
    [
        "sleep NAP",
        "trap '' TERM HUP INT; while :; do sleep NAP; done",
        "setsid sleep NAP & sleep NAP",
        "(setsid sh -c 'setsid sleep NAP & sleep NAP' &) ; sleep NAP",
        "nohup sleep NAP >/dev/null 2>&1 & sleep NAP",
        "sleep NAP & kill -STOP $$",
    ],
    ids=["plain", "ignores signals", "own session", "daemon", "nohup", "stopped"],
)
async def test_a_command_that_hangs_dies_in_time_with_all_it_started(
    confined: Confinement, command: str, nap: str
) -> None:
    before = time.perf_counter()
    done = await confined.run(command.replace("NAP", nap), timeout_s=0.4)
    assert time.perf_counter() - before < 0.4 + 1
    assert done.timed_out
    assert comes_true(lambda: not marked(nap), within_s=1)


@pytest.mark.guarantee("G8")
async def test_what_is_left_in_the_background_dies_with_the_command(confined: Confinement, nap: str) -> None:
    done = await confined.run(f"setsid sleep {nap} & sleep {nap} & echo started", timeout_s=10)
    assert (done.exit_code, done.output) == (0, "started\n")
    assert comes_true(lambda: not marked(nap), within_s=1)


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_in_a_sandbox_not_even_one_without_any_mark_is_left(sandbox: Confinement, nap: str) -> None:
    await sandbox.run(f"env -i setsid /bin/sleep {nap} & sleep 0.1", timeout_s=10)
    assert comes_true(lambda: not marked(nap), within_s=1)


async def test_a_cancelled_command_leaves_nothing_behind(
    confined: Confinement, work: Path, nap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    files = open_files()
    call = asyncio.create_task(confined.run(f"touch here; setsid sleep {nap} & sleep {nap}", timeout_s=60))
    while not (work / "here").exists():
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert comes_true(lambda: not marked(nap), within_s=1)
    assert open_files() <= files
    assert not list((tmp_path / "temporary").iterdir())


@needs_bubblewrap
@pytest.mark.guarantee("G8")
def test_when_our_process_is_killed_the_sandbox_dies_too(work: Path, nap: str) -> None:
    code = (
        "import asyncio, sys\n"
        "from endstop.tools.confinement import Confinement\n"
        f"asyncio.run(Confinement(sys.argv[1]).run('env -i setsid sleep {nap} & sleep {nap}', timeout_s=9))\n"
    )
    ours = subprocess.Popen([sys.executable, "-c", code, str(work)])
    assert comes_true(lambda: len(marked(f"sleep\x00{nap}")) == 2, within_s=20)
    ours.kill()
    ours.wait()
    assert comes_true(lambda: not marked(nap))


async def test_nobody_answers_a_command_that_asks(confined: Confinement) -> None:
    done = await confined.run("cat; read answer; echo end", timeout_s=10)
    assert (done.output, done.timed_out) == ("end\n", False)


async def test_a_flood_of_output_is_capped(confined: Confinement) -> None:
    before = time.perf_counter()
    done = await confined.run("head -c 50000000 /dev/zero | tr '\\0' x; echo end", timeout_s=20)
    assert time.perf_counter() - before < 15
    assert done.is_cut
    assert len(done.output) < 300_000
    assert done.output.endswith("end\n")


@pytest.mark.guarantee("G8")
async def test_a_process_that_takes_too_much_memory_gets_none(work: Path) -> None:
    for bubblewrap in (None, NOT_THERE):
        confined = Confinement(work, memory_mb=300, bubblewrap=bubblewrap)
        done = await confined.run(python("x = bytearray(600_000_000)"), timeout_s=20)
        assert "MemoryError" in done.output


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize("bubblewrap", [pytest.param(None, marks=needs_bubblewrap), NOT_THERE])
async def test_processes_that_take_too_much_memory_together_are_killed(
    work: Path, bubblewrap: Bubblewrap | None, nap: str
) -> None:
    confined = Confinement(work, memory_mb=250, bubblewrap=bubblewrap)
    code = f"import os, time\nfor _ in range(3): os.fork()\nx = b'x' * 80_000_000\ntime.sleep({nap})"
    done = await confined.run(python(code), timeout_s=20)
    assert not done.timed_out
    assert done.exit_code != 0
    assert "took more than 250 MB of memory, and was killed" in done.output
    assert comes_true(lambda: not marked(nap), within_s=1)


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_in_a_sandbox_one_without_any_mark_counts_as_well(work: Path, nap: str) -> None:
    code = (
        f"import mmap, time\nx = mmap.mmap(-1, 300_000_000)\nx.write(b'x' * 200_000_000)\ntime.sleep({nap})"
    )
    done = await Confinement(work, memory_mb=220).run(["env", "-i", *python(code)], timeout_s=20)
    assert not done.timed_out
    assert "took more than 220 MB of memory" in done.output
    assert comes_true(lambda: not marked(nap), within_s=1)


async def test_shared_memory_counts_once(work: Path) -> None:
    confined = Confinement(work, memory_mb=250)
    code = "import os, time\nx = b'x' * 80_000_000\nfor _ in range(3): os.fork()\ntime.sleep(0.7)"
    done = await confined.run(python(code), timeout_s=20)
    assert (done.exit_code, done.output) == (0, "")


@pytest.mark.guarantee("G8")
async def test_a_fork_bomb_is_stopped(confined: Confinement, nap: str) -> None:
    # It forks up to a number at which it would stop by itself, so that a failing test does no harm.
    code = (
        "import os, time\n"
        "for _ in range(3000):\n"
        "    try:\n"
        f"        if os.fork() == 0: os.setsid(); time.sleep({nap}); os._exit(0)\n"
        "    except OSError: time.sleep(0.01)\n"
        "print('all are there', flush=True)\n"
        f"time.sleep({nap})\n"
    )
    before = time.perf_counter()
    done = await confined.run(python(code), timeout_s=20)
    assert time.perf_counter() - before < 20
    assert not done.timed_out
    assert "took more than 512 processes, and was killed" in done.output
    assert comes_true(lambda: not marked(nap), within_s=2)


async def test_a_file_can_grow_only_so_large(
    confined: Confinement, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confining, "MOST_FILE_BYTES", 1_024_000)
    done = await confined.run("head -c 3000000 /dev/zero > large", timeout_s=10)
    assert done.exit_code != 0
    assert (work / "large").stat().st_size <= 1_024_000


async def test_processor_time_is_limited_beside_real_time(confined: Confinement) -> None:
    done = await confined.run("ulimit -t; ulimit -c", timeout_s=7)
    seconds, core = done.output.split()
    assert (int(seconds), core) == (7 * (os.cpu_count() or 1) + 1, "0")


# ── what a sandbox keeps from a command ──────────────────────────────────────────────────────────────────


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_nothing_outside_the_folder_can_be_written(
    sandbox: Confinement, work: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.txt"
    own.write_text("mine")
    (work / "link").symlink_to(own)
    targets = ["/etc/new", "/usr/new", "/new", "/dev/new", f"{sys.prefix}/new", f"{Path.home()}/new"]
    tries = "; ".join(f"echo bad > {target}" for target in [*targets, str(own), "../own.txt", "link"])
    await sandbox.run(tries, timeout_s=10)
    assert own.read_text() == "mine"
    assert not any(Path(target).exists() for target in targets)


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_the_files_of_the_user_are_not_there(sandbox: Confinement, work: Path, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("mine")
    (work / "link").symlink_to(tmp_path / "own.txt")
    done = await sandbox.run("cat ../own.txt; cat link; ls ..", timeout_s=10)
    assert "mine" not in done.output
    assert done.output.endswith("work\n")


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_a_home_on_the_path_or_inside_the_system_is_not_shown(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    program(home / "bin" / "greet", "echo hello")
    (home / "secret").write_text("mine")
    monkeypatch.setattr(visible.Path, "home", lambda: home)
    monkeypatch.setenv("PATH", f"{home}/bin:{home}:/:.:{os.environ['PATH']}")
    done = await Confinement(work).run(f"greet; cat {home}/secret", timeout_s=10)
    assert done.output.startswith("hello\n")
    assert "mine" not in done.output
    done = await Confinement(work, readable=[tmp_path]).run(f"ls -A {home}", timeout_s=10)
    assert "secret" not in done.output


@needs_bubblewrap
async def test_more_can_be_made_readable_but_not_writable(work: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    (more / "file").write_text("open")
    sandbox = Confinement(work, readable=[more, tmp_path / "not-there"])
    done = await sandbox.run(f"cat {more}/file; echo bad > {more}/file", timeout_s=10)
    assert done.output.startswith("open")
    assert (more / "file").read_text() == "open"


@needs_bubblewrap
async def test_a_single_command_can_be_given_more_to_read_and_to_write(
    sandbox: Confinement, tmp_path: Path
) -> None:
    given, scratch = tmp_path / "given", tmp_path / "scratch"
    given.mkdir()
    scratch.mkdir()
    (given / "file").write_text("open")
    command = f"cp {given}/file {scratch}/copy"
    await sandbox.run(command, timeout_s=10, readable=[given], writable=[scratch])
    assert (scratch / "copy").read_text() == "open"
    (scratch / "copy").unlink()
    await sandbox.run(command, timeout_s=10)
    assert not (scratch / "copy").exists()


@needs_bubblewrap
@pytest.mark.guarantee("G8")
@pytest.mark.parametrize("is_folder", [False, True])
async def test_the_way_to_the_repository_cannot_be_changed(
    sandbox: Confinement, work: Path, is_folder: bool
) -> None:
    git = work / ".git"
    if is_folder:
        git.mkdir()
        git = git / "HEAD"
    git.write_text("gitdir: there")
    done = await sandbox.run(f"echo bad > {git}; rm -rf .git; mv .git away; ls -A", timeout_s=10)
    assert git.read_text() == "gitdir: there"
    assert done.output.endswith(".git\n")


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_there_is_no_network_unless_it_was_allowed(work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')"
        closed = await Confinement(work).run(python(code), timeout_s=20)
        opened = await Confinement(work, network=True).run(python(code), timeout_s=20)
    assert "connected" not in closed.output
    assert opened.output == "connected\n"


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_processes_outside_cannot_be_seen(sandbox: Confinement) -> None:
    done = await sandbox.run(f"ls /proc | grep -c '^[0-9]'; kill -0 {os.getpid()} && echo seen", timeout_s=10)
    assert int(done.output.split()[0]) < 12
    assert "seen" not in done.output


@needs_bubblewrap
@pytest.mark.guarantee("G8")
async def test_what_only_some_may_read_is_hidden_even_if_we_may(sandbox: Confinement) -> None:
    hidden = private_settings()
    files = [path for path, is_folder in hidden if not is_folder and os.access(path, os.R_OK)]
    done = await sandbox.run(["cat", "/etc/passwd", *files], timeout_s=10)
    assert done.output.startswith(Path("/etc/passwd").read_text())
    assert not any(line in done.output for path in files for line in _telling_lines(path))


def _telling_lines(path: str) -> list[str]:
    return [line for line in Path(path).read_text(errors="replace").splitlines() if len(line) > 30]


@needs_bubblewrap
async def test_what_it_keeps_in_memory_has_an_end(work: Path) -> None:
    sandbox = Confinement(work, memory_mb=64)
    done = await sandbox.run(
        "head -c 90000000 /dev/zero > /tmp/a; head -c 90000000 /dev/zero > /dev/shm/b", timeout_s=10
    )
    assert done.output.count("No space left") == 2


@needs_bubblewrap
async def test_a_sandbox_that_cannot_be_made_is_an_error_of_ours(
    sandbox: Confinement, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="cannot be confined: bwrap: "):
        await sandbox.run("true", timeout_s=10, writable=[tmp_path / "not-there"])


# ── what it says of itself ───────────────────────────────────────────────────────────────────────────────


@needs_bubblewrap
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


async def test_a_scratch_folder_is_private_and_goes_with_all_in_it() -> None:
    async with scratch_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "deep" / "er").mkdir(parents=True)
    assert not folder.exists()
