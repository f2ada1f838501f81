"""Where a tree stands while it sleeps, shown to whoever listens live and says that they want it."""

from __future__ import annotations

from itertools import pairwise

from oracle_words import SlowModel, ask, oracle

from endstop.events.chunks import RunningPath
from endstop.loop import Delta
from endstop.testing import ScriptedModel, calls, echo_tool

ASKING = ("oracle", "always_succeed", "turns", "agent-turn", "turn", "take a turn", "ask the model")
RUNNING_TOOLS = ("oracle", "always_succeed", "turns", "agent-turn", "turn", "take a turn", "always_succeed")


class Watching:
    """A listener that wants to be shown where a tree stands, too."""

    hears_running = True

    def __init__(self) -> None:
        self.paths: list[RunningPath] = []
        self.texts: list[str] = []

    def __call__(self, shown: Delta | RunningPath) -> None:
        if isinstance(shown, RunningPath):
            self.paths.append(shown)
        else:
            self.texts.append(shown.text)


def two_turns() -> SlowModel:
    return SlowModel(ScriptedModel(calls("echo", text="a frog"), "There are 12 frogs.", piece_chars=4))


async def test_a_listener_that_wants_it_is_shown_the_running_nodes_when_they_change() -> None:
    watching = Watching()
    await ask(oracle(two_turns(), echo_tool()), listener=watching)
    names = [path.names for path in watching.paths]
    assert [path[:7] for path in names[:3]] == [ASKING, RUNNING_TOOLS, ASKING]
    assert [path[-1] for path in names[:3]] == ["turn.take_turn", "tools.run_tools", "turn.take_turn"]
    assert all(first != second for first, second in pairwise(names))
    assert "".join(watching.texts) == "There are 12 frogs."


async def test_running_nodes_have_the_numbers_of_the_trace() -> None:
    watching = Watching()
    done = await ask(oracle(two_turns(), echo_tool()), listener=watching)
    steps = [step for fact in done.facts for step in getattr(fact.payload, "steps", ())]
    first = watching.paths[0]
    assert first.scope == "run"
    assert len(first.path) == len(first.names)
    assert list(first.path) == sorted(first.path)
    assert {f"{index} running" for index in first.path} <= set(steps)


async def test_a_listener_that_knows_of_text_only_is_shown_nothing_else() -> None:
    shown: list[Delta] = []
    await ask(oracle(two_turns(), echo_tool()), listener=shown.append)
    assert {type(one) for one in shown} == {Delta}
