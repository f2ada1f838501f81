"""The coding pipeline: an intent is specified, priced and built, round by round, with its work saved (G)."""

CODING = "coding"
"""The name of its runs' agent in records."""
