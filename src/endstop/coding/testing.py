"""The project's own tests, really run, and what came of them (G8)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path

from endstop.coding.finding_tests import TestCommand, find_test_command
from endstop.coding.junit import MOST_BYTES, TestReport, read_report
from endstop.errors import ToolError
from endstop.events.coding import TestsRun
from endstop.kernel.texts import readable
from endstop.tools.confinement import Confinement, scratch_folder
from endstop.tools.processes import CommandResult
from endstop.tools.project.folder import Folder
from endstop.tools.threads import call_in_thread

__all__ = ["TestCommand", "find_test_command", "project_environment", "run_tests", "told"]

MOST_OUTPUT_CHARS = 4_000
NOTHING_COLLECTED = 5
"""pytest's own exit code for: no tests were collected."""
FAILED = 1
"""pytest's own exit code for: some tests failed."""

_REPORT = "report.xml"
_MOST_TOLD = 50


async def run_tests(
    command: TestCommand,
    confinement: Confinement,
    *,
    round: int,  # noqa: A002 - the word of the record
    after: str,
    seconds: float,
) -> TestsRun:
    """Run the tests, and read how they ended from pytest's report, or else from the exit code alone."""
    async with scratch_folder() as scratch:
        started = time.perf_counter()
        done = await confinement.run(
            command.words,
            timeout_s=seconds,
            env={**project_environment(confinement.folder), **command.environment, **_kept_out(scratch)},
            readable=command.readable,
            writable=(scratch,),
        )
        took_s = time.perf_counter() - started
        report, is_there = await call_in_thread(_report_in, scratch, confinement.folder)
    exit_code, note = _judged(done, report, is_there=is_there, is_pytest=command.is_pytest, seconds=seconds)
    return TestsRun(
        round=round,
        after=after,
        command=command.text,
        exit_code=exit_code,
        seconds=took_s,
        passed=None if report is None else report.passed,
        failed=None if report is None else report.failed,
        failing=() if report is None else tuple(map(readable, report.failing)),
        passing=() if report is None else tuple(map(readable, report.passing)),
        timed_out=done.timed_out,
        output=_end_of(done.output, note),
    )


def project_environment(folder: Path) -> Mapping[str, str]:
    """Variables for commands in a worktree: the code there is meant, and not what is installed of it.

    An editable installation leads to the user's own tree.
    """
    sources = [str(one) for one in (folder / "src", folder) if one.is_dir()]
    return {"PYTHONPATH": ":".join(sources), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}


def told(run: TestsRun) -> str:
    """How the tests ended, in words for a model."""
    lines = [_headline(run), f"Command: {run.command}"]
    if run.failing:
        lines.append("Failing tests:")
        lines += [f"- {name}" for name in run.failing[:_MOST_TOLD]]
        if len(run.failing) > _MOST_TOLD:
            lines.append(f"- and {len(run.failing) - _MOST_TOLD:,} more")
    lines += ["The end of the output:", run.output] if run.output else ["There was no output."]
    return "\n".join(lines)


def _headline(run: TestsRun) -> str:
    counts = "" if run.passed is None else f" {run.passed:,} passed, {run.failed or 0:,} failed."
    if run.timed_out:
        return f"The tests did not end in time ({run.seconds:.0f} s) and were killed.{counts}"
    verdict = "The tests pass" if run.are_green else "The tests do not pass"
    return f"{verdict} (exit code {run.exit_code}, {run.seconds:.1f} s).{counts}"


def _kept_out(scratch: Path) -> Mapping[str, str]:
    """Variables that make test tools write what they keep into the scratch folder, and not the worktree.

    By a variable and not by arguments, so that it holds as well when ``make test`` calls pytest.
    """
    options = (f"--junitxml={scratch / _REPORT}", "-o", f"cache_dir={scratch / 'cache'}")
    return {
        "PYTEST_ADDOPTS": shlex.join(options),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
        "COVERAGE_FILE": str(scratch / "coverage"),
    }


def _report_in(scratch: Path, folder: Path) -> tuple[TestReport | None, bool]:
    """The report, if it can be read; and whether there is one at all."""
    if not (scratch / _REPORT).exists():
        return None, False
    try:
        return read_report(Folder(scratch).read(_REPORT, most_bytes=MOST_BYTES), folder), True
    except ToolError:
        return None, True  # too large, or not a file


def _judged(
    done: CommandResult, report: TestReport | None, *, is_there: bool, is_pytest: bool, seconds: float
) -> tuple[int, str]:
    """The exit code that counts, and a note about it. One of 0 has to be borne out by the report.

    A test that ends the whole process with 0, or a hook that changes the code, does not make tests pass.
    """
    if done.timed_out:
        return done.exit_code, f"The tests did not end within {seconds:g} s, and were killed."
    if is_pytest and done.exit_code == NOTHING_COLLECTED:
        return NOTHING_COLLECTED, "No tests were collected."
    if done.exit_code != 0:
        return done.exit_code, ""
    if report is not None and report.failed:
        return FAILED, "The exit code was 0, but the report has failing tests."
    if is_pytest and report is not None and not report.passed + report.skipped:
        return NOTHING_COLLECTED, "No tests were collected."
    if is_pytest and not is_there:
        return FAILED, "pytest ended with 0 before it was through: there is no report. That is no pass."
    return 0, ""


def _end_of(output: str, note: str) -> str:
    """The end of the output, and the note after it."""
    text = readable(output).rstrip()
    ending = f"\n[{note}]" if note else ""
    room = MOST_OUTPUT_CHARS - len(ending)
    if len(text) > room:
        text = "[...]\n" + text[len(text) - room + len("[...]\n") :]
    return (text + ending).lstrip("\n")
