"""Random histories in which every answer is compared with a model, while handles start from each other's saved state."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
from tests import children
from tests.engine.saved_histories import History, World, run

from omnigraph.engine.execution import neighbours
from omnigraph.errors import HistoryReclaimed, NotFound

STEPS = 45


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_every_answer_is_right_whatever_was_saved(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(neighbours, "LEAST_QUANTIZED", 0)
    history = run(tmp_path / "graph", seed, STEPS)
    used = [handle.stats().saved for handle in history.handles]
    assert sum(use.read for use in used) > 0, "the last handles started from saved state"
    assert sum(use.damaged for use in used) == 0


def look_back(folder: Path, seed: int, commits: Any, told: Any) -> None:
    """Another process: asks about commits as it hears of them, and saves and uses saved state while the first one goes on."""
    rng = random.Random(seed)
    history = History.beside(folder, seed)
    known: list[tuple[str, World]] = []
    asked = used = 0
    try:
        while (item := commits.get(timeout=120)) is not None:
            known = [*known[-5:], item]
            for commit, world in (known[-1], rng.choice(known)):
                if rng.random() < 0.4:
                    history.reopen(0, "")
                try:
                    history.compare(history.handles[0], "", f"process {seed}", world=world, at=commit)
                    asked += 1
                except (HistoryReclaimed, NotFound):
                    continue
                finally:
                    used += history.handles[0].stats().saved.read
        history.close()
        told.put((asked, used, ""))
    except BaseException as error:
        told.put((asked, used, f"{type(error).__name__}: {error}"))
        raise


def beside_each_other(folder: Path, seed: int, steps: int) -> None:
    """A history in this process, and two others that look at what it did."""
    commits = [children.CONTEXT.Queue() for _ in range(2)]
    told = children.CONTEXT.Queue()
    history = History(folder, seed)
    readers = [children.started(look_back, folder, seed * 10 + at, queue, told) for at, queue in enumerate(commits)]
    for _ in range(steps):
        history.step()
        branch = history.rng.choice(sorted(history.worlds))
        world = copy.deepcopy(history.worlds[branch])  # a queue takes it to pieces later
        for queue in commits:
            queue.put((history.handles[0]._view(branch).snapshot.commit, world))
    history.compare_all()
    for queue in commits:
        queue.put(None)
    found = [told.get(timeout=120) for _ in readers]
    for reader in readers:
        reader.join()
    assert not [failure for _, _, failure in found if failure]
    assert all(asked > steps // 4 and used for asked, used, _ in found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_processes_beside_each_other_use_what_the_others_saved(seed: int, tmp_path: Path) -> None:
    beside_each_other(tmp_path / "graph", seed, 40)
