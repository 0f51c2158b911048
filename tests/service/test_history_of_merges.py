"""The history of an entity tells of the branches it came from to whoever may read them."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.policy.authoriser import PolicyAuthoriser
from omnigraph.policy.bundle import Kind, read_bundle
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.service.confined import ConfinedService
from omnigraph.service.direct import DirectGraphs
from omnigraph.service.operations.entity_history import EntityHistory

POLICY = """
version: 1
groups: { all: [rae], public: [mia] }
protected_branches: [main]
rules:
  - { id: all, allow: { actors: { group: all }, actions: [read] } }
  - { id: public, allow: { actors: { group: public }, actions: [read], branch_scope: protected } }
"""


@pytest.fixture
def ref(tmp_path: Path) -> GraphRef:
    with og.init(tmp_path / "people.omni", "node Person { name: String @key  age: I32? }", durability="os") as graph:
        graph.put("Person", {"name": "Ada"})
        graph.branches.create("secret-plans")
        graph.put("Person", {"name": "Ada", "age": 1}, branch="secret-plans", actor="mole", message="for nobody")
        graph.put("Person", {"name": "Ada", "age": 2}, branch="secret-plans")
        graph.merge("secret-plans")
    return GraphRef(str(tmp_path / "people.omni"), id="people")


@pytest.mark.parametrize(("actor", "told"), [("rae", True), ("mia", False)])
def test_commits_of_a_branch_that_one_may_not_read_are_not_told_of(ref: GraphRef, actor: str, told: bool) -> None:
    bundle = read_bundle(POLICY, source="policy.yaml", kind=Kind.GRAPH)
    door = Service(DirectGraphs(), authoriser=PolicyAuthoriser({"people": bundle}))
    found = door.run(Caller(actor, Origin.HTTP), EntityHistory(ref, "Person", ("Ada",)))
    assert [len(r.origins) for r in found] == ([2, 0] if told else [0, 0])
    assert all((word in str(found.to_dict())) is told for word in ("secret-plans", "mole", "for nobody"))
    door.close()


def test_nor_to_a_session_that_is_confined_to_another_branch(ref: GraphRef) -> None:
    door = ConfinedService(DirectGraphs(), "main")
    found = door.run(Caller("tests", Origin.MCP), EntityHistory(ref, "Person", ("Ada",)))
    assert [r.op for r in found] == ["update", "insert"]
    assert "secret-plans" not in str(found.to_dict())
    door.graphs.close()
