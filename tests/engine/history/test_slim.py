"""A merge that does without old images gives what one with all of them gives."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.engine.graphs import add
from tests.engine.history.graphs import calm, contents, people, put, told

import omnigraph as og
from omnigraph.engine.history.deltas import Deltas
from omnigraph.engine.upkeep.reconcile import optimize

PEOPLE = 60


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph whose ids are indexed: marks are all over one fragment."""
    folder = tmp_path_factory.mktemp("slim")
    graph = people(folder, {"Person": [{"name": f"p{n:02d}", "age": n} for n in range(PEOPLE)], "Company": [{"name": "Acme"}]})
    add(graph, {"Knows": [{"id": f"e{n:02d}", "src": f"p{n:02d}", "dst": f"p{(n * 7 + 1) % PEOPLE:02d}"} for n in range(PEOPLE)]})
    optimize(graph._store, "main", graph._view().catalog)
    graph.branches.create("work")
    graph.close()
    return folder / "graph"


def busy(graph: og.Graph, branch: str, rng: random.Random) -> None:
    """A few random changes."""
    for _ in range(rng.randrange(1, 5)):
        name = f"p{rng.randrange(20):02d}"
        kind = rng.choice(["age", "nickname", "same", "leave", "return", "new", "know", "forget", "work"])
        statement = {
            "age": f'update Person set {{ age: {rng.randrange(3)} }} where name = "{name}"',
            "nickname": f'update Person set {{ nickname: "{rng.choice("xy")}" }} where name = "{name}"',
            "same": f'update Person set {{ age: {int(name[1:])} }} where name = "{name}"',
            "leave": f'delete Person where name = "{name}"',
            "return": f'insert Person {{ name: "{name}", age: {rng.choice([int(name[1:]), 1])} }}',
            "new": f'insert Person {{ name: "n{rng.randrange(3)}", age: {rng.randrange(2)} }}',
            "know": f'insert Knows {{ from: "{name}", to: "p{rng.randrange(20):02d}" }}',
            "forget": f'delete Knows where from = "{name}"',
            "work": f'insert WorksAt {{ from: "{name}", to: "Acme" }}',
        }[kind]
        try:
            put(graph, statement, branch)
        except og.ValidationError:
            continue  # an end that left


def merged(place: Path, resolve: Any) -> object:
    graph = og.open(place, durability="os")
    calm(graph)
    try:
        outcome = graph.merge("work", resolve=resolve).outcome
    except og.MergeConflict as error:
        return [(c.kind, c.type, c.entity, c.properties, c.base, c.ours, c.theirs) for c in told(error)]
    assert graph.verify(deep=True).ok
    return outcome, contents(graph)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 30))])
def test_a_slim_merge_is_a_merge(template: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    place = tmp_path / "slim"
    shutil.copytree(template, place)
    graph = og.open(place, durability="os")
    calm(graph)
    busy(graph, "work", rng)
    busy(graph, "main", rng)
    graph.close()
    used: list[bool] = []
    for resolve in (None, "ours", "theirs"):
        results = []
        for slim in (True, False):
            copy = tmp_path / f"{resolve}-{slim}"
            shutil.copytree(place, copy)
            with monkeypatch.context() as patch:
                original = Deltas.slim

                def watched(self: Deltas, *given: Any, slim: bool = slim, original: Any = original) -> Any:
                    found = original(self, *given) if slim else None
                    used.append(found is not None)
                    return found

                patch.setattr(Deltas, "slim", watched)
                results.append(merged(copy, resolve))
        assert results[0] == results[1]
    if seed == 0:
        assert any(used), "this history needs no old images"


def test_old_images_are_not_read(template: Path, tmp_path: Path) -> None:
    place = tmp_path / "graph"
    shutil.copytree(template, place)
    graph = og.open(place, durability="os")
    calm(graph)
    put(graph, " ".join(f'update Person set {{ age: 1 }} where name = "p{n:02d}"' for n in range(10, 20)), "work")
    put(graph, " ".join(f'update Person set {{ age: 2 }} where name = "p{n:02d}"' for n in range(30, 40)))
    before = graph._past.deltas.reads.rows
    assert graph.merge("work").outcome == "merged"
    assert graph._past.deltas.reads.rows - before == 20, "what came on either side, and nothing of the base"
