"""An example whose price is rejected, by the policy and then by the user."""

from __future__ import annotations

from endstop.coding.examples.example import Example
from endstop.coding.examples.moves import READS_ALL
from endstop.testing.replies import calls

DEAR = Example(
    name="dear",
    title="A request that costs too much",
    about=(
        "The price is over what the policy allows, so it is rejected before anything is built, with cheaper "
        "ways to choose from. The user wants none of them."
    ),
    intent="Turn this into a web application with accounts, invoices and an app for the phone.",
    answers=("no",),
    ends="Abandoned without a line written: the price was rejected, and the cheaper ways are the next steps.",
    script={
        "interviewer": (
            READS_ALL,
            calls(
                "submit_brief",
                brief="A web application in place of the script: people log in, keep their timesheets there, "
                "write invoices from them, and have the same on their phones.",
            ),
        ),
        "specifier 1": (
            READS_ALL,
            calls(
                "submit_specification",
                title="Timesheets on the web and on the phone",
                success_criteria=[
                    "People log in with an account of their own and see only their timesheets.",
                    "An invoice can be made from the hours of a project.",
                    "An app for the phone shows and takes down the same hours.",
                ],
                lines_of_code=12_000,
                acceptance_tests=[
                    "Two accounts do not see the hours of each other.",
                    "The sum of an invoice is the hours of its project times the rate.",
                    "Hours taken down on the phone are there in the browser.",
                ],
                risk="high",
            ),
        ),
        "pricer 1": (
            READS_ALL,
            calls(
                "submit_price",
                input_tokens=6_000_000,
                output_tokens=600_000,
                model_calls=900,
                minutes=240,
                why="There is no server, no database and no app yet: about 12,000 lines in three programs.",
                smaller_scope={
                    "what": "Invoices only: a command that writes one from the hours of a project.",
                    "input_tokens": 200_000,
                    "output_tokens": 30_000,
                },
                phases="Invoices first; then a page on this machine that shows the hours; accounts and the "
                "phone when that is in use.",
                simpler_approach={
                    "what": "A page on this machine, without accounts, that a phone can open too.",
                    "input_tokens": 350_000,
                    "output_tokens": 50_000,
                },
            ),
        ),
    },
)
