"""What a user can set for agents, with defaults and bounds in one table (I3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING

from endstop.errors import InvalidValueError
from endstop.kernel.amounts import dollars
from endstop.kernel.budget import Budget
from endstop.kernel.limits import LimitKind, whole
from endstop.kernel.texts import closest


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingBounds:
    """What one setting may be."""

    default: int | None
    smallest: int | Decimal
    largest: int | Decimal


SETTING_BOUNDS = MappingProxyType(
    {
        "max_iterations": SettingBounds(default=30, smallest=1, largest=100),
        "soft_warning_percent": SettingBounds(default=70, smallest=50, largest=90),
        "token_budget": SettingBounds(default=200_000, smallest=1_000, largest=2_000_000),
        "token_warning_percent": SettingBounds(default=80, smallest=50, largest=95),
        "timeout_seconds": SettingBounds(default=300, smallest=10, largest=3_600),
        "max_tool_calls_per_turn": SettingBounds(default=10, smallest=1, largest=50),
        "max_parallel_tools": SettingBounds(default=3, smallest=1, largest=10),
        "cost_limit_usd": SettingBounds(default=None, smallest=Decimal("0.01"), largest=Decimal(1_000)),
    }
)
"""The eight settings. All are whole numbers but the last, which is money, or None for no limit."""


def _default(name: str) -> int:
    return SETTING_BOUNDS[name].default or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The settings of one user, each within its bounds."""

    max_iterations: int = _default("max_iterations")
    soft_warning_percent: int = _default("soft_warning_percent")
    """Of ``max_iterations``, when the agent is told to wrap up."""
    token_budget: int = _default("token_budget")
    token_warning_percent: int = _default("token_warning_percent")
    timeout_seconds: int = _default("timeout_seconds")
    max_tool_calls_per_turn: int = _default("max_tool_calls_per_turn")
    max_parallel_tools: int = _default("max_parallel_tools")
    cost_limit_usd: Decimal | None = None
    """Text and numbers are taken too; None for no limit."""

    if TYPE_CHECKING:  # money may be given as text or a number; what is read back is a Decimal

        def __init__(
            self,
            *,
            max_iterations: int = ...,
            soft_warning_percent: int = ...,
            token_budget: int = ...,
            token_warning_percent: int = ...,
            timeout_seconds: int = ...,
            max_tool_calls_per_turn: int = ...,
            max_parallel_tools: int = ...,
            cost_limit_usd: Decimal | str | float | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in SETTING_BOUNDS:
            value: object = getattr(self, name)
            if name != "cost_limit_usd":
                _within_bounds(name, value)
            elif value is not None:
                object.__setattr__(self, name, _cost(name, value))

    def changed(self, values: Mapping[str, object]) -> AgentSettings:
        """These settings with some changed. ``InvalidValueError`` names what is wrong; then none is."""
        if not isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers' code
            raise InvalidValueError("settings", values, allowed='a mapping, such as {"max_iterations": 10}')
        for name in values:
            if name not in SETTING_BOUNDS:
                raise _unknown(name)
        return replace(self, **dict(values))  # pyright: ignore[reportArgumentType] - the constructor checks

    def to_values(self) -> dict[str, int | str | None]:
        """As plain JSON values; money is text."""
        values: dict[str, int | str | None] = {}
        for each in fields(self):
            value: int | Decimal | None = getattr(self, each.name)
            values[each.name] = f"{value:f}" if isinstance(value, Decimal) else value
        return values

    def budget(self) -> Budget:
        """The budget that a run gets by these settings."""
        return Budget(
            turns=self.max_iterations,
            tokens=self.token_budget,
            cost_usd=self.cost_limit_usd,
            seconds=self.timeout_seconds,
            tool_calls_per_turn=self.max_tool_calls_per_turn,
            parallel_tools=self.max_parallel_tools,
            warn_at={
                LimitKind.TURNS: self.soft_warning_percent / 100,
                LimitKind.TOKENS: self.token_warning_percent / 100,
            },
        )


def _within_bounds(name: str, value: object) -> None:
    bounds = SETTING_BOUNDS[name]
    whole(name, value, smallest=int(bounds.smallest), largest=int(bounds.largest))


def _cost(name: str, value: object) -> Decimal:
    bounds = SETTING_BOUNDS[name]
    return dollars(
        name,
        value,
        smallest=Decimal(bounds.smallest),
        largest=Decimal(bounds.largest),
        to_do="Use null for no limit",
    )


def _unknown(name: object) -> InvalidValueError:
    meant = closest(str(name), SETTING_BOUNDS)
    return InvalidValueError(
        "settings",
        name,
        allowed=", ".join(SETTING_BOUNDS),
        to_do=f"Did you mean {meant}?" if meant else "Use one of these names",
    )


DEFAULT_SETTINGS = AgentSettings()
