"""``endstop bound``: what a run can use at most, known before it starts (A13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json, amount
from endstop.cli.output import Column, Output
from endstop.cli.running import with_app
from endstop.errors import UnboundedError

if TYPE_CHECKING:
    from endstop.kernel.bounds import UpperBound
    from endstop.kernel.budget import Budget
    from endstop.tree.bounds import PassBound

BOUND_NAMES = ("turns", "model_calls", "tool_calls", "tokens", "cost_usd", "seconds")
"""What has a bound, in the order in which it is told."""

_COLUMNS = (
    Column(name="at most"),
    Column(name="without grants", is_number=True),
    Column(name="with every grant", is_number=True),
)


def bound(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="An adversary of the gallery, a tree, a tree file, or coding.",
            show_default=False,
        ),
    ] = None,
    turns: Annotated[int | None, amount("--turns", "A limit on turns.")] = None,
    tokens: Annotated[int | None, amount("--tokens", "A limit on tokens.")] = None,
    cost: Annotated[str | None, amount("--cost", "A limit on cost.", "USD")] = None,
    seconds: Annotated[float | None, amount("--seconds", "A limit on time.", "S")] = None,
    model_calls: Annotated[int | None, amount("--model-calls", "A limit on model calls.")] = None,
    tool_calls_per_turn: Annotated[
        int | None, amount("--tool-calls-per-turn", "Tool calls in one turn; 10 if not given.")
    ] = None,
    is_json: Json = False,
) -> None:
    """Tell what a run can use at most, without running anything.

    Of the budget in your settings, of an agent of the gallery, of a tree under your settings, of a coding
    session under the policy that holds here, or of limits given here. A budget that would not end every run
    is refused (exit code 2). Grants are capped, so there is a bound with them, too.

    \b
    Examples:
      endstop bound
      endstop bound --turns 30 --tokens 200000 --cost 0.50
      endstop bound runaway
      endstop bound oracle-agent
      endstop bound coding

    With --json: an object with of, without_grants and with_grants (for a tree: tree, of, per_pass and
    per_run; for coding: of, phases and whole); each of these has turns, model_calls, tool_calls, tokens,
    cost_usd (text) and seconds, null where nothing bounds it.
    """
    limits = {
        "turns": turns,
        "tokens": tokens,
        "cost_usd": cost,
        "seconds": seconds,
        "model_calls": model_calls,
        "tool_calls_per_turn": tool_calls_per_turn,
    }
    given = {name: value for name, value in limits.items() if value is not None}
    if agent is not None and given:
        raise UsageError(
            f"Both an agent ({agent}) and limits were given",
            allowed="an agent, or limits",
            to_do="Leave out one of the two",
        )
    if agent == "coding":
        _of_coding(Output(is_json=is_json))
    elif agent is not None and _is_tree(agent):
        _of_tree(agent, is_json=is_json)
    elif agent is not None:
        _of_agent(Output(is_json=is_json), agent)
    elif given:
        _of_limits(Output(is_json=is_json), given)
    else:
        _of_settings(is_json=is_json)


def _is_tree(name: str) -> bool:
    """Whether a tree is meant rather than an adversary; of a name that is neither, which is more like it."""
    from endstop.app.gallery import DEMO
    from endstop.app.oracle import tree_library
    from endstop.cli.named_tree import is_path
    from endstop.kernel.texts import closest
    from endstop.testing import ADVERSARIES

    if name.removeprefix(DEMO) in ADVERSARIES:
        return False
    trees = tree_library().names()
    is_like_one = closest(name, ADVERSARIES) is None and closest(name, trees) is not None
    return name in trees or is_path(name) or is_like_one


def _of_coding(output: Output) -> None:
    from pathlib import Path

    from endstop.app import read_config
    from endstop.cli.build_bound import say_session_bound
    from endstop.coding.policy_file import policy_for

    say_session_bound(output, policy_for(Path.cwd(), read_config().home), asks_user=True)


def _of_tree(name: str, *, is_json: bool) -> None:
    from endstop.app import App
    from endstop.app.oracle import tree_library
    from endstop.cli.named_tree import tree_meant
    from endstop.cli.tree_bounds import tell_tree_bound

    async def work(app: App, output: Output) -> int:
        tree = tree_meant(name, tree_library(app.config))
        tell_tree_bound(output, tree, (await app.settings()).budget(), f"the settings of {app.config.user}")
        return 0

    with_app(work, is_json=is_json)


def _of_agent(output: Output, name: str) -> None:
    from endstop.app.gallery import DEMO, demo_agent

    made = demo_agent(name.removeprefix(DEMO))
    _tell(output, f"the agent {made.name}", made.config.budget, made.retries.attempts)


def _of_limits(output: Output, given: dict[str, int | float | str]) -> None:
    from typing import Any, cast

    from endstop.kernel.agent import DEFAULT_BUDGET
    from endstop.kernel.budget import Budget
    from endstop.loop.agent import Retries

    ceiling = {"tool_calls_per_turn": DEFAULT_BUDGET.tool_calls_per_turn}
    budget = Budget(**cast("dict[str, Any]", {**ceiling, **given}))
    _tell(output, "these limits", budget, Retries().attempts)


def _of_settings(*, is_json: bool) -> None:
    from endstop.app import App
    from endstop.loop.agent import Retries

    async def work(app: App, output: Output) -> int:
        budget = (await app.settings()).budget()
        _tell(output, f"the budget in the settings of {app.config.user}", budget, Retries().attempts)
        return 0

    with_app(work, is_json=is_json)


def _tell(output: Output, of_what: str, budget: Budget, calls_per_turn: int) -> None:
    from endstop.kernel.bounds import require_bounded, upper_bound

    try:
        require_bounded(budget)
    except UnboundedError as error:
        raise UnboundedError(
            error.what,
            allowed="limits with at least one of --turns, --model-calls, --tokens or --seconds",
            to_do="Add one, such as --turns 30",
        ) from None
    plain = upper_bound(budget, calls_per_turn=calls_per_turn)
    granted = upper_bound(budget, with_grants=True, calls_per_turn=calls_per_turn)
    if output.is_json:
        told = {"of": of_what, "without_grants": bound_values(plain), "with_grants": bound_values(granted)}
        output.document(told)
        return
    output.say(f"A run under {of_what} uses at most:")
    output.table(_COLUMNS, [(name, *values) for name, values in _rows(plain, granted)])
    output.say(
        f"A turn may try its model call {calls_per_turn} times. All grants together add at most "
        f"{budget.grant_cap:g} times each limit."
    )


def _rows(plain: UpperBound, granted: UpperBound) -> list[tuple[str, tuple[str, str]]]:
    return [
        (bound_words(name), (bound_shown(plain, name), bound_shown(granted, name))) for name in BOUND_NAMES
    ]


def bound_words(name: str) -> str:
    """What is bounded, for people."""
    return name.replace("_usd", "").replace("_", " ")


def bound_shown(bound_: UpperBound | PassBound, name: str) -> str:
    """One of the values of a bound, for people."""
    from endstop.kernel.limits import LimitKind, shown

    value = getattr(bound_, name)
    if value is None:
        return "no bound"
    kinds = {"cost_usd": LimitKind.COST_USD, "seconds": LimitKind.SECONDS}
    return shown(kinds.get(name, LimitKind.TURNS), value)


def bound_values(bound_: UpperBound | PassBound) -> dict[str, object]:
    """The values of a bound, for programs."""
    from endstop.events.plain import written

    return {name: written(getattr(bound_, name)) for name in BOUND_NAMES}
