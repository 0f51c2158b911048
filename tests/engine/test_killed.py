"""`kill -9` in the middle of everything that writes: the old graph or the new one, whole, and the next write works."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.killed import OPERATIONS, Killed
from tests.storage.crashing import scratch_folder

KILLS = 2
"""Per operation, spread over the time it takes."""


@pytest.fixture(scope="module")
def died() -> Iterator[Killed]:
    with scratch_folder() as folder:
        yield Killed(Path(folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_process_killed_at_any_moment_leaves_the_old_graph_or_the_new_one(died: Killed, name: str) -> None:
    chosen = random.Random(name)
    for number in range(KILLS):
        died.kill(name, (number + chosen.random()) / KILLS)
