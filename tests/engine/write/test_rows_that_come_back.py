"""Rows that a revert or a fast-forward brings back, while a write that gets in their way is prepared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.commits.manifest import ManifestState
from omnigraph.storage.commits.publisher import Publisher
from omnigraph.storage.commits.waiting import Prepare, Ready

SCHEMA = """
node P { k: String @key  email: String? @unique }
edge E: P -> P @card(0..1)
"""
TWO = "query q($k: String, $l: String, $e: String) { insert P { k: $k, email: $e } insert P { k: $l } }"
ONE = "query q($k: String, $e: String?) { insert P { k: $k, email: $e } }"


def in_between(g: og.Graph, monkeypatch: pytest.MonkeyPatch, happens: Callable[[og.Graph], object]) -> None:
    """The next mutation is published after something else, which somebody does once it is prepared."""
    publish = Publisher.publish_prepared
    done: list[bool] = []

    def later(self: Publisher, prepare: Prepare) -> og.Commit | None:
        alone = prepare.alone

        class Later:
            kind = None

            def alone(self, state: ManifestState) -> Ready | None:
                made = alone(state)
                if not done:
                    done.append(True)
                    with og.open(g.uri, durability="os") as other:
                        happens(other)
                return made

            def together(self, state: ManifestState, alike: Sequence[Prepare]) -> Sequence[Ready | None]:
                raise AssertionError("of no kind")

        return publish(self, Later())

    monkeypatch.setattr(Publisher, "publish_prepared", later)


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    graph.load([{"type": "P", "data": {"k": f"p{n}"}} for n in range(20)])
    return graph


def test_a_unique_value_that_a_revert_brings_back(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    g.mutate(TWO, {"k": "a", "l": "b", "e": "e"})
    gone = g.mutate('query q() { delete P where k = "a" }').commit
    assert gone is not None
    in_between(g, monkeypatch, lambda other: other.revert(gone))
    with pytest.raises(og.ValidationError, match="unique"):
        g.mutate(ONE, {"k": "new", "e": "e"})
    assert g.verify(content=True).ok


def test_an_edge_that_a_revert_brings_back(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    g.load([{"edge": "E", "from": "p1", "to": "p2"}, {"edge": "E", "from": "p2", "to": "p3"}])
    gone = g.mutate('query q() { delete E where from = "p1" }').commit
    assert gone is not None
    in_between(g, monkeypatch, lambda other: other.revert(gone))
    with pytest.raises(og.ValidationError):
        g.mutate('query q() { insert E { from: "p1", to: "p3" } }')
    assert g.verify(content=True).ok


def test_a_unique_value_that_a_fast_forward_brings_back(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    g.mutate(TWO, {"k": "a", "l": "b", "e": "e"})
    there = g.commits(limit=1)[0]
    g.mutate('query q() { delete P where k = "a" }')
    g.branches.create("work")
    back = g.revert(g.commits(limit=1)[0])
    assert back.commit is not None
    in_between(g, monkeypatch, lambda other: other.merge("main", into="work"))
    with pytest.raises(og.ValidationError):
        g.mutate(ONE, {"k": "new", "e": "e"}, branch="work")
    assert there.id != back.commit.id


@pytest.mark.parametrize("property_", ["f", "l", "v"])
def test_a_zero_of_another_sign_is_written(tmp_path: Path, property_: str) -> None:
    schema = "node P { k: String @key  f: F64?  l: [F64]?  v: Vector(2)? }"
    g = og.init(tmp_path / "g", schema, durability="os")
    g.load([{"type": "P", "data": {"k": "a", "f": 0.0, "l": [0.0, 1.0], "v": [0.0, 1.0]}}])
    type_, value = {"f": ("F64", -0.0), "l": ("[F64]", [-0.0, 1.0]), "v": ("Vector(2)", [-0.0, 1.0])}[property_]
    done = g.mutate(f'query q($x: {type_}) {{ update P set {{ {property_}: $x }} where k = "a" }}', {"x": value})
    assert done.commit is not None
    [row] = g.query(f"query q() {{ match {{ $p: P }} return {{ $p.{property_} as x }} }}").rows
    assert str(row["x"]) == str(value)
