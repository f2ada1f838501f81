"""The façade for loops of other people's: ``Guard``, with its scopes and turns."""

from endstop.guard.books import Reviewer
from endstop.guard.clock import SystemClock
from endstop.guard.guard import Guard
from endstop.guard.scope import Scope
from endstop.guard.turn import Turn

__all__ = ["Guard", "Reviewer", "Scope", "SystemClock", "Turn"]
