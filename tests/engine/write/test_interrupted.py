"""A store that fails in the middle of a write: the old graph or the new one, and the same handle goes on.

Every kind of write is struck before and after each of its durable calls. Nothing has to be recovered: what was not published is not
there, and what was is whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.graphs import make_graph
from tests.engine.history.graphs import calm, contents
from tests.storage.crashing import Counting, Moment, Striking, store_error

import omnigraph as og
from omnigraph.storage.files.effects import Effects
from omnigraph.storage.files.place import Durability, Place
from omnigraph.storage.graph_store import GraphStore

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? }
node Company { name: String @key }
edge Knows: Person -> Person
edge WorksAt: Person -> Company @card(0..1)
"""

Operation = Callable[[og.Graph], object]

OPERATIONS: dict[str, Operation] = {
    "mutate": lambda g: g.mutate('query m() { insert Company { name: "Acme" } insert WorksAt { from: "a", to: "Acme" } }'),
    "update": lambda g: g.mutate("query m() { update Person set { age: 9 } where age > 0 }"),
    "delete with edges": lambda g: g.mutate('query m() { delete Person where name = "a" }'),
    "load": lambda g: g.load(
        {"Person": [{"name": "x"}, {"name": "a", "age": 7}], "Knows": [{"from": "x", "to": "a", "id": "k9"}]}
    ),
    "schema apply": lambda g: g.apply_schema(SCHEMA.replace("mail: String?", "mail: String"), backfill={"Person.mail": "?"}),
    "merge": lambda g: g.merge("work"),
    "revert": lambda g: g.revert(g.commits(limit=1)[0].id),
    "optimize": lambda g: g.optimize(),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a branch that is ready to be merged, and changes on both sides."""
    folder = tmp_path_factory.mktemp("template")
    graph = make_graph(
        folder,
        SCHEMA,
        {
            "Person": [{"name": n, "age": i} for i, n in enumerate("abc")],
            "Knows": [{"id": "k1", "src": "a", "dst": "b"}, {"id": "k2", "src": "c", "dst": "a"}],
        },
    )
    graph.branches.create("work")
    graph.mutate('query m() { insert Person { name: "w", age: 5 } insert Knows { from: "w", to: "b" } }', branch="work")
    graph.mutate('query m() { update Person set { mail: "c@x" } where name = "c" }')
    graph.close()
    return folder / "graph"


def opened(template: Path, folder: Path, effects: Effects) -> og.Graph:
    """A copy of the graph behind effects that watch or strike."""
    shutil.copytree(template, folder)
    graph = og.Graph(GraphStore.open(Place.at(str(folder), durability=Durability.OS, effects=effects)), reopen=og.open)
    calm(graph)
    return graph


def described(graph: og.Graph) -> object:
    """Everything a reader sees, less ids that are made anew each time."""
    rows = contents(graph).items()
    return graph.schema(), sorted(((type_, {**row, "id": ""} if "src" in row else row) for (type_, _), row in rows), key=str)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failure_leaves_the_old_graph_or_the_new_one_and_the_same_handle_goes_on(
    template: Path, tmp_path: Path, name: str
) -> None:
    operation = OPERATIONS[name]
    counting = Counting()
    graph = opened(template, tmp_path / "whole", counting)
    before = described(graph)
    counting.calls.clear()
    operation(graph)
    after, calls = described(graph), len(counting.calls)
    assert calls > 2
    for number in range(1, calls + 1):
        for moment in Moment:
            effects = Striking(number, moment, store_error)
            graph = opened(template, tmp_path / f"{number}-{moment.value}", effects)
            effects.begun, effects.calls = 0, []
            try:
                operation(graph)
                landed = True
            except og.GraphError:
                landed = False
            assert described(graph) == (after if landed else before), f"{moment.value} call {number}"
            if not landed:
                operation(graph)
                assert described(graph) == after
            graph.mutate('query m() { insert Company { name: "Next" } }')
            assert graph.verify(deep=True).ok
            shutil.rmtree(tmp_path / f"{number}-{moment.value}")
