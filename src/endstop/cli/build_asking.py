"""What a coding session asks its user, and what is answered: by a person, by an example, or by nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from endstop.cli.build_words import tell_line
from endstop.cli.errors import tell
from endstop.cli.output import Output
from endstop.cli.prompting import asked_line
from endstop.cli.review import APPROVE, CHANGES, DECISIONS, Wanted, decision_of, tell_review
from endstop.errors import EndstopError
from endstop.events.coding_standing import AskedFor
from endstop.events.coding_view import session_view
from endstop.kernel.outcome import AwaitingUser, UnderReview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from endstop.app import App
    from endstop.kernel.budget import Grant
    from endstop.runner import Run

_WHO = {AskedFor.INTERVIEW: "The product manager asks", AskedFor.PRICE: "The price"}
_DEFAULT_TURNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GoesOn:
    """The session may go on: with this answer if it asked for one, with this grant if it met a limit."""

    answer: str | None = None
    grant: Grant | None = None


class Answers(Protocol):
    """Whoever a session asks."""

    async def to(self, run: Run) -> GoesOn | None:
        """What is answered to a run that waits; None if it has to go on waiting."""
        ...


class NobodyAnswers:
    """Nobody is there: the session waits."""

    async def to(self, run: Run) -> GoesOn | None:
        del run
        return None


class PersonAnswers:
    """Whoever sits at the terminal."""

    def __init__(self, app: App, output: Output) -> None:
        self._app = app
        self._output = output

    async def to(self, run: Run) -> GoesOn | None:
        if isinstance(run.outcome, UnderReview):
            return await self._reviewed(run)
        if not isinstance(run.outcome, AwaitingUser):
            return None
        tell_question(self._output, run, run.outcome.question)
        answer = await asked_line("Your answer (Enter alone: later): ")
        return GoesOn(answer=answer) if answer else None

    async def _reviewed(self, run: Run) -> GoesOn | None:
        """Decide a review. What cannot be decided so is said, and asked again."""
        reviews = await self._app.store.reviews(run_id=run.id, is_open=True)
        if not reviews:
            return None
        self._output.say()
        tell_review(self._output, reviews[0])
        while True:
            wanted = await _wanted()
            if wanted is None:
                return None
            try:
                await self._app.runner.decide(run.id, decision_of(wanted, by=self._app.config.user))
            except EndstopError as error:
                tell(error, is_json=False)
            else:
                return GoesOn()


class ExampleAnswers:
    """What an example says that its user answers, one after the other. Shown, as if somebody typed it."""

    def __init__(self, output: Output, answers: Sequence[str]) -> None:
        self._output = output
        self._left = list(answers)

    async def to(self, run: Run) -> GoesOn | None:
        if not isinstance(run.outcome, AwaitingUser) or not self._left:
            return None
        answer = self._left.pop(0)
        tell_question(self._output, run, run.outcome.question)
        self._output.say(f"The example answers: {answer}", style="bold cyan")
        self._output.say()
        return GoesOn(answer=answer)


def tell_question(output: Output, run: Run, question: str) -> None:
    """Print what a session asks."""
    asked = session_view(run.facts).asked
    kind = None if asked is None else asked.kind
    output.say()
    output.say(f"{_WHO.get(kind, 'It asks') if kind else 'It asks'}:", style="bold")
    for line in question.strip().splitlines():
        tell_line(output, f"  {line}")


async def _wanted() -> Wanted | None:
    word = (await asked_line("approve, changes, reject, or later [later]: ")).lower()
    if word not in DECISIONS:
        return None
    why = await asked_line("Why: ") or None
    if word not in (APPROVE, CHANGES):
        return Wanted(word=word, why=why)
    feedback = await asked_line("What should it do otherwise: ") if word == CHANGES else None
    turns = await asked_line(f"How many more turns [{_DEFAULT_TURNS}]: ")
    number = int(turns) if turns.isdecimal() else _DEFAULT_TURNS
    return Wanted(word=word, turns=number, feedback=feedback, why=why)
