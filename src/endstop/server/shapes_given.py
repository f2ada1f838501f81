"""What clients send: questions, grants, decisions, answers. Strict: a wrong type or name is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from endstop.errors import InvalidValueError
from endstop.kernel.budget import Grant
from endstop.kernel.review import Approved, NeedsChanges, Rejected, ReviewDecision
from endstop.server.settings_shapes import SettingsChange
from endstop.server.shapes import Given

MOST_QUESTION_CHARS = 200_000
_WHY = "granted over the interface"

Words = Annotated[str, Field(min_length=1, max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]


class Query(Given):
    """A question about a project."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"query": "Where are limits checked?"},
                {"query": "And who calls that?", "follows_run": "run_3f9c0a1b2c3d"},
                {"query": "What is this?", "limits": {"max_iterations": 5}, "on_limit": "review"},
            ]
        },
    )

    query: Annotated[str, Field(min_length=1, max_length=MOST_QUESTION_CHARS)]
    project: Name | None = Field(default=None, description="A folder; if not given, that of the server.")
    conversation_id: Name | None = Field(default=None, description="Goes on in this conversation.")
    follows_run: Name | None = Field(
        default=None, description="Goes on after this run; branches if others have followed it."
    )
    model: Name | None = Field(
        default=None,
        description="provider:model; if not given, the configured one. playground:NAME asks an adversary, "
        "which no tree steers: 12 turns and 20 s at most, unless `limits` say otherwise.",
    )
    limits: SettingsChange | None = Field(default=None, description="Settings for this question only.")
    tree: Name | None = Field(default=None, description="What steers it; if not given, oracle-agent.")
    on_limit: Literal["finish", "review"] = Field(
        default="finish", description="At a limit: end with what there is, or pause for a review."
    )


class GrantGiven(Given):
    """More budget, on top of the limits."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"examples": [{"turns": 10, "why": "nearly there"}]}
    )

    turns: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: str | float = "0"
    seconds: float = 0.0
    why: Words = _WHY

    def grant(self, by: str) -> Grant:
        return Grant(
            turns=self.turns,
            model_calls=self.model_calls,
            tokens=self.tokens,
            cost_usd=self.cost_usd,
            seconds=self.seconds,
            by=by,
            why=self.why,
        )


class Cancel(Given):
    """End a run."""

    after_turn: bool = Field(default=False, description="Let the turn under way finish first.")


class Resume(Given):
    """Go on with a run that is paused, or was left open."""

    grant: GrantGiven | None = Field(default=None, description="Approves the review it waits for.")
    answer: Words | None = Field(default=None, description="Answers what its agent asked.")


class Answer(Given):
    """What the user answers."""

    answer: Words


class Branch(Given):
    """A new conversation that shares another's beginning."""

    after_run: Name = Field(description="The last run that both have.")


class Decide(Given):
    """What somebody decides in a review."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"decision": "approved", "grant": {"turns": 10}, "why": "it was getting somewhere"},
                {"decision": "needs_changes", "feedback": "Look in docs/", "grant": {"turns": 5}},
                {"decision": "rejected", "why": "not worth it"},
            ]
        },
    )

    decision: Literal["approved", "needs_changes", "rejected"]
    grant: GrantGiven | None = None
    feedback: Words | None = Field(default=None, description="For the agent, with needs_changes.")
    why: Words | None = None

    def decided(self, by: str) -> ReviewDecision:
        """The decision; ``InvalidValueError`` names what it lacks, or has too much."""
        is_rejected = self.decision == "rejected"
        if self.feedback is not None and self.decision != "needs_changes":
            raise InvalidValueError("feedback", self.feedback, allowed="only with needs_changes")
        if is_rejected and self.grant is not None:
            raise InvalidValueError("grant", self.grant.model_dump(), allowed="none with rejected")
        if is_rejected:
            return Rejected(by=by, why=self.why or "rejected over the interface")
        if self.grant is None:
            raise InvalidValueError(
                "grant", None, allowed="more than zero of turns, tokens, cost_usd, seconds or model_calls"
            )
        given = self.grant if self.why is None else self.grant.model_copy(update={"why": self.why})
        grant = given.grant(by)
        if self.decision == "approved":
            return Approved(grant=grant)
        return NeedsChanges(feedback=self.feedback or "", grant=grant)
