"""The real command in processes of its own: killed, interrupted, cancelled, two at once, its pipe broken."""

from __future__ import annotations

import fcntl
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_program import COMMAND, environment, in_process_of_its_own, line_with, started
from cli_runs import left_open_by_its_tool

COMMANDS = (
    *("ask", "serve", "demo", "runs", "show", "explain", "resume", "cancel", "review", "audit", "bound"),
    *("tree", "doctor", "settings", "users", "tokens"),
)


@pytest.mark.guarantee("J1")
def test_help_teaches_every_command_with_examples(home: Path) -> None:
    told = in_process_of_its_own(home, "--help")
    assert told.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in told.out
    assert "Exit codes:" in told.out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from endstop.cli.program import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    heavy = {"sqlalchemy", "alembic", "pydantic_ai", "mcp", "psycopg", "genai_prices", "rich", "fastapi"}
    assert not loaded & heavy
    assert "endstop.app" not in done.stderr.split()


def test_without_a_command_the_help_is_shown_and_it_is_a_usage_error(home: Path) -> None:
    done = in_process_of_its_own(home)
    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err
    assert "No command was given." in done.err


@pytest.mark.guarantee("J1")
def test_demo_shows_how_each_one_ends_and_says_that_all_did(home: Path) -> None:
    done = in_process_of_its_own(home, "demo", "repeats_call", "runaway", "fails_access")
    assert (done.code, done.err) == (0, "")
    assert "[1/3] repeats_call: Makes the same tool call every turn." in done.out
    assert "ended by  no progress" in done.out
    assert "ended by  iteration limit, with an answer" in done.out
    assert "ended by  failed: model access" in done.out
    assert "more lines like these" in done.out
    assert "every run ended: 3 of 3, inside its budget, audits hold" in done.out
    assert not {each for each in done.out if ord(each) < 32} - {"\n"}


@pytest.mark.guarantee("J1")
def test_demo_as_json_gives_one_line_per_event_and_a_result(home: Path) -> None:
    done = in_process_of_its_own(home, "demo", "recovers", "same_reason", "--json")
    lines = done.json_lines
    assert [line["event"] for line in lines if line["event"] in ("started", "ended")] == [
        "started",
        "ended",
        "started",
        "ended",
    ]
    assert lines[-1] == {
        "event": "result",
        "runs": 2,
        "ended": 2,
        "over_budget": [],
        "audit_broken": [],
        "holds": True,
    }


def test_a_hostile_gallery_leaves_no_trace_on_the_screen_but_its_own(home: Path) -> None:
    """Strays of models and tools (tasks that fail late, threads that hang) are not for the user to read."""
    names = ("stubborn", "tool_raises_keyboard_interrupt", "raises_system_exit", "tool_blocks_thread")
    done = in_process_of_its_own(home, "demo", *names, "--seconds", "0.6")
    assert (done.code, done.err) == (0, "")


@pytest.mark.guarantee("H5")
def test_a_demo_that_was_killed_is_left_open_and_goes_on(home: Path) -> None:
    process = started(home, "demo", "recovers", "tool_hangs", "--seconds", "20")
    line_with(process, "[2/2] tool_hangs")
    _wait_for_turn(home, runs_begun=2)
    process.kill()
    process.communicate()
    listed = in_process_of_its_own(home, "runs", "--open")
    run = listed.out.splitlines()[1].split()[0]
    assert f"left open: endstop resume {run}" in listed.out
    assert f"endstop resume {run}" in in_process_of_its_own(home, "explain", run).out
    assert "1: run_" in in_process_of_its_own(home, "doctor").out
    process = started(home, "resume", "--json")
    line_with(process, '"event": "turn"')
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 130
    assert f'"next": "endstop resume {run}"' in out
    cancelled = in_process_of_its_own(home, "cancel", run)
    assert (cancelled.code, "cancelled by me" in cancelled.out) == (0, True)
    audited = in_process_of_its_own(home, "audit", run)
    assert audited.code == 0, audited.out


@pytest.mark.guarantee("H5")
def test_all_runs_left_open_go_on_together(home: Path) -> None:
    for number in (1, 2):
        process = started(home, "demo", "hangs_mid_stream", "--seconds", "1.5")
        line_with(process, "[1/1]")
        _wait_for_turn(home, runs_begun=number)
        process.kill()
        process.communicate()
    several = in_process_of_its_own(home, "resume")
    assert (several.code, "2 runs were left open" in several.err) == (2, True)
    done = in_process_of_its_own(home, "resume", "--all")
    assert done.code == 3
    assert done.out.count("audit     holds") == 2
    assert in_process_of_its_own(home, "runs", "--open", "--json").json == []


@pytest.mark.guarantee("D10")
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_saves_says_how_to_go_on_and_leaves(
    home: Path, kind: signal.Signals, code: int
) -> None:
    process = started(home, "demo", "hangs_mid_stream", "--seconds", "20")
    line_with(process, "[1/1]")
    _wait_for_turn(home)
    process.send_signal(kind)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (code, "")
    assert "is saved, and the run is left open" in out
    run = out.strip().splitlines()[-1].removeprefix("Go on with: endstop resume ")
    assert [one["run"] for one in in_process_of_its_own(home, "runs", "--open", "--json").json] == [run]


@pytest.mark.guarantee("D10")
def test_a_run_of_another_process_is_followed_refused_to_others_and_cancelled(home: Path) -> None:
    process = started(home, "demo", "drips_tokens", "--seconds", "30")
    line_with(process, "[1/1]")
    _wait_for_turn(home)
    follower = started(home, "show", "last", "--follow")
    line_with(follower, "Turn 1")
    refused = in_process_of_its_own(home, "resume", "last")
    assert (refused.code, f"is being worked on by process {process.pid}" in refused.err) == (2, True)
    cancelled = in_process_of_its_own(home, "cancel", "last", "--json")
    assert (cancelled.code, cancelled.json["has_ended"]) == (0, True)
    out, _ = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "ended by  cancelled by me" in out
    followed, _ = follower.communicate(timeout=10)
    assert "Ended: cancelled" in followed


def test_cancel_after_the_turn_waits_for_it_and_says_so(home: Path) -> None:
    process = started(home, "demo", "tool_hangs", "--seconds", "6")
    line_with(process, "[1/1]")
    _wait_for_turn(home)
    asked = in_process_of_its_own(home, "cancel", "last", "--after-turn", "--wait", "0")
    assert (asked.code, "was asked to end, and has not yet" in asked.out) == (3, True)
    done = in_process_of_its_own(home, "cancel", "last", "--after-turn")
    process.communicate(timeout=10)
    assert done.code == 0
    assert "waiting for it" in done.out


@pytest.mark.guarantee("H1")
def test_a_run_that_is_taken_over_goes_on_in_one_process_and_stops_in_the_other(home: Path) -> None:
    process = started(home, "demo", "hangs_mid_stream", "--seconds", "4")
    line_with(process, "[1/1]")
    _wait_for_turn(home)
    taken = in_process_of_its_own(home, "resume", "last", "--take-over")
    out, err = process.communicate(timeout=15)
    assert taken.code == 3
    assert process.returncode == 1
    assert "Traceback" not in out + err
    assert "Another process goes on with run_" in err
    assert in_process_of_its_own(home, "audit", "last").code == 0


def test_two_demos_at_once_do_not_disturb_each_other(home: Path) -> None:
    both = [started(home, "demo", "runaway", "cycle_of_two", "repeats_call") for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, "")
        assert "every run ended: 3 of 3" in out
    assert len(in_process_of_its_own(home, "runs", "--json").json) == 6


@pytest.mark.parametrize("where", ["/dev/full", "&-"])
def test_an_output_that_takes_nothing_is_said_or_does_not_matter(gallery: Path, where: str) -> None:
    line = f"{' '.join(COMMAND)} runs >{where}"
    done = subprocess.run(
        ["bash", "-c", line], env=environment(gallery), capture_output=True, text=True, check=False
    )
    if where == "/dev/full":
        assert (done.returncode, "could not be written: No space left" in done.stderr) == (1, True)
    else:
        assert (done.returncode, done.stderr) == (0, "")


def test_what_cannot_be_made_anew_here_keeps_nobody_else_from_going_on(home: Path) -> None:
    left_open_by_its_tool(home)
    done = in_process_of_its_own(home, "resume", "--all")
    assert done.code == 2
    assert "Resume it from the program that started it" in done.err


@pytest.mark.guarantee("H4")
def test_the_same_commands_work_on_postgresql(home: Path, postgres_url: str) -> None:
    environ = {"ENDSTOP_DATABASE_URL": postgres_url}
    assert in_process_of_its_own(home, "demo", "repeats_call", env=environ).code == 0
    assert in_process_of_its_own(home, "settings", "set", "max_iterations=5", env=environ).code == 0
    assert in_process_of_its_own(home, "audit", "last", env=environ).code == 0
    assert "PostgreSQL" in in_process_of_its_own(home, "doctor", env=environ).out


@pytest.mark.parametrize("command", ["runs", "demo recovers repeats_call runaway", "show last --all"])
def test_a_reader_that_goes_away_does_no_harm(gallery: Path, tmp_path: Path, command: str) -> None:
    home = tmp_path / "home" if command.startswith("demo") else gallery
    line = f"set -o pipefail; {' '.join(COMMAND)} {command} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode in (0, 141)
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.guarantee("A11")
def test_a_reader_who_does_not_read_does_not_hold_up_a_time_limit(home: Path) -> None:
    process = started(home, "demo", "says_odd_text", "hangs_mid_stream", "--seconds", "0.5", "--json")
    assert process.stdout is not None
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4_096)
    time.sleep(3)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0, out
    assert len(out) > 2 * 4_096


def test_an_output_that_knows_few_letters_does_not_end_a_command(gallery: Path) -> None:
    done = in_process_of_its_own(gallery, "show", "last", env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert "turns 3/12 ? tokens" in done.out


def _wait_for_turn(home: Path, *, runs_begun: int = 1) -> None:
    """Until so many runs are in the database, each in its first turn at least."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with sqlite3.connect(f"file:{home / 'endstop.db'}?mode=ro", uri=True) as database:
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master")]
            runs = next(name for name in tables if name.endswith("runs") and "conversation" not in name)
            (begun,) = database.execute(f"SELECT count(*) FROM {runs} WHERE turns > 0").fetchone()
        database.close()
        if begun >= runs_begun:
            return
        time.sleep(0.02)
    raise AssertionError("no turn has begun")
