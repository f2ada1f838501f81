"""An example that is given up: nobody can say what is wanted."""

from __future__ import annotations

from endstop.coding.examples.example import Example
from endstop.coding.examples.moves import READS_ALL
from endstop.testing.replies import calls

VAGUE = Example(
    name="vague",
    title="A request that says too little",
    about=(
        "Three attempts at a specification, each told what the one before lacked, and each lacking something "
        "else. Nothing is priced, and nothing is built."
    ),
    intent="Make it better.",
    answers=("Just nicer, you know.",),
    ends="Abandoned after three specifications, with what was missing and how to ask instead.",
    script={
        "interviewer": (
            READS_ALL,
            calls(
                "await_user",
                message="It adds up hours, and its tests pass. What should be better: what it prints, what "
                "it reads, or how it is used?",
            ),
            calls("submit_brief", brief="The user wants it nicer, and did not say in what way."),
        ),
        "specifier 1": (
            READS_ALL,
            calls(
                "submit_specification",
                title="A nicer timesheet",
                success_criteria=["The output is nicer."],
                lines_of_code=100,
                risk="low",
            ),
        ),
        "specifier 2": (
            calls(
                "submit_specification",
                title="A nicer report",
                success_criteria=["The report is easier to read."],
                acceptance_tests=["Somebody reads the report, and likes it."],
                risk="medium",
            ),
        ),
        "specifier 3": (
            calls(
                "submit_specification",
                title="Something nicer",
                lines_of_code=200,
                acceptance_tests=["The tests there are still pass."],
                risk="high",
                notes="Nobody said what should be true at the end.",
            ),
        ),
    },
)
