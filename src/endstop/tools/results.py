"""What a function returned, as a result for the model."""

from __future__ import annotations

from dataclasses import replace

from endstop.errors import brief
from endstop.kernel.texts import readable, shortened
from endstop.ports import ToolResult

DONE = "Done."
NOTHING = "(empty)"


def result_of(value: object) -> ToolResult:
    """Text as it is, nothing as "Done.", anything else as compact JSON; all of it short enough."""
    if isinstance(value, ToolResult):
        text = readable(shortened(value.text))
        return value if text == value.text else replace(value, text=text)
    return ToolResult(text=readable(shortened(_text(value))), value=value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value or NOTHING
    if value is None:
        return DONE
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="replace")
    from pydantic_core import to_json

    try:
        return to_json(value, fallback=_shown).decode()
    except Exception:  # noqa: BLE001 - a value that refers to itself, or whose methods raise
        return _shown(value)


def _shown(value: object) -> str:
    return brief(value, most=2_000)
