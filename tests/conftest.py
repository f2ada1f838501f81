"""How properties are tried: the same cases on every ``make test``, new and many more with ``make fuzz``.

And that Ctrl-C reaches the programs under test, however the tests were started.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

pytest_plugins = ["postgres"]

settings.register_profile("steady", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("fuzz", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_configure() -> None:
    """A shell starts what it runs in the background deaf to Ctrl-C, and every program that this starts in
    turn: so tests of Ctrl-C would fail there."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser come last: what drives it keeps an event loop running, and no other can run then."""
    items.sort(key=lambda item: "browser" in item.path.parts)
