"""Arguments and options that several commands take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from endstop.kernel.budget import Grant

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
RunName: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="RUN", help='The id of a run, its first letters, or "last".', show_default=False),
]
MaybeRunName: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help='The id of a run, its first letters, or "last".', show_default=False),
]
Why: TypeAlias = Annotated[
    str | None, typer.Option("--why", help="The reason, as it will stand in the record.", show_default=False)
]


def amount(flag: str, of_what: str, kind: str = "N") -> typer.models.OptionInfo:
    """An option that takes an amount of something."""
    option: typer.models.OptionInfo = typer.Option(flag, metavar=kind, help=of_what, show_default=False)
    return option


def grant_of(
    *,
    turns: int | None,
    model_calls: int | None,
    tokens: int | None,
    cost_usd: str | None,
    seconds: float | None,
    by: str,
    why: str,
) -> Grant | None:
    """The grant that the options make; None if none of them was given."""
    from endstop.kernel.budget import Grant

    amounts = (turns, model_calls, tokens, cost_usd, seconds)
    if all(each is None for each in amounts):
        return None
    return Grant(
        turns=turns or 0,
        model_calls=model_calls or 0,
        tokens=tokens or 0,
        cost_usd=cost_usd or 0,
        seconds=seconds or 0.0,
        by=by,
        why=why,
    )
