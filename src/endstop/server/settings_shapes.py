"""The settings of a user as the API gives and takes them (I3). The bounds are the kernel's, in one table."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from endstop.errors import InvalidValueError
from endstop.events.plain import written
from endstop.kernel.settings import DEFAULT_SETTINGS, SETTING_BOUNDS, AgentSettings


def _count(name: str) -> Any:
    bounds = SETTING_BOUNDS[name]
    return Field(ge=int(bounds.smallest), le=int(bounds.largest), examples=[bounds.default])


MaxIterations = Annotated[int, _count("max_iterations")]
SoftWarningPercent = Annotated[int, _count("soft_warning_percent")]
TokenBudget = Annotated[int, _count("token_budget")]
TokenWarningPercent = Annotated[int, _count("token_warning_percent")]
TimeoutSeconds = Annotated[int, _count("timeout_seconds")]
MaxToolCallsPerTurn = Annotated[int, _count("max_tool_calls_per_turn")]
MaxParallelTools = Annotated[int, _count("max_parallel_tools")]


class Settings(BaseModel):
    """All eight settings. Money is text, so that no cent is lost on the way; null is no limit."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [cast("Any", DEFAULT_SETTINGS.to_values())]}, strict=True
    )

    max_iterations: MaxIterations
    soft_warning_percent: SoftWarningPercent
    token_budget: TokenBudget
    token_warning_percent: TokenWarningPercent
    timeout_seconds: TimeoutSeconds
    max_tool_calls_per_turn: MaxToolCallsPerTurn
    max_parallel_tools: MaxParallelTools
    cost_limit_usd: str | None

    @classmethod
    def of(cls, settings: AgentSettings) -> Settings:
        return cls.model_validate(settings.to_values())


class SettingsChange(BaseModel):
    """Some of the settings; what is not named stays as it is."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"max_iterations": 10, "cost_limit_usd": "0.50"}]},
    )

    max_iterations: MaxIterations = DEFAULT_SETTINGS.max_iterations
    soft_warning_percent: SoftWarningPercent = DEFAULT_SETTINGS.soft_warning_percent
    token_budget: TokenBudget = DEFAULT_SETTINGS.token_budget
    token_warning_percent: TokenWarningPercent = DEFAULT_SETTINGS.token_warning_percent
    timeout_seconds: TimeoutSeconds = DEFAULT_SETTINGS.timeout_seconds
    max_tool_calls_per_turn: MaxToolCallsPerTurn = DEFAULT_SETTINGS.max_tool_calls_per_turn
    max_parallel_tools: MaxParallelTools = DEFAULT_SETTINGS.max_parallel_tools
    cost_limit_usd: Annotated[
        float | str | None, Field(description="From 0.01 to 1000 dollars, best as text; null for no limit.")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _within_bounds(cls, given: object) -> object:
        """The kernel looks first: its refusal names the field, the value and what is allowed."""
        if isinstance(given, dict):  # what is no object at all is pydantic's to refuse
            try:
                DEFAULT_SETTINGS.changed(cast("dict[str, object]", given))
            except InvalidValueError as error:
                raise _with_bounds(error) from None
        return cast("object", given)

    def changed(self, settings: AgentSettings) -> AgentSettings:
        """These settings, with what was given changed."""
        return settings.changed(self.given())

    def given(self) -> dict[str, object]:
        """What was named, and nothing else."""
        return self.model_dump(exclude_unset=True)


def _with_bounds(error: InvalidValueError) -> InvalidValueError:
    """The same refusal with the bounds as numbers, too: a page shows them beside the field."""
    bounds = SETTING_BOUNDS.get(error.field)
    if bounds is not None:
        smallest, largest = written(bounds.smallest), written(bounds.largest)
        vars(error)["bounds"] = {"smallest": smallest, "largest": largest}
    return error


class SettingBound(BaseModel):
    """What one setting may be, and what it is for somebody who has not set it."""

    default: int | str | None
    smallest: int | str
    largest: int | str

    @classmethod
    def all_of(cls, defaults: AgentSettings) -> dict[str, SettingBound]:
        values = defaults.to_values()
        return {
            name: cls.model_validate(
                {
                    "default": values[name],
                    "smallest": written(bounds.smallest),
                    "largest": written(bounds.largest),
                }
            )
            for name, bounds in SETTING_BOUNDS.items()
        }
