"""From an intent that came over the interface to a coding session: its policy, its terms, its run."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, Request

from endstop.app.coding import Proposed, propose_session
from endstop.coding.bound import session_bound, whole_bound
from endstop.coding.examples import EXAMPLES, example_model, make_sample_repository
from endstop.coding.finding_tests import FIELD
from endstop.coding.policy import DEFAULT_POLICY, Policy
from endstop.coding.policy_file import POLICY_FILE, policy_for, policy_text, read_policy, written_policy_of
from endstop.coding.repository import Repository
from endstop.errors import ForbiddenError, InvalidValueError, ModelError
from endstop.kernel.limits import words
from endstop.runner.opening import require_price
from endstop.server.access import Caller
from endstop.server.bound_shapes import BoundShape, in_words
from endstop.server.coding_given import Begin, PhaseBoundShape, Proposal, Propose
from endstop.server.coding_repositories import Repositories
from endstop.server.context import Context
from endstop.server.hub import new_run_id
from endstop.tools.confinement import Confinement
from endstop.tools.threads import call_in_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingSessions:
    """Proposes and begins sessions. In ``request.app.state.coding``."""

    repositories: Repositories
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Work is taken or put away by one at a time: two who decide differently must not meet half-way."""

    async def propose(self, context: Context, caller: Caller, given: Propose) -> Proposal:
        """What a session would be. What is wrong is said now; nothing is kept."""
        proposed = await self._proposed(context, caller, given)
        policy, asks_user = proposed.policy, given.asks_user
        whole = whole_bound(policy, asks_user=asks_user)
        return Proposal(
            repository=str(proposed.repository.root),
            branch=proposed.repository.branch,
            head=proposed.repository.head,
            concerns=list(proposed.told),
            test_command=proposed.test_command,
            confinement=(await call_in_thread(_confinement, proposed.repository, policy)).words,
            model=proposed.agent.model.name,
            text=in_words(whole),
            phases=[PhaseBoundShape.of(one) for one in session_bound(policy, asks_user=asks_user)],
            whole=BoundShape.of(whole),
            policy=json.loads(policy_text(policy)),
        )

    async def begin(self, context: Context, caller: Caller, given: Begin) -> str:
        """Begin a session in the background; the id of its run."""
        example = given.named_example()
        if example is not None:
            return await self._begin_example(context, caller, example)
        wanted = given.proposed()
        proposed = await self._proposed(context, caller, wanted)
        if proposed.told and not given.accepts_concerns:
            raise InvalidValueError(
                "accepts_concerns",
                False,
                allowed=f"true, if this may be so: {' '.join(proposed.told)}",
                to_do="Mend it, or accept it",
            )
        with await context.access.admit_query(caller):
            return await _started(context, caller, proposed, wanted.intent)

    async def _begin_example(self, context: Context, caller: Caller, name: str) -> str:
        """Begin an example, in a repository of its own that is named after its run."""
        model = example_model(name)  # says which there are, if that is none
        run_id = new_run_id()
        folder = self.repositories.examples / run_id
        with await context.access.admit_query(caller):
            try:
                proposed = await propose_session(
                    await make_sample_repository(folder),
                    EXAMPLES[name].intent,
                    model=model.name,
                    policy=DEFAULT_POLICY,  # a script does not know of others
                    config=context.app.config,
                )
                return await _started(context, caller, proposed, EXAMPLES[name].intent, run_id=run_id)
            except BaseException:
                await call_in_thread(shutil.rmtree, folder, ignore_errors=True)
                raise

    async def _proposed(self, context: Context, caller: Caller, given: Propose) -> Proposed:
        words("intent", given.intent)
        yes_under_usd = given.yes_under()
        repository = await self.repositories.named(caller, given.repository)
        policy = await self._policy(context, caller, given, repository)
        try:
            proposed = await propose_session(
                repository.root,
                given.intent,
                model=given.model,
                policy=policy,
                test_command=given.test_command,
                asks_user=given.asks_user,
                yes_under_usd=yes_under_usd,
                config=context.app.config,
            )
        except ModelError as error:
            named = given.model or context.app.config.model
            allowed = error.allowed or f"a model that can be used ({error.what})"
            raise InvalidValueError("model", named, allowed=allowed, to_do=error.to_do) from None
        except InvalidValueError as error:
            raise _as_sent(error) from None
        require_price(proposed.agent)
        return proposed

    async def _policy(
        self, context: Context, caller: Caller, given: Propose, repository: Repository
    ) -> Policy:
        home = context.app.config.home
        policy = _with(await call_in_thread(policy_for, repository.root, home), given.policy)
        if self.repositories.may_name_any(caller):
            return policy
        if given.policy is not None and given.policy.get("commands") is not None:
            raise ForbiddenError(
                "How commands are confined is not for you to say",
                allowed="a policy without `commands`",
                to_do="Ask whoever runs the server: it is in the policy of its home folder",
            )
        _require_own_program(repository.root, given.test_command or policy.tests.command)
        # A repository has a policy, too, and a session may write there: so it is not asked about this.
        policy = replace(policy, commands=(await call_in_thread(_of_home, home)).commands)
        if not (await call_in_thread(_confinement, repository, policy)).is_sandboxed:
            raise ForbiddenError(
                "On this machine nothing keeps the commands of a session in: they could read what is others'",
                allowed="sessions of the person who started the server",
                to_do="Ask them to install bubblewrap",
            )
        return policy


async def _started(
    context: Context, caller: Caller, proposed: Proposed, intent: str, *, run_id: str | None = None
) -> str:
    project = str(proposed.repository.root)
    return await context.hub.start(proposed.agent, intent, user=caller.user, project=project, run_id=run_id)


def _with(policy: Policy, changes: dict[str, Any] | None) -> Policy:
    """The policy with some values changed. ``PolicyRefusedError`` tells all that is wrong with them."""
    if not changes:
        return policy
    whole: dict[str, Any] = json.loads(policy_text(policy))
    for section, entries in changes.items():
        if isinstance(entries, dict) and section in whole:
            whole[section] |= cast("dict[str, Any]", entries)
        elif entries is not None or section not in whole:
            whole[section] = entries
    return written_policy_of(whole).policy


def _of_home(home: Path) -> Policy:
    """The policy of whoever runs the server."""
    path = home / POLICY_FILE
    return read_policy(path) if os.path.lexists(path) else DEFAULT_POLICY


def _require_own_program(root: Path, command: str | None) -> None:
    """Commands get to see what surrounds the program of the tests: so it may not lie just anywhere."""
    try:
        program = next(iter(shlex.split(command or "")), "")
        is_outside = "/" in program and not (root / program).resolve().is_relative_to(root)
    except (OSError, ValueError):  # it is refused for what it is, further on
        return
    if is_outside:
        raise ForbiddenError(
            f"The test command {command!r} names a program outside of the repository",
            allowed="a program of the repository, or one that is installed, by its name",
            to_do="Name another",
        )


def _as_sent(error: InvalidValueError) -> InvalidValueError:
    """An error about a value under the name that it has in a request."""
    if error.field != FIELD:
        return error
    return InvalidValueError(
        "test_command",
        error.value,
        allowed=error.allowed,
        to_do="Send test_command, or tests.command in the policy",
    )


def _confinement(repository: Repository, policy: Policy) -> Confinement:
    commands = policy.commands
    return Confinement(
        Path(repository.root),
        readable=(repository.common_dir, *commands.readable),
        network=commands.network,
        memory_mb=commands.memory_mb,
    )


async def coding_of(request: Request) -> CodingSessions:
    """Not in a thread, as ``context_of``."""
    return request.app.state.coding


CodingHere = Annotated[CodingSessions, Depends(coding_of)]
"""For a route's parameter: ``coding: CodingHere``."""
