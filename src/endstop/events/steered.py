"""What an agent that is steered by a tree leaves in its record, beside what every agent does. Notes, all."""

from __future__ import annotations

from dataclasses import dataclass

from endstop.kernel.ledger import ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChosen:
    """The tree that steers the run, whole: the run keeps to it, whatever becomes of its file (E5)."""

    tree: str
    hash: str
    spec: str
    """As JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeTraced:
    """What the nodes of the tree did since the last such note: ``"12 success"``, by their numbers."""

    scope: str = ROOT
    turn: int
    steps: tuple[str, ...]
    dropped: int = 0
    """So many steps were too many to keep."""
    errors: tuple[str, ...] = ()
    """What leaves failed with, for whoever wrote the tree: ``"oracle/turns/ask: OSError: …"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryClassified:
    """What sort of question it was taken for, and why (E8)."""

    query_type: str
    confidence: float
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """The prompt and the tools that the model is given from here on."""

    scope: str = ROOT
    turn: int
    system: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityMissing:
    """The agent said what it would have needed and does not have (C6)."""

    scope: str = ROOT
    turn: int
    capability: str
    reason: str = ""
    workaround: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackChosen:
    """The agent did not say how it stands, or was stuck: what was done about it, and who chose that (C7)."""

    scope: str = ROOT
    turn: int
    action: str
    why: str
    by: str = "heuristics"
