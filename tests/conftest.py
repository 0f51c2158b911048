"""For all tests: how long an example takes says something about the machine, not about the claim; the longest tests begin first, so
that no worker waits for another in the end."""

import pytest
from hypothesis import settings

LONGEST = ("tests/test_packaging.py", "tests/test_examples.py", "tests/engine/write/test_histories.py")

settings.register_profile("omnigraph", deadline=None)
settings.load_profile("omnigraph")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not (item.path.as_posix().endswith(LONGEST) and item.get_closest_marker("slow")))
