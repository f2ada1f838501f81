"""One example of a session: what it is about, what the user answers, and what each part of it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from endstop.testing.replies import ScriptedReply

Script: TypeAlias = Mapping[str, tuple[ScriptedReply, ...]]
"""The replies of each part in turn, by its role and its number: ``planner``, ``builder 2``. The last one
hands in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A session that needs no language model: its script stands for one."""

    name: str
    title: str
    about: str
    """What will be seen, in a sentence or two."""
    intent: str
    answers: tuple[str, ...] = ()
    """What the user answers, in turn, when the session asks."""
    ends: str
    """How it ends, in words."""
    script: Script = field(repr=False)
