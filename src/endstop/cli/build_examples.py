"""``endstop build --example``: sessions that need no model, in sample repositories of their own."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from endstop.app.coding import propose_session
from endstop.cli.build_asking import ExampleAnswers
from endstop.cli.build_bound import session_bound_json, tell_session_bound
from endstop.cli.build_ending import kind_of
from endstop.cli.building import INTERRUPTED, Seen, begun
from endstop.cli.output import Column, Output
from endstop.coding.examples import EXAMPLE, EXAMPLES, example_model, make_sample_repository
from endstop.coding.policy import DEFAULT_POLICY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.app import App
    from endstop.coding.examples import Example

ALL = "all"
ENDS_AS = {"accepted": "succeeded", "vague": "abandoned", "dear": "abandoned", "stuck": "stuck"}
"""What the ending of each has to be called."""

_COLUMNS = (
    Column(name="example"),
    Column(name="ended as it should"),
    Column(name="how", may_shrink=True),
    Column(name="exit code", is_number=True),
    Column(name="run"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """How one example came out."""

    name: str
    is_right: bool
    how: str
    code: int
    run_id: str


async def watched_examples(app: App, output: Output, name: str, folder: Path | None) -> int:
    """Run one example, with the exit code of its outcome; or all, with 0 if each ended as it should."""
    if name != ALL:
        example_model(name)  # a name that is not there is said before anything is made
        return (await _watched(app, output, EXAMPLES[name], folder)).code
    seen: list[tuple[Example, Seen]] = []
    for example in EXAMPLES.values():
        place = None if folder is None else folder / example.name
        one = await _watched(app, output, example, place, tells_bound=not seen)
        if one.run is None:
            return INTERRUPTED
        seen.append((example, one))
        output.say()
    return _told(output, seen)


async def _watched(
    app: App, output: Output, example: Example, folder: Path | None, *, tells_bound: bool = True
) -> Seen:
    place = Path(tempfile.mkdtemp(prefix="endstop-example-")) if folder is None else folder
    root = await make_sample_repository(place)
    proposed = await propose_session(
        root,
        example.intent,
        model=f"{EXAMPLE}{example.name}",
        policy=DEFAULT_POLICY,
        asks_user=True,
        config=app.config,
    )
    if output.is_json:
        told = {"event": "example", "example": example.name, "about": example.about, "folder": str(root)}
        output.json_line(told)
        output.json_line({"event": "bound", **session_bound_json(proposed.policy, asks_user=True)})
    else:
        output.say(f"Example {example.name}: {example.title}", style="bold")
        output.say(example.about)
        output.say("A script stands for the model, and prices are made up; all else is real.", style="dim")
        output.pairs([("repository", str(root)), ("intent", example.intent)], indent="  ")
        output.say()
        if tells_bound:  # it is the same for all
            tell_session_bound(output, proposed.policy, asks_user=True)
            output.say()
    seen = await begun(app, output, example.intent, proposed, ExampleAnswers(output, example.answers))
    output.say()
    output.say(f"The sample repository stays: {root}", style="dim")
    return seen


def _told(output: Output, seen: Sequence[tuple[Example, Seen]]) -> int:
    """Tell what all of them came to."""
    results = [_result(example, one) for example, one in seen]
    others = [one.name for one in results if not one.is_right]
    if output.is_json:
        told = [
            {
                "example": one.name,
                "is_right": one.is_right,
                "how": one.how,
                "exit_code": one.code,
                "run": one.run_id,
            }
            for one in results
        ]
        output.json_line({"event": "result", "examples": told, "holds": not others})
        return 1 if others else 0
    output.table(
        _COLUMNS,
        [(one.name, "yes" if one.is_right else "NO", one.how, str(one.code), one.run_id) for one in results],
    )
    output.say()
    if others:
        output.say(f"not as it should: {', '.join(others)}", style="bold red")
    else:
        output.say("every example ended as it should", style="bold green")
    output.say(f"Why did it stop? endstop explain {results[-1].run_id}")
    return 1 if others else 0


def _result(example: Example, seen: Seen) -> _Result:
    assert seen.run is not None, "one that was interrupted ends them all"
    kind = kind_of(seen.run)
    is_right = kind == ENDS_AS.get(example.name)
    return _Result(
        name=example.name,
        is_right=is_right,
        how=example.ends if is_right else (kind or "not ended").replace("_", " "),
        code=seen.code,
        run_id=seen.run.id,
    )
