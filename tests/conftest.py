"""How properties are tried: the same cases on every ``make test``, new and many more with ``make fuzz``."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

pytest_plugins = ["postgres"]

settings.register_profile("steady", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("fuzz", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser come last: what drives it keeps an event loop running, and no other can run then."""
    items.sort(key=lambda item: "browser" in item.path.parts)
