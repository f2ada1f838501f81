"""``python -m endstop.cli``."""

from __future__ import annotations

from endstop.cli import main

if __name__ == "__main__":
    main()
