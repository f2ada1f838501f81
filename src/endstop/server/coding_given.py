"""What clients send about coding sessions, and what they are told before one begins."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from endstop.coding.bound import PhaseBound
from endstop.coding.examples import Example
from endstop.errors import InvalidValueError
from endstop.server.bound_shapes import BoundShape
from endstop.server.shapes import Given
from endstop.server.shapes_given import MOST_QUESTION_CHARS, Name

_MOST_USD = 1_000_000
_WANTED: dict[str, Any] = {
    "intent": "Add a --json option to the report command",
    "repository": "/home/ana/shop",
    "model": "anthropic:claude-sonnet-4-5",
}

Intent = Annotated[str, Field(min_length=1, max_length=MOST_QUESTION_CHARS)]
RepositoryPath = Annotated[
    str, Field(min_length=1, max_length=4_000, description="A folder of a git repository.")
]


class Planned(Given):
    """What a session is to be about."""

    model: Name | None = Field(default=None, description="provider:model; if not given, the configured one.")
    policy: dict[str, Any] | None = Field(
        default=None,
        description="Values that differ from the policy that holds for the repository, in its sections.",
        examples=[{"build": {"rounds": 2}, "price": {"auto_proceed_under_usd": "2.00"}}],
    )
    test_command: Name | None = Field(
        default=None, description="How the tests are run; if not given, what the project says."
    )
    asks_user: bool = Field(default=True, description="False: nobody is there for an interview.")
    yes_under_usd: str | float | None = Field(
        default=None, description="A price up to this is approved without asking, whatever the policy says."
    )

    def yes_under(self) -> Decimal | None:
        """The price below which nobody is asked."""
        if self.yes_under_usd is None:
            return None
        try:
            amount = Decimal(str(self.yes_under_usd))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or not 0 <= amount <= _MOST_USD:
            raise InvalidValueError(
                "yes_under_usd", self.yes_under_usd, allowed=f"dollars, from 0 to {_MOST_USD:,}"
            )
        return amount


class Propose(Planned):
    """A session that may be begun."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [_WANTED]})

    intent: Intent
    repository: RepositoryPath


class Begin(Planned):
    """A session to begin: an intent and a repository, or one of the examples."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{**_WANTED, "accepts_concerns": True}, {"example": "accepted"}]},
    )

    intent: Intent | None = None
    repository: RepositoryPath | None = None
    accepts_concerns: bool = Field(
        default=False, description="What is unusual about the repository was read, and is accepted."
    )
    example: Name | None = Field(
        default=None,
        description="The name of an example, instead of all else. It works in a small repository of its own.",
    )

    def proposed(self) -> Propose:
        """What is to be begun. ``InvalidValueError`` names what it lacks."""
        for name, value in (("intent", self.intent), ("repository", self.repository)):
            if value is None:
                raise InvalidValueError(name, None, allowed="an intent and a repository, or an example")
        shared = {name: getattr(self, name) for name in Propose.model_fields}
        return Propose.model_validate(shared)

    def named_example(self) -> str | None:
        """The example that is meant, if one is. Beside it, nothing can be chosen."""
        if self.example is None:
            return None
        beside = sorted(self.model_fields_set - {"example", "accepts_concerns"})
        if beside:
            raise InvalidValueError("example", self.example, allowed=f"an example, or {', '.join(beside)}")
        return self.example


class Accept(Given):
    """How work is to be taken."""

    how: Literal["merge", "patch"] = Field(
        default="merge", description="Merge it into the branch that is checked out, or have it as text."
    )
    into: Name | None = Field(
        default=None, description="That branch, if the session began on another. It has to be checked out."
    )


class Restore(Given):
    """A round to go back to."""

    round: Annotated[int, Field(ge=1, le=1_000)]


class PhaseBoundShape(BaseModel):
    """What one phase can use at most, without the session's budget above it."""

    name: str
    turns: int
    model_calls: int
    seconds: float | None = Field(description="Where it has a time limit of its own.")
    how: str = Field(description="How it comes to so many.")

    @classmethod
    def of(cls, bound: PhaseBound) -> PhaseBoundShape:
        return cls(
            name=bound.name,
            turns=bound.turns,
            model_calls=bound.model_calls,
            seconds=bound.seconds,
            how=bound.how,
        )


class Proposal(BaseModel):
    """A session that could begin. Nothing was started, and nothing spent."""

    repository: str = Field(description="The folder at the top of it.")
    branch: str | None = Field(description="Yours that is checked out; null for a detached HEAD.")
    head: str = Field(description="The commit it would begin from.")
    concerns: list[str] = Field(description="What is unusual about the repository. Accept it to begin.")
    test_command: str
    confinement: str = Field(description="How commands would be confined, in words.")
    model: str
    text: str = Field(
        description="The whole bound, in words.", examples=["at most 109 turns · 500k tokens · $10.00"]
    )
    phases: list[PhaseBoundShape]
    whole: BoundShape = Field(description="What all of it can use at most: the session's budget binds it.")
    policy: dict[str, dict[str, Any]] = Field(description="The policy it would keep to, whole.")


class Offer(BaseModel):
    """What a session can be begun with here."""

    model: str = Field(description="The configured one.")
    can_code: bool = Field(description="The built-in model only finds what is written: it cannot.")
    repositories: list[str] = Field(description="Those there are in the folders it was started for.")
    any_repository: bool = Field(description="You may name others, too: it is your machine.")


class ExampleShape(BaseModel):
    """A session that needs no key: a script stands for the model, and all else is real."""

    name: str = Field(examples=["accepted"], description="Send it as `example`.")
    title: str
    about: str = Field(description="What will be seen.")
    intent: str
    answers: list[str] = Field(description="What to answer, in turn, when it asks.")
    ends: str = Field(description="How it ends.")

    @classmethod
    def of(cls, example: Example) -> ExampleShape:
        return cls(
            name=example.name,
            title=example.title,
            about=example.about,
            intent=example.intent,
            answers=list(example.answers),
            ends=example.ends,
        )


class Begun(BaseModel):
    """A session that was begun."""

    run_id: str = Field(examples=["run_3f9c0a1b2c3d"])
