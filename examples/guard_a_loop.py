"""Guard a hand-written agent loop: a budget, stuck detection, and an explanation.

Run it: python examples/guard_a_loop.py

The "model" below is a stand-in that repeats itself, as models do: it rewords its prose and writes its
arguments in other ways, but asks for the same thing again and again. Swap it for your own.
"""

import itertools

import endstop as es

REPLIES = itertools.cycle(
    [
        ("Let me look.", {"query": "login flow", "limit": 5}),
        ("I will search the docs.", {"limit": 5.0, "query": "login  flow"}),
        ("Checking once more.", '{"query": "login flow",   "limit": 5}'),
    ]
)


def call_my_model(hint: str | None) -> tuple[str, object]:
    """Your model goes here. Pass the hint on to it: it says when to wrap up, or to try otherwise."""
    return next(REPLIES)


guard = es.Guard(es.Budget(turns=30, tokens=200_000, seconds=120))
while guard.may_continue():
    with guard.turn(reserve_tokens=4_000) as turn:
        text, arguments = call_my_model(turn.hint)
        turn.spent(input_tokens=900, output_tokens=60)
        turn.said(text)
        turn.called("search_docs", arguments, result="3 pages found")

print(guard.explain())
