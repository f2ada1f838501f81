"""Coding sessions with their parts chosen: the repository, the policy, the models of the roles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path

from endstop.app.config import Config, read_config
from endstop.coding import CODING
from endstop.coding.examples import EXAMPLE, example_model
from endstop.coding.policy import Policy
from endstop.coding.policy_file import policy_for
from endstop.coding.repository import Repository, concerns, left_over, open_repository
from endstop.coding.session import CodingSession, SessionTerms, session_terms
from endstop.errors import InvalidValueError
from endstop.events.facts import RunStarted
from endstop.kernel.agent import AgentConfig
from endstop.kernel.limits import words
from endstop.kernel.thresholds import Thresholds
from endstop.loop.agent import Agent
from endstop.models import ExtractiveModel, make_model
from endstop.ports import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A session that could begin: looked at before anything is spent."""

    repository: Repository
    concerns: tuple[str, ...]
    """What is unusual about the repository. Whoever begins has to accept it."""
    left_over: str | None = None
    """That earlier sessions are still open, if so. Told, and in nobody's way."""
    test_command: str
    policy: Policy
    agent: Agent

    @property
    def told(self) -> tuple[str, ...]:
        """All that whoever begins is told about the repository."""
        return _told(self.concerns, self.left_over)


async def propose_session(
    repository: str | Path,
    intent: str,
    *,
    model: str | None = None,
    policy: Policy | None = None,
    test_command: str | None = None,
    asks_user: bool = True,
    yes_under_usd: Decimal | None = None,
    config: Config | None = None,
) -> Proposed:
    """Look at everything a session needs. What is wrong is said now, before anything is spent or touched."""
    words("intent", intent)
    config = read_config() if config is None else config
    opened = await open_repository(repository)
    held_to, looser = _policy_for(opened, config) if policy is None else (policy, ())
    policy = held_to
    unusual = (*looser, *await concerns(opened))
    open_sessions = await left_over(opened)
    terms = await session_terms(
        opened,
        policy,
        test_command=test_command,
        asks_user=asks_user,
        yes_under_usd=yes_under_usd,
        concerns=_told(unusual, open_sessions),
    )
    agent = _agent(config.model if model is None else model, config, AgentConfig(), terms, _model)
    thresholds = Thresholds(
        convergence_iterations=policy.convergence.rounds, convergence_lines=policy.convergence.lines
    )
    return Proposed(
        repository=opened,
        concerns=unusual,
        left_over=open_sessions,
        test_command=terms.test_command,
        policy=policy,
        agent=replace(agent, config=AgentConfig(budget=policy.budget(), thresholds=thresholds)),
    )


def remade_session(started: RunStarted, *, paced: Callable[[Model], Model] | None = None) -> Agent:
    """The agent of a session, made anew from its record. What it was begun with is in the record, too.

    ``paced`` holds up each of its models, those of single roles too, as a provider's rate wants it.
    """

    def make(name: str) -> Model:
        made = _model(name)
        return made if paced is None else paced(made)

    return _agent(started.model, read_config(), started.config, None, make)


def can_code(model: str) -> bool:
    """Whether a model of that name writes code. The built-in one only finds what is written already."""
    return model not in ("extractive", ExtractiveModel().name)


def _told(unusual: tuple[str, ...], left_over: str | None) -> tuple[str, ...]:
    return unusual if left_over is None else (*unusual, left_over)


def _policy_for(repository: Repository, config: Config) -> tuple[Policy, tuple[str, ...]]:
    """The policy that holds in a repository, and what in it goes beyond your own: files of others are not
    trusted to open doors."""
    policy = policy_for(repository.root, config.home)
    own = policy_for(config.home, config.home)
    opened = [
        name
        for name, is_opened in {
            "commands.network": policy.commands.network and not own.commands.network,
            "commands.readable": bool(set(policy.commands.readable) - set(own.commands.readable)),
            "forbidden.paths": bool(set(own.forbidden.paths) - set(policy.forbidden.paths)),
            "forbidden.contents": bool(set(own.forbidden.contents) - set(policy.forbidden.contents)),
            "session": policy.session.cost_usd > own.session.cost_usd,
            "models": dict(policy.models) != dict(own.models),
        }.items()
        if is_opened
    ]
    if not opened:
        return policy, ()
    return policy, (f"The repository's own policy.yaml allows more than yours: {', '.join(opened)}.",)


def _agent(
    model: str,
    config: Config,
    agent_config: AgentConfig,
    terms: SessionTerms | None,
    make: Callable[[str], Model],
) -> Agent:
    if not can_code(model):
        raise InvalidValueError(
            "model",
            model,
            allowed="a language model, as provider:model: the built-in one finds passages and writes nothing",
            to_do="Name one: --model provider:model, or ENDSTOP_MODEL. Without one, see how a session goes: "
            "`endstop build --example accepted`",
        )
    made = make(model)
    return Agent(
        name=CODING,
        model=made,
        config=agent_config,
        conducting=CodingSession(
            model=made,
            make_model=make,
            worktrees=config.home / "worktrees",
            cache_dir=config.cache,
            terms=terms,
        ),
    )


@cache
def _model(name: str) -> Model:
    """A model by its name; one for all roles and sessions of a process that use it."""
    return example_model(name.removeprefix(EXAMPLE)) if name.startswith(EXAMPLE) else make_model(name)
