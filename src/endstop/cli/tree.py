"""``endstop tree``: the trees that steer agents: listed, read, checked, drawn, bounded, traced, copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from endstop.cli.options import Json, RunName
from endstop.cli.output import Output
from endstop.cli.running import with_app

if TYPE_CHECKING:
    from endstop.app import App
    from endstop.tree.files import TreeLibrary

TreeName: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a tree.", show_default=False)
]
NameOrFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NAME_OR_FILE", help="The name of a tree, or the path of a .lua file.", show_default=False
    ),
]

tree = typer.Typer(name="tree", no_args_is_help=True, rich_markup_mode=None)


@tree.callback()
def tree_commands() -> None:
    """The trees that steer agents: see, check and change them.

    A tree says in Lua what an agent does, and in which order. Some are built in. Your own are the .lua
    files in the folder trees of the home folder (see endstop doctor); one that is named like a built-in
    one stands in its place. Whatever a tree says, the limits of a run hold.

    \b
    Examples:
      endstop tree list
      endstop tree copy oracle-agent        begin one of your own
      endstop tree check my-agent.lua       all that is wrong with it
      endstop ask "…" --tree my-agent.lua   use it
      endstop tree trace last               what it did
    """


@tree.command("list", short_help="List the trees there are.")
def list_trees(is_json: Json = False) -> None:
    """List the trees there are: where each is from, how large it is, whether something is wrong with it.

    \b
    Examples:
      endstop tree list
      endstop tree list --json

    With --json: a list of objects with name, from (built in, own), file, doc, nodes (null for a tree that
    cannot be used) and problems.
    """
    from endstop.cli.tree_list import listed, tell_listed

    library = _library()
    tell_listed(Output(is_json=is_json), [listed(name, library) for name in library.names()])


@tree.command(short_help="Print the Lua of a tree.")
def show(name: TreeName, is_json: Json = False) -> None:
    """Print a tree as it is written, in Lua.

    \b
    Examples:
      endstop tree show oracle-agent
      endstop tree show oracle-agent > my-agent.lua

    With --json: an object with name, from, file and source.
    """
    output, library = Output(is_json=is_json), _library()
    source = library.source(name)
    if output.is_json:
        from endstop.cli.tree_list import origin

        path = library.path(name)
        output.document({"name": name, "from": origin(path), "file": str(path), "source": source})
    else:
        output.say(source.rstrip("\n"))


@tree.command(short_help="Tell all that is wrong with trees.")
def check(
    trees: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME_OR_FILE", help="Names of trees, or paths of .lua files.", show_default=False
        ),
    ],
    is_json: Json = False,
) -> None:
    """Tell all that is wrong with trees, each with its file and line, or that nothing is.

    What a file refers to is looked for beside it, and then among the trees that endstop tree list shows.

    \b
    Examples:
      endstop tree check oracle-agent
      endstop tree check my-agent.lua my-turn.lua

    Exit code 0 if nothing is wrong, 2 if something is.

    With --json: a list of objects with given, tree, nodes, problems, and per_pass and per_run as in endstop
    tree bound; null where there is none because of the problems.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.tree_check import looked_at, tell_looked_at

        budget, library = (await app.settings()).budget(), _library()
        found = [looked_at(given, library, budget) for given in trees]
        tell_looked_at(output, found)
        return 2 if any(one.problems for one in found) else 0

    with_app(work, is_json=is_json)


@tree.command(short_help="Draw a tree, as text or for Graphviz.")
def draw(
    name: NameOrFile,
    dot: Annotated[bool, typer.Option("--dot", help="In the language of Graphviz.")] = False,
    is_json: Json = False,
) -> None:
    """Draw a tree, with the trees it refers to in their places.

    \b
    Examples:
      endstop tree draw oracle-agent
      endstop tree draw oracle-agent --dot | dot -Tsvg > oracle.svg

    With --json: an object with tree, hash and nodes (index, depth, kind, name, path, file, line).
    """
    from endstop.cli.named_tree import tree_meant
    from endstop.cli.tree_trace import nodes_json
    from endstop.tree.draw import draw_dot, draw_text

    output = Output(is_json=is_json)
    drawn = tree_meant(name, _library())
    if output.is_json:
        output.document({"tree": drawn.name, "hash": drawn.hash, "nodes": nodes_json(drawn)})
    elif dot:
        output.say(draw_dot(drawn))
    else:
        for line in draw_text(drawn).splitlines():
            output.say(line, is_cut=True)


@tree.command(short_help="Tell what a run of a tree can use at most.")
def bound(name: NameOrFile, is_json: Json = False) -> None:
    """Tell what a tree can use at most, in one pass and in a whole run under your settings.

    A tree that ends before its agent is done is begun anew: that is a pass. No tree can take a run past its
    limits, so the bound of the run holds for any.

    \b
    Examples:
      endstop tree bound oracle-agent
      endstop tree bound my-agent.lua --json

    With --json: an object with tree, of, per_pass and per_run; each of the two has turns, model_calls,
    tool_calls, tokens, cost_usd (text) and seconds, null where nothing bounds it; per_pass has leaf_runs.
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.named_tree import tree_meant
        from endstop.cli.tree_bounds import tell_tree_bound

        bounded = tree_meant(name, _library())
        whose = f"the settings of {app.config.user}"
        tell_tree_bound(output, bounded, (await app.settings()).budget(), whose)
        return 0

    with_app(work, is_json=is_json)


@tree.command(short_help="Show what the nodes of a run's tree did.")
def trace(
    run: RunName,
    all_: Annotated[bool, typer.Option("--all", help="Every node, not only the leaves.")] = False,
    is_json: Json = False,
) -> None:
    """Show the tree of a run as it stood in the end and, turn by turn, what its leaves did.

    It is the tree the run was started with, from its record: what has become of its file since does not
    matter.

    \b
    Examples:
      endstop tree trace last
      endstop tree trace run_3f9c --all

    With --json: an object with run, tree, hash, nodes (as in endstop tree draw) and turns (turn, scope,
    dropped, steps with index and status).
    """

    async def work(app: App, output: Output) -> int:
        from endstop.cli.naming import find_run
        from endstop.cli.tree_trace import tell_trace

        stored = await find_run(app.store, run)
        tell_trace(output, stored.run_id, await app.store.record(stored.run_id), shows_all=all_)
        return 0

    with_app(work, is_json=is_json)


@tree.command(short_help="Copy a built-in tree, to make it your own.")
def copy(name: TreeName, is_json: Json = False) -> None:
    """Copy a built-in tree to your own trees, where you can change it. What is there is not overwritten.

    From then on your copy is used in its place, also where other trees refer to it.

    \b
    Examples:
      endstop tree copy oracle-agent

    With --json: an object with name and file.
    """
    from endstop.cli.tree_copy import copied

    output = Output(is_json=is_json)
    path = copied(name, _library())
    if output.is_json:
        output.document({"name": name, "file": str(path)})
        return
    output.say(f"Copied to {path}")
    output.say(f"Change it, then check it: endstop tree check {name}")
    output.say("It is used from now on. Delete the file to go back to the built-in tree.")


def _library() -> TreeLibrary:
    from endstop.app.oracle import tree_library

    return tree_library()
