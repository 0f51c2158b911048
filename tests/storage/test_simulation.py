"""A thousand random histories agree with the model of `simulation`.

OMNIGRAPH_SIMULATION_SEED=1234 pytest tests/storage/test_simulation.py     runs one history again and prints its steps
OMNIGRAPH_SIMULATION_HISTORIES=20000 pytest -m slow tests/storage/test_simulation.py
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.storage.crashing import copied, scratch_folder
from tests.storage.graphs import new_graph
from tests.storage.simulation import History

from omnigraph.storage.commits import manifest, reservations, turns

HISTORIES = int(os.environ.get("OMNIGRAPH_SIMULATION_HISTORIES", "1000"))
QUICK = 30
CHUNKS = 20


@pytest.fixture(scope="module")
def template() -> Iterator[tuple[Path, str]]:
    with scratch_folder() as folder:
        yield folder, new_graph(folder / "template").snapshot().commit


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "TAIL_COMMITS", 4)  # so that short histories fill tails and merge packed fragments
    monkeypatch.setattr(reservations, "LOSSES", 1_000_000)  # both handles are of one process, and one thread
    monkeypatch.setattr(turns, "STALLED", 0.0)  # a rival acts while this process has the turn: waiting for it would be in vain


def play(seed: int, template: tuple[Path, str]) -> None:
    folder, first = template
    graph = copied(folder / "template", folder / f"{seed}")
    history = History(seed, graph, first)
    try:
        history.run()
    except BaseException as error:
        steps = "\n".join(f"  {n}. {step}" for n, step in enumerate(history.told, 1))
        raise AssertionError(f"seed {seed} (OMNIGRAPH_SIMULATION_SEED={seed} replays it): {error!r}\n{steps}") from error
    finally:
        shutil.rmtree(graph)
    if "OMNIGRAPH_SIMULATION_SEED" in os.environ:
        print(*history.told, sep="\n")


def test_a_few_random_histories_agree_with_the_model(template: tuple[Path, str]) -> None:
    chosen = os.environ.get("OMNIGRAPH_SIMULATION_SEED")
    for seed in range(QUICK) if chosen is None else [int(chosen)]:
        play(seed, template)


@pytest.mark.slow
@pytest.mark.skipif("OMNIGRAPH_SIMULATION_SEED" in os.environ, reason="one seed is replayed")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_histories_agree_with_the_model(chunk: int, template: tuple[Path, str]) -> None:
    seeds = range(QUICK + chunk, HISTORIES, CHUNKS)
    print(f"seeds {seeds}")
    for seed in seeds:
        play(seed, template)
