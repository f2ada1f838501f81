"""Confined commands: they write in their folder only, see no secret, and end, whatever they try."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest
from tools_words import comes_true, is_alive, open_files

from endstop.errors import ToolError
from endstop.tools import confinement as confining
from endstop.tools import visible
from endstop.tools.confinement import Confinement
from endstop.tools.sandbox import Bubblewrap, installed_bubblewrap
from endstop.tools.visible import private_settings

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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@needs_bubblewrap
async def test_the_number_of_processes_is_limited_by_the_system_as_well(sandbox: Confinement) -> None:
    done = await sandbox.run("(ulimit -u || ulimit -p) 2>/dev/null", timeout_s=10)
    assert done.output.split() == ["1024"]


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
