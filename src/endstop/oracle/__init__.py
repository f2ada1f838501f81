"""The oracle: an agent that answers questions about a project, steered by a tree (E7)."""

ORACLE = "oracle"
"""The name of its agents in records."""
