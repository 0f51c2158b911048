"""Random histories of real processes could have happened one operation after the other, and keep every rule."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from tests.engine.write.histories import Histories, Model, Operation, Refused, Tally, Threads, Workers, crew, drawn

PER_GRAPH = 125
"""Histories, each on a branch of its own, that share a graph."""
PARTS = 4
PER_PART = 1_000 // PARTS


def run(folder: Path, seeds: list[int]) -> Tally:
    with crew() as workers:
        return run_with(workers, folder, seeds)


def run_with(workers: Workers, folder: Path, seeds: list[int]) -> Tally:
    total = Tally()
    for at in range(0, len(seeds), PER_GRAPH):
        histories = Histories(folder / f"{at}", workers)
        for seed in seeds[at : at + PER_GRAPH]:
            histories.run(seed)
        for name in vars(total):
            setattr(total, name, getattr(total, name) + getattr(histories.tally, name))
        assert histories.graph.verify().ok
    return total


def test_a_few_random_histories_of_processes_keep_every_rule(tmp_path: Path) -> None:
    tally = run(tmp_path, list(range(12)))
    assert tally.commits > 0


def test_a_few_random_histories_of_threads_keep_every_rule(tmp_path: Path) -> None:
    """Groups of inserts, updates and deletes, some of which touch the same entities."""
    tally = run_with(Threads(8), tmp_path, list(range(15)))
    assert tally.commits > 0
    assert tally.overtaken > 0


@pytest.mark.slow
def test_many_random_histories_of_threads_keep_every_rule(tmp_path: Path) -> None:
    first = random.SystemRandom().randrange(10**9)
    print(f"seeds {first} to {first + 119}")
    tally = run_with(Threads(8), tmp_path, list(range(first, first + 120)))
    print(tally)
    assert tally.rebased > 120, "the threads hardly met"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_thousand_random_histories_of_processes_keep_every_rule(tmp_path: Path, part: int) -> None:
    first = random.SystemRandom().randrange(10**9)
    print(f"part {part}: seeds {first} to {first + PER_PART - 1}; again: python -m tests.engine.write.histories <seed>")
    begun = time.monotonic()
    tally = run(tmp_path, list(range(first, first + PER_PART)))
    print(tally, f"{time.monotonic() - begun:.0f} s")
    assert tally.rebased > PER_PART, "the processes hardly met"
    assert tally.refused > 100
    assert tally.overtaken > 25


# ── the judge itself ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_operations_follow_from_the_seed() -> None:
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


@pytest.mark.parametrize(
    "operations",
    [
        [Operation("know", "a", "nobody", tag="1")],
        [Operation("lead", "a", "b", tag="1"), Operation("lead", "a", "c", tag="2")],
        [Operation("put", "a", mail="u"), Operation("put", "b", mail="u")],
        [Operation("append", "a", "b", tag="1")],
    ],
)
def test_the_model_refuses_what_breaks_a_rule(operations: list[Operation]) -> None:
    model = Model()
    for operation in operations[:-1]:
        model.apply(operation)
    before = model.copy()
    with pytest.raises(Refused):
        model.apply(operations[-1])
    assert model == before


def test_the_model_cascades() -> None:
    model = Model()
    model.apply(Operation("know", "a", "b", tag="1"))
    model.apply(Operation("lead", "b", "a", tag="2"))
    model.apply(Operation("know", "c", "c", tag="3"))
    assert model.apply(Operation("leave", "a")) == (1, 2)
    assert (list(model.knows), list(model.leads)) == (["3"], [])
