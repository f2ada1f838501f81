"""``endstop build``: a change to a repository, specified, priced and built in rounds (section G, J1)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from endstop.cli.errors import UsageError
from endstop.cli.options import Json, amount
from endstop.cli.output import Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.app.coding import Proposed

_MOST_CHARS = 50_000
"""So long may an intent be: what is longer belongs into a file of the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What is to be built, as the command line says it."""

    intent: str
    repository: str
    model: str | None
    policy: Path | None
    test_command: str | None
    yes_under_usd: Decimal | None
    is_interactive: bool
    """Whoever sits at the terminal may be asked."""
    anyway: bool


def build(
    intent: Annotated[
        str | None,
        typer.Argument(metavar="INTENT", help="What is to be built, in your words.", show_default=False),
    ] = None,
    repo: Annotated[
        str | None,
        typer.Option("--repo", metavar="PATH", help="The repository; if not given, the current folder's."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="provider:model; else ENDSTOP_MODEL.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="The rules; else those of endstop policy show."),
    ] = None,
    test_command: Annotated[
        str | None,
        typer.Option("--test-command", metavar="COMMAND", help="What runs the tests; else it is found."),
    ] = None,
    yes_under: Annotated[
        str | None, amount("--yes-under", "Approve a price up to this without asking.", "USD")
    ] = None,
    non_interactive: Annotated[
        bool, typer.Option("--non-interactive", help="Ask nothing: where it would, it pauses (6).")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also where something is unusual about the repository.")
    ] = False,
    only_bound: Annotated[
        bool, typer.Option("--bound", help="Only tell what it can use at most; run nothing.")
    ] = False,
    example: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="NAME",
            help="Watch an example, without a model: accepted, vague, dear, stuck, or all.",
            show_default=False,
        ),
    ] = None,
    is_json: Json = False,
) -> None:
    """Build a change in a repository: it is specified, priced, built in rounds, tested and reviewed.

    All work is done on a branch of its own, in a worktree of its own: your files stay as they are until you
    accept it. The price is told before anything is built, and becomes the budget. How far a session may go
    stands in its policy (endstop policy).

    \b
    Examples:
      endstop build --example accepted           watch one, without a model or a key
      endstop build "Let the parser take empty lines" --model anthropic:claude-sonnet-5
      endstop build "Add a --quiet option" --repo ~/src/thing --yes-under 2.00
      endstop build "Add a --quiet option" --bound

    Then: endstop session show, diff, accept, discard and restore. Ctrl-C once finishes the turn, twice
    cuts it; both save the session and leave it open (130): endstop resume goes on. Where nobody can be
    asked (in a pipe, with --json or --non-interactive) a price that needs a yes pauses it (6).
    The exit code tells the outcome: see endstop --help.

    With --json: lines with event (bound, started, coding, turn, notice, asked, ended) and run. coding is a
    fact: type, title, detail, fact. ended has session (kind, branch, commit, criteria, evidence, rounds,
    next_steps and more) and what endstop resume --json has.
    """
    output = Output(is_json=is_json)
    if example is not None:
        _watch(example, intent, repo, model, policy, is_json=is_json)
        return
    from endstop.cli.prompting import may_ask

    ordered = Ordered(
        intent=_intent(intent, may_be_missing=only_bound),
        repository=repo or ".",
        model=model,
        policy=policy,
        test_command=test_command,
        yes_under_usd=None if yes_under is None else _dollars(yes_under),
        is_interactive=may_ask(output) and not non_interactive,
        anyway=anyway,
    )
    if only_bound:
        _tell_bound(output, ordered)
        return

    async def work(app: App, output: Output) -> int:
        return await _built(app, output, ordered)

    with_app(work, is_json=is_json)


async def _built(app: App, output: Output, ordered: Ordered) -> int:
    from endstop.app.coding import propose_session
    from endstop.cli.build_asking import NobodyAnswers, PersonAnswers
    from endstop.cli.build_bound import session_bound_json, tell_session_bound
    from endstop.cli.building import begun
    from endstop.coding.policy_file import read_policy
    from endstop.runner.opening import require_price

    proposed = await propose_session(
        ordered.repository,
        ordered.intent,
        model=ordered.model,
        policy=None if ordered.policy is None else read_policy(ordered.policy),
        test_command=ordered.test_command,
        asks_user=ordered.is_interactive,
        yes_under_usd=ordered.yes_under_usd,
        config=app.config,
    )
    require_price(proposed.agent)
    if not await _is_accepted(output, proposed, ordered):
        return 2
    if output.is_json:
        bound = session_bound_json(proposed.policy, asks_user=ordered.is_interactive)
        output.json_line({"event": "bound", **bound})
    else:
        tell_session_bound(output, proposed.policy, asks_user=ordered.is_interactive)
        output.say()
    answers = PersonAnswers(app, output) if ordered.is_interactive else NobodyAnswers()
    return (await begun(app, output, ordered.intent, proposed, answers)).code


async def _is_accepted(output: Output, proposed: Proposed, ordered: Ordered) -> bool:
    """Whether what is unusual about the repository is taken as it is."""
    from endstop.cli.prompting import agreed
    from endstop.errors import RepositoryError

    if proposed.concerns and not ordered.anyway and not ordered.is_interactive:
        raise RepositoryError(
            "Something is unusual about the repository: " + " ".join(proposed.concerns),
            allowed="that, if you say so: --anyway",
            to_do="Mend it, or begin anyway with --anyway; nothing was begun",
        )
    for concern in proposed.told:
        output.say(f"Mind: {concern}", style="yellow")
    if not proposed.concerns or ordered.anyway:
        return True
    if await agreed("Go on?"):
        return True
    output.say("Nothing was begun.")
    return False


def _tell_bound(output: Output, ordered: Ordered) -> None:
    from endstop.app import read_config
    from endstop.cli.build_bound import say_session_bound
    from endstop.coding.policy_file import policy_for, read_policy

    if ordered.policy is not None:
        policy = read_policy(ordered.policy)
    else:
        policy = policy_for(Path(ordered.repository), read_config().home)
    say_session_bound(output, policy, asks_user=ordered.is_interactive)


def _watch(
    name: str, intent: str | None, repo: str | None, model: str | None, policy: Path | None, *, is_json: bool
) -> None:
    """Watch an example, which brings everything along but the place."""
    given = {"INTENT": intent, "--model": model, "--policy": policy}
    too_much = [option for option, value in given.items() if value is not None]
    if too_much:
        raise UsageError(
            f"--example was given with {', '.join(too_much)}",
            allowed="--example with --repo, --json, or alone: it brings the rest along",
            to_do="Leave out one of the two",
        )

    async def work(app: App, output: Output) -> int:
        from endstop.cli.build_examples import watched_examples

        return await watched_examples(app, output, name, None if repo is None else Path(repo))

    with_app(work, is_json=is_json)


def _intent(given: str | None, *, may_be_missing: bool) -> str:
    if given is None and may_be_missing:
        return ""
    if given is None or not given.strip():
        raise UsageError(
            "Nothing says what is to be built" if given is None else "The intent is empty",
            to_do='Say it, such as endstop build "Let the parser take empty lines"; or watch how it goes '
            "without a model: endstop build --example accepted",
        )
    if len(given) > _MOST_CHARS:
        raise UsageError(
            "The intent is too long",
            allowed=f"{_MOST_CHARS:,} characters",
            to_do="Put it into a file of the repository, and name that",
        )
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UsageError("The intent is no text", allowed="text", to_do="Say it in words") from None
    return given


def _dollars(given: str) -> Decimal:
    try:
        amount_usd = Decimal(given.removeprefix("$"))
    except ArithmeticError:
        amount_usd = Decimal(-1)
    if not amount_usd.is_finite() or amount_usd < 0:
        raise UsageError(
            f"--yes-under is {given!r}", allowed="dollars, such as 2.00", to_do="Give an amount, or none"
        )
    return amount_usd
