"""Something in a process of its own, to be killed at any moment: forked, as starting Python takes longer."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from endstop.errors import EndstopError


def forked(body: Callable[[Callable[[], None]], None]) -> tuple[int, int]:
    """Run ``body`` in a process of its own; its id, and a pipe on which it says that it has begun."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _child(body, writing)
    os.close(writing)
    return process, reading


def _child(body: Callable[[Callable[[], None]], None], writing: int) -> NoReturn:
    code = 1
    try:
        body(lambda: os.close(writing))
        code = 0
    except EndstopError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        code = 3
    except Exception:  # noqa: BLE001 - it must not come back into the parent's code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
