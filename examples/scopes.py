"""Scopes: parts of a run with budgets of their own, carved from what is left.

Run it: python examples/scopes.py

A researcher and a writer share one budget of 12 turns and 20,000 tokens. The researcher gets at most 6 turns
and 9,000 tokens of it; what it does not use flows back to the writer.
"""

import endstop as es

guard = es.Guard(es.Budget(turns=12, tokens=20_000))

with guard.scope("research", turns=6, tokens=9_000) as research:
    for page in ("intro", "login", "sessions"):
        if not research.may_continue():
            break
        with research.turn(reserve_tokens=2_000) as turn:
            turn.spent(input_tokens=1_200, output_tokens=150)
            turn.called("read_page", {"page": page}, result=f"the text of {page}")

print(f"research: {research.outcome}, used {research.usage}")

while guard.may_continue():
    with guard.turn(reserve_tokens=3_000) as turn:
        turn.spent(input_tokens=1_500, output_tokens=400)
        turn.said("Login works by session cookies.")
        turn.finished("Login works by session cookies.")

print(f"all of it: {guard.outcome}, used {guard.usage}")
print(f"what is left: {20_000 - guard.usage.tokens:,} tokens and {12 - guard.usage.turns} turns")
