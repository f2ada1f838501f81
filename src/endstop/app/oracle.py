"""The oracle with its parts chosen: its tree, its prompts, its tools over a project."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from endstop.app.config import Config, read_config
from endstop.app.oracle_config import oracle_config
from endstop.errors import InvalidValueError
from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind
from endstop.loop.agent import DEFAULT_MAX_OUTPUT_TOKENS, Agent, OnLimit
from endstop.models import make_model
from endstop.oracle import ORACLE
from endstop.oracle.fallback import HEURISTICS, make_chooser
from endstop.oracle.leaves import LEAVES
from endstop.oracle.prompting import PromptFiles
from endstop.oracle.services import OracleParts
from endstop.oracle.steering import TreeSteering
from endstop.ports import Model
from endstop.tools import project_tools
from endstop.tree.files import TreeLibrary
from endstop.tree.spec import TreeSpec
from endstop.tree.validate import checked

ORACLE_TREE = "oracle-agent"
_OUR_TREES = Path(__file__).parent.parent / "oracle" / "trees"


def tree_library(config: Config | None = None) -> TreeLibrary:
    """The trees there are: ours, and in front of them those in ``trees`` of the home folder.

    One library serves a whole process, so that a file that is broken while it runs keeps its last good tree.
    """
    return _library((read_config() if config is None else config).home)


@cache
def _library(home: Path) -> TreeLibrary:
    return TreeLibrary((_OUR_TREES, home / "trees"), check=_checked)


def make_oracle(
    project: str | Path,
    *,
    model: Model | str | None = None,
    budget: Budget | None = None,
    tree: TreeSpec | str = ORACLE_TREE,
    on_limit: str = "finish",
    config: Config | None = None,
) -> Agent:
    """An agent that answers questions about a project folder, steered by a tree."""
    config = read_config() if config is None else config
    folder = require_project(project)
    named = config.model if model is None else model
    made = Agent(
        name=ORACLE,
        model=make_model(named) if isinstance(named, str) else named,
        tools=project_tools(folder, cache_dir=config.cache),
        config=AgentConfig(budget=_warned(oracle_config().settings.budget() if budget is None else budget)),
        on_limit=OnLimit(on_limit),
    )
    return replace(made, steering=_steering(folder, tree, config))


def remade_oracle(started: RunStarted) -> Agent:
    """The oracle of a run, made anew from its record. The tree it keeps to is in the record, too."""
    config = read_config()
    folder = require_project(started.project or ".")
    return Agent(
        name=ORACLE,
        model=make_model(started.model),
        tools=project_tools(folder, cache_dir=config.cache),
        config=started.config,
        policy=started.policy,
        on_limit=OnLimit(started.on_limit),
        max_output_tokens=started.max_output_tokens or DEFAULT_MAX_OUTPUT_TOKENS,
        steering=_steering(folder, ORACLE_TREE, config),
    )


def require_project(project: str | Path) -> Path:
    """The folder of a project, by its whole path."""
    try:
        folder = Path(project).expanduser().resolve()
        with os.scandir(folder):
            return folder
    except (OSError, RuntimeError, ValueError) as error:  # not there, not readable, or no name of a folder
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise InvalidValueError(
            "project",
            str(project),
            allowed=f"a folder that is there and can be read{why}",
            to_do="Name another: --project FOLDER",
        ) from None


def _steering(folder: Path, tree: TreeSpec | str, config: Config) -> TreeSteering:
    own_prompts = config.home / "prompts"
    return TreeSteering(
        tree=tree_library(config).get(tree) if isinstance(tree, str) else tree,
        leaves=LEAVES,
        parts=OracleParts(
            prompts=PromptFiles(own_prompts if own_prompts.is_dir() else None),
            choose=make_chooser(config.fallback),
            chooser_takes_time=config.fallback != HEURISTICS,
            project=folder.name,
        ),
    )


def _checked(tree: TreeSpec, find: Callable[[str], TreeSpec | None]) -> TreeSpec:
    return checked(tree, find, leaves=LEAVES)


def _warned(budget: Budget) -> Budget:
    """The budget with the warning threshold for the context that the environment names (I4)."""
    if budget.context_tokens is None:
        return budget
    threshold = oracle_config().context_warning_threshold
    return replace(budget, warn_at={**budget.warn_at, LimitKind.CONTEXT_TOKENS: threshold})
