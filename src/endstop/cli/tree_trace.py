"""What the nodes of a run's tree did, from the record of the run (E6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from endstop.cli.output import Output
from endstop.cli.texts import count, one_line
from endstop.errors import RunStateError
from endstop.events.steered import TreeChosen, TreeTraced
from endstop.kernel.ledger import ROOT
from endstop.tree.draw import Placed, draw_text, expanded
from endstop.tree.kinds import KINDS, Group
from endstop.tree.spec import TreeSpec, from_json
from endstop.tree.status import RunStatus

if TYPE_CHECKING:
    from endstop.events.facts import Fact

_STATUSES = {status.value: status for status in RunStatus}
_MOST_CHANGES = 8
"""So many changes of one node in one turn are told."""

Step = tuple[int, str]
"""The number of a node, and how it stood from then on."""


def tell_trace(output: Output, run_id: str, facts: Sequence[Fact], *, shows_all: bool) -> None:
    """Print the tree of a run as it stood in the end, and what its nodes did in each turn."""
    tree = chosen_tree(run_id, facts)
    traced = [fact.payload for fact in facts if isinstance(fact.payload, TreeTraced)]
    if output.is_json:
        turns = [_json(one) for one in _by_turn(traced)]
        document = {"run": run_id, "tree": tree.name, "hash": tree.hash}
        output.document({**document, "nodes": nodes_json(tree), "turns": turns})
        return
    for line in draw_text(tree, statuses=_last_statuses(traced)).splitlines():
        output.say(line, is_cut=True)
    places = list(expanded(tree))
    for one in _by_turn(traced):
        output.say()
        where = "" if one.scope == ROOT else f" of {one.scope}"
        output.say(f"Turn {one.turn + 1}{where}", style="bold")
        for line in _deeds(one, places, shows_all=shows_all):
            output.say(f"  {line}")
        if one.dropped:
            output.say(f"  … {count(one.dropped, 'step')} more, too many to keep", style="dim")
        for error in one.errors:
            output.say(f"  failed: {one_line(error, 200)}", style="yellow")


def chosen_tree(run_id: str, facts: Sequence[Fact]) -> TreeSpec:
    """The tree that a run was started with."""
    for fact in facts:
        if isinstance(fact.payload, TreeChosen):
            return from_json(fact.payload.spec)
    raise RunStateError(
        f"The run {run_id} was not steered by a tree",
        allowed="runs of endstop ask that have begun",
        to_do=f"See what it did: endstop show {run_id}",
    )


def nodes_json(tree: TreeSpec) -> list[dict[str, object]]:
    """Every node of a tree, for programs."""
    return [
        {
            "index": place.index,
            "depth": place.depth,
            "kind": place.node.kind,
            "name": place.node.name,
            "path": place.path,
            "file": place.file,
            "line": place.node.line,
        }
        for place in expanded(tree)
    ]


def _by_turn(traced: Sequence[TreeTraced]) -> list[TreeTraced]:
    """One for each turn: what comes after the last one was noted apart."""
    turns: dict[tuple[str, int], TreeTraced] = {}
    for one in traced:
        key = one.scope, one.turn
        before = turns.get(key)
        turns[key] = (
            one
            if before is None
            else replace(
                before,
                steps=before.steps + one.steps,
                dropped=before.dropped + one.dropped,
                errors=before.errors + one.errors,
            )
        )
    return list(turns.values())


def _deeds(traced: TreeTraced, places: Sequence[Placed], *, shows_all: bool) -> Iterator[str]:
    """A line for each node that did something, in the order in which they first did."""
    by_node: dict[int, list[str]] = {}
    for index, status in _steps(traced):
        by_node.setdefault(index, []).append(status)
    for index, statuses in by_node.items():
        place = places[index] if index < len(places) else None
        if place is None or not (shows_all or _is_leaf(place)):
            continue
        told = statuses[:_MOST_CHANGES] + (["…"] if len(statuses) > _MOST_CHANGES else [])
        yield f"{one_line(place.node.name, 60)}: {' → '.join(told)}"


def _last_statuses(traced: Sequence[TreeTraced]) -> dict[int, RunStatus]:
    """How each node stood in the last turn; one that was halted stands no way at all."""
    own = _by_turn([one for one in traced if one.scope == ROOT])[-1:]
    last = {index: _STATUSES.get(status) for one in own for index, status in _steps(one)}
    return {index: status for index, status in last.items() if status is not None}


def _steps(traced: TreeTraced) -> Iterator[Step]:
    for step in traced.steps:
        index, _, status = step.partition(" ")
        if index.isdecimal():
            yield int(index), status


def _is_leaf(place: Placed) -> bool:
    kind = KINDS.get(place.node.kind)
    return kind is None or (kind.group is Group.LEAF and place.node.kind != "subtree_ref")


def _json(traced: TreeTraced) -> dict[str, object]:
    return {
        "turn": traced.turn + 1,
        "scope": traced.scope,
        "dropped": traced.dropped,
        "errors": list(traced.errors),
        "steps": [{"index": index, "status": status} for index, status in _steps(traced)],
    }
