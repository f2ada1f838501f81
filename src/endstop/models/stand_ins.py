"""What is said where a history has a gap that a provider or a chat template would refuse."""

from __future__ import annotations

GO_ON = "Go on."
"""Said for the user where the user must speak and did not."""

NO_OUTPUT = "(no output)"
NO_RESULT = "(interrupted: there is no result)"
