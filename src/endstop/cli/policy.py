"""``endstop policy``: the rules of coding sessions, in a file that people write (G6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from endstop.cli.errors import USAGE, UsageError
from endstop.cli.options import Json
from endstop.cli.output import Column, Output
from endstop.cli.texts import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.coding.policy_file import WrittenPolicy
    from endstop.coding.policy_keys import PolicyKey
    from endstop.coding.policy_problems import PolicyProblem

File: TypeAlias = Annotated[
    Path | None,
    typer.Option("--file", metavar="PATH", help="The file; else as endstop policy --help says."),
]
_COLUMNS = (
    Column(name="key"),
    Column(name="value", may_shrink=True),
    Column(name="instead of", may_shrink=True),
    Column(name="from"),
    Column(name="allowed", may_shrink=True),
)

policy = typer.Typer(name="policy", no_args_is_help=True, rich_markup_mode=None)


@policy.callback()
def policy_commands() -> None:
    """The rules of coding sessions: how far one may go, what it may touch, when you are asked.

    They stand in a policy.yaml: the one of the repository you are in, else the one of the home folder (see
    endstop doctor). Without either, the defaults hold. A session keeps to the policy it began with.

    \b
    Examples:
      endstop policy init                               a file with every rule, explained
      endstop policy show                               what holds, and where it comes from
      endstop policy edit session.cost_usd 2.50         change one rule
      endstop policy edit                               change it in your editor
      endstop policy check                              all that is wrong with it
    """


@policy.command(short_help="Write a policy.yaml with every rule, explained.")
def init(
    file: File = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    is_json: Json = False,
) -> None:
    """Write a policy.yaml with every rule: its default, what it may be and what it means.

    It goes into the repository you are in, else into the home folder. A file that is there is kept.

    \b
    Examples:
      endstop policy init
      endstop policy init --file careful.yaml

    With --json: an object with file.
    """
    from endstop.cli.policy_writing import write_new
    from endstop.coding.policy_template import policy_template

    path = file or _place_for_new()
    write_new(path, policy_template(), overwrites=force)
    output = Output(is_json=is_json)
    if output.is_json:
        output.document({"file": str(path)})
        return
    output.say(f"Wrote {path}")
    output.say("Change what you like, then see whether all is well: endstop policy check")


@policy.command(short_help="Show what holds, and where each value comes from.")
def show(
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY", help="Of which keys or sections.", show_default=False),
    ] = None,
    file: File = None,
    is_json: Json = False,
) -> None:
    """Show what holds for a session begun here: each value, where it comes from, and what it may be.

    \b
    Examples:
      endstop policy show
      endstop policy show session price.reject_over_usd

    With --json: an object with file (null if there is none) and values, a list of objects with key, value,
    default, from (file or default), line, allowed, meaning. Money is text.
    """
    from endstop.coding.policy import DEFAULT_POLICY
    from endstop.coding.policy_file import WrittenPolicy, policy_from_yaml, read_policy_text

    path = file or _found()
    if path is None:
        written = WrittenPolicy(policy=DEFAULT_POLICY, lines={})
    else:
        written = policy_from_yaml(read_policy_text(path), of=str(path))
    _tell_values(Output(is_json=is_json), path, written, _known(keys or ()))


@policy.command(short_help="Change one value, or all of them in your editor.")
def edit(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="What to change.", show_default=False)
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="What it is to be.", show_default=False)
    ] = None,
    file: File = None,
    is_json: Json = False,
) -> None:
    """Change the policy: one value, comments kept; or without KEY, the file in your editor.

    The editor is VISUAL or EDITOR. It is given a copy, and the file is only replaced by what has no
    problems; if there are any, you are shown them and can go on where you were. A file that is not there
    yet is begun with every rule in it.

    \b
    Examples:
      endstop policy edit
      endstop policy edit session.minutes 45
      endstop policy edit tests.command "python -m pytest -q"
      endstop policy edit commands.allow "[pytest, make]"
      endstop policy edit models.builder anthropic:claude-sonnet-5

    Nothing is changed if something is wrong (exit code 2).

    With --json: an object with file and changed, a list of objects with key, before, after.
    """
    from endstop.cli.policy_writing import edited, set_value
    from endstop.coding.policy_file import plain_value

    if (key is None) != (value is None):
        raise UsageError(
            f"Nothing was said for {key} to be",
            allowed="KEY and VALUE, or neither of them",
            to_do=f"Write endstop policy edit {key} VALUE, or see endstop policy show",
        )
    path = file or _found() or _place_for_new()
    output = Output(is_json=is_json)
    changes = edited(path, output) if key is None or value is None else set_value(path, key, value)
    if output.is_json:
        told = [
            {"key": one.key, "before": plain_value(one.before), "after": plain_value(one.after)}
            for one in changes
        ]
        output.document({"file": str(path), "changed": told})
        return
    for one in changes:
        output.say(f"{one.key}: {_shown(one.before)} → {_shown(one.after)}")
    output.say(f"Saved {path}" if changes else f"No value is changed: {path}")


@policy.command(short_help="Tell all that is wrong with a policy.")
def check(file: File = None, is_json: Json = False) -> None:
    """Tell all that is wrong with a policy, line by line: exit code 2 if anything is.

    \b
    Examples:
      endstop policy check
      endstop policy check --file careful.yaml --json

    With --json: an object with file (null if there is none) and problems, a list of objects with line, key,
    what, allowed, to_do.
    """
    from endstop.coding.policy_file import policy_from_yaml, read_policy_text
    from endstop.coding.policy_problems import PolicyRefusedError

    path = file or _found()
    problems: Sequence[PolicyProblem] = ()
    if path is not None:
        text = read_policy_text(path)
        try:
            policy_from_yaml(text)
        except PolicyRefusedError as error:
            problems = error.problems
    _tell_problems(Output(is_json=is_json), path, problems)
    raise typer.Exit(USAGE if problems else 0)


def _found() -> Path | None:
    from endstop.app.config import read_config
    from endstop.coding.policy_file import find_policy_file

    return find_policy_file(Path.cwd(), read_config().home)


def _place_for_new() -> Path:
    from endstop.app.config import read_config
    from endstop.coding.policy_file import POLICY_FILE, repository_of

    return (repository_of(Path.cwd()) or read_config().home) / POLICY_FILE


def _known(wanted: Sequence[str]) -> list[str]:
    """The keys that are meant: by their names, or those of their sections. All, if none is named."""
    from endstop.coding.policy_keys import POLICY_KEYS, POLICY_SECTIONS, unknown_name

    for each in wanted:
        if each not in POLICY_KEYS and each not in POLICY_SECTIONS:
            raise unknown_name(each)
    return [key.name for key in POLICY_KEYS.values() if not wanted or {key.name, key.section} & set(wanted)]


def _tell_values(output: Output, path: Path | None, written: WrittenPolicy, keys: Sequence[str]) -> None:
    from endstop.coding.policy import values_of
    from endstop.coding.policy_file import plain_value
    from endstop.coding.policy_keys import POLICY_KEYS

    values = values_of(written.policy)
    if output.is_json:
        told = [
            {
                "key": key,
                "value": plain_value(values[key]),
                "default": plain_value(POLICY_KEYS[key].default),
                "from": "file" if key in written.lines else "default",
                "line": written.lines.get(key),
                "allowed": POLICY_KEYS[key].kind.allowed,
                "meaning": POLICY_KEYS[key].meaning,
            }
            for key in keys
        ]
        output.document({"file": None if path is None else str(path), "values": told})
        return
    output.table(_COLUMNS, [_row(POLICY_KEYS[key], values[key], written.lines.get(key)) for key in keys])
    if path is None:
        output.say("There is no policy.yaml here. Make one: endstop policy init")
    else:
        output.say(f"From {path}")


def _row(key: PolicyKey, value: object, line: int | None) -> tuple[str, ...]:
    """A row of the table. The default is only told where something else holds."""
    default = "" if value == key.default else _shown(key.default)
    return key.name, _shown(value), default, "default" if line is None else f"line {line}", key.kind.allowed


def _shown(value: object) -> str:
    from endstop.coding.policy_template import yaml_value

    return yaml_value(value)


def _tell_problems(output: Output, path: Path | None, problems: Sequence[PolicyProblem]) -> None:
    if output.is_json:
        told = [
            {
                "line": one.line,
                "key": one.key,
                "what": one.what,
                "allowed": one.allowed,
                "to_do": one.to_do,
            }
            for one in problems
        ]
        output.document({"file": None if path is None else str(path), "problems": told})
    elif path is None:
        output.say("There is no policy.yaml here: the defaults hold. Make one: endstop policy init")
    elif not problems:
        output.say(f"{path}: no problems", style="green")
    else:
        output.say(f"{path}: {count(len(problems), 'problem')}", style="bold red")
        for one in problems:
            output.say(f"  {one}")
