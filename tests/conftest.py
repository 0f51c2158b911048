"""For all tests: how long an example takes says something about the machine, not about the claim, and the order they run in.

Two processes share the tests: each begins with one half of the list, and who is done first takes over from the end of the other's.
So each half begins with what takes long, and ends with what is done in a moment. All that use the Spark session of their process
are in the first half: a session starts for twenty seconds, and one process has to start one.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

LONGEST = (
    "tests/pipeline/test_cluster.py",
    "tests/engine/write/test_histories.py",
    "tests/test_packaging.py",
    "tests/test_examples.py",
    "tests/engine/load/test_chunks.py",
    "tests/engine/test_limits.py",
    "tests/pipeline/test_settings.py",
    "tests/pipeline/test_java.py",
    "tests/pipeline/test_foreign.py",
)
"""What takes longest beside the session of Spark, in this order."""

settings.register_profile("omnigraph", deadline=None)
settings.load_profile("omnigraph")


def _place(item: pytest.Item) -> int:
    """Where in the list of the longest a test stands; those that are only slow come after it."""
    return next((at for at, name in enumerate(LONGEST) if item.path.as_posix().endswith(name)), len(LONGEST))


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
