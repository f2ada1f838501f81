"""The tool loop: an agent, driven turn by turn under its budget."""

from __future__ import annotations

from endstop.loop.agent import Agent, OnLimit, Retries
from endstop.loop.driver import Driver
from endstop.loop.journal import Delta, Journal

__all__ = ["Agent", "Delta", "Driver", "Journal", "OnLimit", "Retries"]
