"""The real clocks."""

from __future__ import annotations

import time


class SystemClock:
    """The machine's own clocks."""

    monotonic_s = staticmethod(time.monotonic)  # as they are: they are asked several times in every turn
    unix_s = staticmethod(time.time)
