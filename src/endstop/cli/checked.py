"""What one look of ``endstop doctor`` found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "attention", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What one look found."""

    name: str
    state: State
    detail: str
    to_do: str = ""
