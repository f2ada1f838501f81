"""The sections of a policy. Each rule stands here once: its default, its bounds and what it means.

Files, schema and help are made of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any

from endstop.coding.policy_values import (
    Choice,
    Money,
    Number,
    Text,
    Texts,
    Whole,
    YesNo,
    is_inner_glob,
    is_model_name,
    is_pattern,
    is_program,
    is_whole_path,
    kind_and_meaning,
    rule,
)
from endstop.kernel.budget import UnknownPrice

ROLES = (
    "interviewer",
    "specifier",
    "pricer",
    "planner",
    "builder",
    "tester",
    "critic",
    "simplifier",
    "reviewer",
)
"""Who works in a session."""

TOOLS = (
    "read_file",
    "search_code",
    "list_files",
    "write_file",
    "edit_file",
    "delete_file",
    "run_command",
    "run_tests",
)
"""What the agents of a session may be given to work with."""

_PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
_CENT = Decimal("0.01")
_MOST_USD = Decimal(1_000)
_TURNS = Whole(1, 50)


class Permission(StrEnum):
    """Whether a tool is given to agents."""

    ALLOW = "allow"
    DENY = "deny"


class ReviewedBy(StrEnum):
    """Who decides when a part of the work has met its limit."""

    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """What a whole session may use at most. Nothing in it can go past this."""

    minutes: float = rule(30.0, Number(1, 480), "Minutes of work; the time it waits for you is not counted.")
    model_calls: int = rule(50, Whole(1, 1_000), "Calls of a model, whoever makes them.")
    cost_usd: Decimal = rule(Decimal(10), Money(_CENT, _MOST_USD), "US dollars for all model calls.")
    tokens: int = rule(500_000, Whole(1_000, 20_000_000), "Tokens in and out, of all model calls.")
    unknown_price: UnknownPrice = rule(
        UnknownPrice.REFUSE,
        Choice(UnknownPrice),
        "A model whose price nobody knows: refuse it, or warn and count its tokens only.",
    )

    def __post_init__(self) -> None:
        _check("session", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterviewRules:
    """The product manager asks what you mean, where you are there to be asked."""

    is_on: bool = rule(True, YesNo(), "Whether there is an interview at all.")
    soft: int = rule(8, Whole(1, 50), "After so many questions it is told to come to an end.")
    hard: int = rule(10, Whole(1, 50), "After so many questions it is ended.")

    def __post_init__(self) -> None:
        _check("interview", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecifyRules:
    """What is to be built is written down, so that it can be judged."""

    attempts: int = rule(
        3, Whole(1, 5), "Attempts at a complete specification; then the session is abandoned."
    )
    turns: int = rule(4, _TURNS, "Turns of the specifier in each attempt.")

    def __post_init__(self) -> None:
        _check("specify", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRules:
    """What the build is going to cost, and who says yes to that."""

    auto_proceed_under_usd: Decimal = rule(
        Decimal("1.00"), Money(Decimal(0), _MOST_USD), "A price under this is paid without asking you."
    )
    reject_over_usd: Decimal = rule(
        Decimal("5.00"),
        Money(_CENT, _MOST_USD),
        "A price over this is rejected, and cheaper ways are offered.",
    )
    contingency: float = rule(
        1.5, Number(1, 5), "An estimate is multiplied by this, as estimates are too low."
    )
    cycles: int = rule(2, Whole(1, 5), "How often specifying and pricing may go round; then it is abandoned.")
    turns: int = rule(3, _TURNS, "Turns of the pricer in each cycle.")

    def __post_init__(self) -> None:
        _check("price", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRules:
    """The build is divided into tasks."""

    seconds: float = rule(30.0, Number(1, 600), "Seconds for planning.")
    most_tasks: int = rule(
        20, Whole(1, 100), "A plan of more tasks is refused: it belongs in several sessions."
    )
    turns: int = rule(8, _TURNS, "Turns of the planner.")

    def __post_init__(self) -> None:
        _check("plan", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRules:
    """Rounds of building, testing and judging. Each ends with a commit."""

    rounds: int = rule(
        3, Whole(1, 10), "Rounds; after the last one the work is accepted as it stands, with a warning."
    )
    turns: int = rule(8, _TURNS, "Turns of the builder in each round.")
    tester_turns: int = rule(4, _TURNS, "Turns of the tester in each round.")

    def __post_init__(self) -> None:
        _check("build", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticRules:
    """The critic looks for what is wrong with a round's work."""

    most_issues: int = rule(10, Whole(1, 50), "Issues that count in a round; the rest are left out.")
    turns: int = rule(3, _TURNS, "Turns of the critic in each round.")

    def __post_init__(self) -> None:
        _check("critic", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexionRules:
    """Work that is done is made simpler, and taken back where its tests then fail."""

    passes: int = rule(2, Whole(0, 5), "Passes at most; 0 for none.")
    least_lines: int = rule(10, Whole(0, 10_000), "Smaller changes are left as they are.")
    least_saving: float = rule(
        0.05, Number(0, 1), "A pass that saves a smaller part of the lines is the last."
    )
    turns: int = rule(4, _TURNS, "Turns of the simplifier in each pass.")

    def __post_init__(self) -> None:
        _check("reflexion", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceRules:
    """Rounds that change nothing are noticed, and end the build as stuck."""

    rounds: int = rule(3, Whole(3, 10), "So many rounds in a row have to look alike.")
    lines: int = rule(
        10, Whole(0, 10_000), "Rounds look alike when their changed lines are within so many of each other."
    )

    def __post_init__(self) -> None:
        _check("convergence", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsRules:
    """The project's own tests. They are really run, after every round."""

    __test__ = False  # not for pytest to collect

    command: str | None = rule(
        None, Text("a command, such as python -m pytest", "the one that is found"), "How they are run."
    )
    seconds: float = rule(300.0, Number(1, 3_600), "Seconds for one run of them all.")

    def __post_init__(self) -> None:
        _check("tests", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """Commands that agents run, and tests: confined to the session's worktree."""

    seconds: float = rule(120.0, Number(1, 3_600), "Seconds for one command.")
    memory_mb: int = rule(2_048, Whole(64, 262_144), "Megabytes of memory for one command.")
    network: bool = rule(False, YesNo(), "Whether they reach the network.")
    allow: tuple[str, ...] | None = rule(
        None,
        Texts("the name of a program", "any program", is_good=is_program),
        "The programs that agents may run.",
    )
    readable: tuple[str, ...] = rule(
        (),
        Texts("a whole path, beginning with / or ~/", is_good=is_whole_path),
        "What commands may read besides the worktree and the system's own folders.",
    )

    def __post_init__(self) -> None:
        _check("commands", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenRules:
    """What agents may not write, whatever they are asked for."""

    paths: tuple[str, ...] = rule(
        (".git/**", ".git", ".env", ".env.*", "*.pem", "*.key", "policy.yaml"),
        Texts("a pattern of paths inside of the repository, such as *.pem", is_good=is_inner_glob),
        "Files that may not be written or deleted.",
    )
    contents: tuple[str, ...] = rule(
        (_PRIVATE_KEY,),
        Texts("a regular expression", is_good=is_pattern),
        "Text that may not be written into any file.",
    )

    def __post_init__(self) -> None:
        _check("forbidden", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRules:
    """Who decides when a part of the work has met its limit, and could go on."""

    by: ReviewedBy = rule(
        ReviewedBy.PERSON,
        Choice(ReviewedBy),
        "Who decides: a person, who is waited for, or an agent of the session.",
    )
    turns: int = rule(4, _TURNS, "Turns that an agent may grant at a time.")

    def __post_init__(self) -> None:
        _check("review", self)


PERMISSION = Choice(Permission)
"""What may stand behind the name of a tool."""
MODEL = Text("provider:model", "the session's own model", is_good=is_model_name)
"""What may stand behind the name of a role."""


def _check(section: str, rules: Any) -> None:
    """Every field of a section is what it may be, and is kept as a policy keeps it."""
    for each in fields(rules):
        kind, _ = kind_and_meaning(each.metadata)
        value = kind.read(f"{section}.{each.name}", getattr(rules, each.name))
        object.__setattr__(rules, each.name, value)
