"""For all tests: how long an example takes says something about the machine, not about the claim; where folders are, and the
order they run in.

Folders of tests are in memory where there is room: no claim is about the disk, and a fifth of the work of a small graph is its
file system's. A folder goes with its test unless the test failed. What was made by collecting 8,000 tests stays, so nobody
looks for garbage in it.

Three processes share the tests, one more than there are cores: now and then each waits for a child or a disk. Each begins with its
part of the list, and who is done first takes over from the end of another's. So what takes long is not at the end. All that use the
Spark session of their process are at the beginning: a session starts for twenty seconds, and one process has to start one.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

LONGEST = (
    "tests/engine/write/test_histories.py",
    "tests/pipeline/test_cluster.py",
    "tests/test_packaging.py",
    "tests/test_examples.py",
    "tests/engine/load/test_chunks.py",
    "tests/engine/test_limits.py",
    "tests/pipeline/test_settings.py",
    "tests/pipeline/test_java.py",
    "tests/pipeline/test_foreign.py",
)
"""What takes longest beside the session of Spark, in this order. While the first of it runs, the other process leaves the archive
that every Java of the others starts from (`tests.pipeline.cluster`)."""

MEMORY = Path("/dev/shm")
ROOM = 6 << 30
"""Bytes that are to be free in memory: tests leave some 3 GB if all of them fail."""


def folders_in_memory() -> None:
    """Have pytest and `tempfile` make folders in memory, in this process and in those that share its tests."""
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM:
        return
    available = next((line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")), "0 0")
    if int(available.split()[1]) << 10 >= 2 * ROOM:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


folders_in_memory()
tempfile.tempdir = os.environ.get("PYTEST_DEBUG_TEMPROOT")  # None: wherever they are

settings.register_profile("omnigraph", deadline=None)
settings.load_profile("omnigraph")


def _place(item: pytest.Item) -> int:
    """Where in the list of the longest a test stands; those that are only slow come after it."""
    return next((at for at, name in enumerate(LONGEST) if item.path.as_posix().endswith(name)), len(LONGEST))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    shared: list[pytest.Item] = []
    slow: list[pytest.Item] = []
    quick: list[pytest.Item] = []
    for item in items:
        is_slow = item.get_closest_marker("slow") is not None
        with_session = "spark" in getattr(item, "fixturenames", ()) or (is_slow and item.path.name == "test_docs.py")
        (shared if with_session else slow if is_slow else quick).append(item)
    slow.sort(key=_place)
    cut = max(0, len(items) // 2 - len(shared))
    items[:] = [*shared, *quick[:cut], *slow, *quick[cut:]]
