"""The chooser that reads, with its real model.

Collected only with ``ENDSTOP_TEST_BERT=1`` (``make test-bert``): it needs the packages of the group ``bert``,
about 65 MB. There a missing package is a failure, never a skip.
"""

from __future__ import annotations

import os

if os.environ.get("ENDSTOP_TEST_BERT") != "1":
    collect_ignore_glob = ["test_*.py"]
