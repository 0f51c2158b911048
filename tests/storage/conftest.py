"""For all tests of storage: a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.crashing import scratch_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """One to itself, in memory where that is possible."""
    with scratch_folder() as path:
        yield path
