"""``endstop audit``: proof from the record that a run kept its promises (A14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json, MaybeRunName
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app
from endstop.errors import RecordError, RunStateError

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.events.audit import Audit
    from endstop.ports import StoredRun


def audit(
    run: MaybeRunName = None,
    all_: Annotated[bool, typer.Option("--all", help="Every run that has ended.")] = False,
    is_json: Json = False,
) -> None:
    """Replay the record of a run and check each promise: never past limit plus grants, one result per tool
    call, exactly one ending, and the same verdicts again.

    \b
    Examples:
      endstop audit last
      endstop audit --all

    Exit code 0 if everything holds, 1 if not.

    With --json: an object with run, holds and checks (name, holds, detail); with --all, a list of them.
    """
    if (run is None) == (not all_):
        what = "No run was named" if run is None else f"Both {run} and --all were given"
        raise UsageError(what, allowed="a run, or --all", to_do="Such as endstop audit last")

    async def work(app: App, output: Output) -> int:
        return await (_audit_all(app, output) if run is None else _audit_one(app, output, run))

    with_app(work, is_json=is_json)


async def _audit_one(app: App, output: Output, given: str) -> int:
    from endstop.cli.naming import find_run
    from endstop.kernel.review import RunPhase

    stored = await find_run(app.store, given)
    if stored.phase is not RunPhase.ENDED:
        raise RunStateError(
            f"The run {stored.run_id} has not ended, and an audit is of the whole of a run",
            allowed="runs that have ended",
            to_do=f"See how it stands: endstop explain {stored.run_id}",
        )
    checked = await _audited(app, stored)
    if output.is_json:
        output.document(_json(checked))
        return 0 if checked.holds else 1
    output.say(f"Audit of run {stored.run_id}: {'holds' if checked.holds else 'DOES NOT HOLD'}", style="bold")
    for check in checked.checks:
        detail = f": {check.detail}" if check.detail else ""
        style = "green" if check.holds else "bold red"
        output.say(f"  {'holds ' if check.holds else 'BROKEN'}  {check.name}{detail}", style=style)
    return 0 if checked.holds else 1


async def _audit_all(app: App, output: Output) -> int:
    from endstop.cli.naming import all_runs
    from endstop.kernel.review import RunPhase

    stored = await all_runs(app.store)
    ended = [run for run in stored if run.phase is RunPhase.ENDED]
    audits = [(run, await _audited(app, run)) for run in ended]
    broken = [checked for _, checked in audits if not checked.holds]
    if output.is_json:
        output.document([_json(checked) for _, checked in audits])
        return 1 if broken else 0
    columns = (Column(name="run"), Column(name="agent"), Column(name="audit", may_shrink=True))
    if audits:
        output.table(columns, [(run.run_id, run.agent, _shown(checked)) for run, checked in audits])
    left_out = len(stored) - len(ended)
    more = f"; {left_out:,} not looked at, because they have not ended" if left_out else ""
    output.say(
        f"{len(ended) - len(broken):,} of {len(ended):,} hold{more}", style="bold red" if broken else "bold"
    )
    return 1 if broken else 0


async def _audited(app: App, stored: StoredRun) -> Audit:
    """The audit of a run. A record that cannot even be read does not hold."""
    from endstop.events.audit import Audit, Check
    from endstop.events.audit import audit as audit_record

    try:
        return audit_record(await app.store.record(stored.run_id))
    except RecordError as error:
        unreadable = Check(name="the record can be read", holds=False, detail=str(error))
        return Audit(run_id=stored.run_id, checks=(unreadable,))


def _shown(checked: Audit) -> str:
    from endstop.cli.ending import audit_shown

    return audit_shown(checked)


def _json(checked: Audit) -> dict[str, object]:
    return {
        "run": checked.run_id,
        "holds": checked.holds,
        "checks": [
            {"name": check.name, "holds": check.holds, "detail": check.detail} for check in checked.checks
        ],
    }
