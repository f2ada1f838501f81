"""Commands: they die with everything they started, whatever they try, and leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools_words import CONTEXT, comes_true, is_alive, open_files

from endstop.errors import InvalidValueError, ToolArgumentsError, ToolError, ToolRefusedError
from endstop.tools import processes, run_command, shell_tool
from endstop.tools.group import DeathGuard, kill_marked
from endstop.tools.output import CappedOutput
from endstop.tools.processes import is_secret, safe_environment


def pids(file: Path, count: int = 1) -> list[int]:
    """The process numbers that a command has written down, as soon as they are there."""
    assert comes_true(lambda: file.exists() and len(file.read_text().split()) >= count)
    return [int(word) for word in file.read_text().split()]


async def test_the_output_and_the_exit_code_come_back() -> None:
    done = await run_command("echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.output, done.is_cut, done.timed_out) == (3, "out\nerr\n", False, False)


async def test_words_are_passed_on_without_a_shell(tmp_path: Path) -> None:
    done = await run_command(["printf", "%s|", "a b", "$HOME", ";"], cwd=tmp_path)
    assert done.output == "a b|$HOME|;|"


async def test_the_input_is_empty() -> None:
    assert (await run_command("cat; echo end")).output == "end\n"


@pytest.mark.guarantee("A11")
@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > pids; sleep 600",
        "sleep 600 & echo $$ $! > pids; wait",
        "trap '' TERM HUP INT; sleep 600 & echo $$ $! > pids; while :; do sleep 600; done",
        "(sleep 600 & echo $! > pids); sleep 600",
        "setsid sleep 600 & echo $! > pids; sleep 600",
        "echo $$ > pids; kill -STOP $$",
    ],
    ids=["plain", "child", "ignores signals", "orphan", "own session", "stopped"],
)
async def test_a_command_that_takes_too_long_dies_with_all_its_children(command: str, tmp_path: Path) -> None:
    before = time.perf_counter()
    done = await run_command(command, cwd=tmp_path, timeout_s=0.3)
    assert time.perf_counter() - before < 0.3 + 0.5
    assert done.timed_out
    assert done.exit_code in (-signal.SIGTERM, -signal.SIGKILL)
    for pid in pids(tmp_path / "pids"):
        assert comes_true(lambda pid=pid: not is_alive(pid), within_s=0.5)


@pytest.mark.guarantee("A11")
async def test_a_cancelled_command_dies_with_all_its_children_before_the_call_ends(tmp_path: Path) -> None:
    call = asyncio.create_task(run_command("sleep 600 & echo $$ $! > pids; wait", cwd=tmp_path))
    while not (tmp_path / "pids").exists() or len((tmp_path / "pids").read_text().split()) < 2:
        await asyncio.sleep(0.005)
    before = time.perf_counter()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.perf_counter() - before < 0.5
    for pid in pids(tmp_path / "pids", 2):
        assert comes_true(lambda pid=pid: not is_alive(pid), within_s=0.5)


async def test_cancelling_twice_leaves_no_process_either(tmp_path: Path) -> None:
    files = open_files()
    call = asyncio.create_task(
        run_command("trap '' TERM; echo $$ > pids; sleep 600; sleep 600", cwd=tmp_path)
    )
    while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text().split():
        await asyncio.sleep(0.005)
    call.cancel()
    await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    (pid,) = pids(tmp_path / "pids")
    assert comes_true(lambda: not is_alive(pid), within_s=0.5)
    assert open_files() == files


async def test_what_a_command_leaves_in_the_background_dies_with_it(tmp_path: Path) -> None:
    before = time.perf_counter()
    done = await run_command("sleep 600 & echo $! > pids; echo started", cwd=tmp_path)
    assert (done.exit_code, done.output) == (0, "started\n")
    assert time.perf_counter() - before < 0.5
    (pid,) = pids(tmp_path / "pids")
    assert comes_true(lambda: not is_alive(pid))


async def test_a_grandchild_that_holds_the_pipe_does_not_hold_us(tmp_path: Path) -> None:
    # Without a mark in its environment and in a session of its own it is out of reach, but not in the way.
    before = time.perf_counter()
    done = await run_command("env -i setsid sleep 2 & sleep 0.1; echo started", cwd=tmp_path)
    assert time.perf_counter() - before < 1
    assert done.output == "started\n"


async def test_a_command_that_forks_and_forks_is_stopped(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "for _ in range(5):\n"
        "    if os.fork() == 0 and os.fork() == 0: os.setsid()\n"
        "open('pids', 'a').write(f'{os.getpid()} ')\n"
        "time.sleep(600)\n"
    )
    done = await run_command([sys.executable, "-c", code], cwd=tmp_path, timeout_s=0.7)
    assert done.timed_out
    started = pids(tmp_path / "pids", 20)
    assert comes_true(lambda: not any(is_alive(pid) for pid in started))


@pytest.mark.guarantee("A11")
def test_when_our_process_is_killed_the_command_dies_too(tmp_path: Path) -> None:
    code = (
        "import asyncio\n"
        "from endstop.tools import run_command\n"
        "asyncio.run(run_command('sleep 600 & setsid sleep 600 & echo $$ $! > pids; wait'))\n"
    )
    ours = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    command = pids(tmp_path / "pids", 2)
    assert all(is_alive(pid) for pid in command)
    ours.kill()
    ours.wait()
    assert comes_true(lambda: not any(is_alive(pid) for pid in command))


def test_a_command_dies_with_us_even_if_there_was_no_time_to_tell_of_it() -> None:
    code = (
        "import os, signal, subprocess\n"
        "from endstop.tools.group import MARK, DeathGuard\n"
        "guard = DeathGuard('some-mark')\n"
        "command = subprocess.Popen(['sleep', '600'], env={MARK: 'some-mark', 'PATH': os.environ['PATH']})\n"
        "print(command.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    assert comes_true(lambda: not is_alive(int(done.stdout)))


def children() -> set[str]:
    """The processes that are children of this one, dead ones that nobody has cleared away included."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split())


async def test_nothing_is_left_behind() -> None:
    await run_command("true")
    files, others = open_files(), children()
    for _ in range(10):
        await run_command("echo x; sleep 0.001 &")
        await run_command("sleep 60", timeout_s=0.005)
    assert open_files() == files
    assert children() - others == set()  # dead or alive


async def test_a_flood_of_output_is_cut_in_the_middle_and_costs_little() -> None:
    done = await run_command("echo first; yes | head -c 30000000; echo last", max_output_bytes=1_000)
    assert done.is_cut
    assert done.output.startswith("first\ny\n")
    assert done.output.endswith("y\nlast\n")
    assert f"[... {30_000_011 - 1_000:,} bytes left out ...]" in done.output


async def test_output_without_end_does_not_outrun_the_time_limit() -> None:
    before = time.perf_counter()
    done = await run_command("yes", timeout_s=0.2, max_output_bytes=100)
    assert (done.timed_out, done.is_cut) == (True, True)
    assert time.perf_counter() - before < 0.7


async def test_output_that_is_no_text_is_made_readable() -> None:
    assert (await run_command("printf 'caf\\351'")).output == "caf\ufffd"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-program"], "'no-such-program' cannot be started: No such file"),
        (["/etc/passwd"], "cannot be started: Permission denied"),
        ([], "The command is empty"),
        ("echo a\0b", "embedded null byte"),
        (["echo", "x" * 10_000_000], "Argument list too long"),
    ],
)
async def test_a_command_that_cannot_start_says_why_and_leaves_nothing(
    command: list[str] | str, words: str
) -> None:
    files = open_files()
    with pytest.raises(ToolError, match=words):
        await run_command(command)
    assert open_files() == files


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"There is no folder .*nowhere"):
        await run_command("true", cwd=tmp_path / "nowhere")


async def test_an_output_cap_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="max_output_bytes"):
        await run_command("true", max_output_bytes=0)


async def test_without_a_way_to_watch_a_process_it_is_asked_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert (await run_command("sleep 0.05; echo x")).output == "x\n"


async def test_a_process_that_will_not_die_is_left_to_somebody_who_waits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As one that hangs in the kernel: here, no signal reaches it."""

    def nothing(*_: object) -> None: ...

    monkeypatch.setattr(processes, "signal_group", nothing)
    monkeypatch.setattr(processes, "kill_marked", nothing)
    done = await run_command("echo $$ > pids; exec sleep 1", cwd=tmp_path, timeout_s=0.05)
    assert done.timed_out
    (pid,) = pids(tmp_path / "pids")
    assert comes_true(lambda: not Path(f"/proc/{pid}").exists())


def test_no_secret_is_passed_on() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "OPENAI_API_KEY": "k", "FOO": "x", "LC_TOKEN": "t", "HOME": "/h"}
    assert safe_environment(given) == {"PATH": "/bin", "LC_ALL": "C", "HOME": "/h"}
    for name in ("AWS_SECRET_ACCESS", "db_password", "GITHUB_TOKEN", "SSH_KEY", "GOOGLE_CREDENTIALS"):
        assert is_secret(name)


async def test_a_command_sees_the_small_environment_or_the_one_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hush")
    assert "hush" not in (await run_command("env")).output
    assert "A=b\n" in (await run_command("env", env={"A": "b", "PATH": os.environ["PATH"]})).output


def test_the_guard_can_be_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more_processes(*_: object, **__: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", no_more_processes)
    guard = DeathGuard("mark")
    guard.watch(1)
    guard.dismiss()


def test_the_sweep_passes_over_whatever_it_may_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    kill_marked("no-such-mark")

    def no_proc(_: str) -> list[str]:
        raise FileNotFoundError

    monkeypatch.setattr(os, "listdir", no_proc)
    kill_marked("no-such-mark")


@pytest.mark.parametrize("piece", [1, 3, 7, 50, 1_000])
def test_capped_output_keeps_both_ends_in_whatever_pieces_it_comes(piece: int) -> None:
    output = CappedOutput(20)
    data = bytes(range(65, 91)) * 4
    for start in range(0, len(data), piece):
        output.add(data[start : start + piece])
    assert output.is_cut
    assert (
        output.text()
        == f"{data[:10].decode()}\n[... {len(data) - 20} bytes left out ...]\n{data[-10:].decode()}"
    )


async def call_shell(folder: Path, command: str, **options: object) -> str:
    shell = shell_tool(folder, **options)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    return (await shell.call(json.dumps({"command": command}), CONTEXT)).text


@pytest.mark.guarantee("B2")
async def test_a_command_that_fails_is_a_result_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert await call_shell(tmp_path, "ls; exit 1") == "exit code 1\na.txt\n"
    assert await call_shell(tmp_path, "true") == "exit code 0, no output"
    assert await call_shell(tmp_path, "kill -KILL $$") == "ended by signal 9, no output"


@pytest.mark.guarantee("B2")
async def test_a_command_that_takes_too_long_is_an_error_that_keeps_the_output(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"did not end within 0.2 s .* Its output so far: half"):
        await call_shell(tmp_path, "echo half; sleep 600", timeout_s=0.2)


async def test_the_shell_says_that_it_changes_something(tmp_path: Path) -> None:
    shell = shell_tool(tmp_path, timeout_s=9)
    assert shell.traits.changes_something
    assert shell.traits.timeout_s == 14
    assert "It may take 9 s." in shell.spec.description


async def test_with_a_list_only_those_commands_run_and_no_shell_reads_them(tmp_path: Path) -> None:
    allow = ("echo", "git status")
    assert await call_shell(tmp_path, "echo 'a b' *", allow=allow) == "exit code 0\na b *\n"
    for command in ("ls", "git log", "git", "", "echoo x"):
        with pytest.raises(
            ToolRefusedError, match=r"is not allowed\. Allowed: commands that begin with: echo"
        ):
            await call_shell(tmp_path, command, allow=allow)
    for command in ("echo x; ls", "echo $HOME", "echo `ls`", "echo x | sh", "echo x > f", "echo x\nls"):
        with pytest.raises(ToolRefusedError, match="uses signs of the shell"):
            await call_shell(tmp_path, command, allow=allow)
    with pytest.raises(ToolArgumentsError, match="No closing quotation"):
        await call_shell(tmp_path, "echo 'x", allow=allow)
    with pytest.raises(ToolRefusedError, match="begin with: none"):
        await call_shell(tmp_path, "ls", allow=())


def test_a_shell_without_a_folder_or_with_a_text_for_a_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="a folder that exists"):
        shell_tool(tmp_path / "nowhere")
    with pytest.raises(InvalidValueError, match="several commands"):
        shell_tool(tmp_path, allow="ls")
