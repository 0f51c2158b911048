"""Every measure against its plain definition, on random graphs; and what is written back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engine.analytics import reference
from tests.engine.analytics.networks import SCHEMA, graph_of, random_network
from tests.engine.analytics.reference import Edge, Node
from tests.engine.graphs import add, delete, make_graph

import omnigraph as og
from omnigraph.engine.analytics import Analytics, AnalyticsResult, Local

SEEDS = range(8)


def by_node(result: AnalyticsResult) -> dict[Node, Any]:
    table = result.to_arrow()
    found = dict(zip(zip(table["type"].to_pylist(), table["id"].to_pylist(), strict=True), table[2].to_pylist(), strict=True))
    assert list(found) == sorted(found)
    return found


@pytest.fixture(params=SEEDS, scope="module")
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[og.Graph, list[Node], list[Edge]]:
    nodes, edges = random_network(request.param)
    graph = graph_of(tmp_path_factory.mktemp("network"), nodes, edges)
    return graph, nodes, [edge for pairs in edges.values() for edge in pairs]


@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_degree(network: tuple[og.Graph, list[Node], list[Edge]], direction: Any) -> None:
    graph, nodes, edges = network
    assert by_node(graph.analytics.degree(direction=direction)) == reference.degree(nodes, edges, direction)


def test_pagerank(network: tuple[og.Graph, list[Node], list[Edge]]) -> None:
    graph, nodes, edges = network
    found = graph.analytics.pagerank(rounds=7, tolerance=0, damping=0.8)
    assert by_node(found) == pytest.approx(reference.pagerank(nodes, edges, 0.8, 7), rel=1e-12)
    assert found.rounds == 7 or found.settled
    settled = graph.analytics.pagerank()
    assert settled.settled
    assert sum(by_node(settled).values()) == pytest.approx(1)


def test_components(network: tuple[og.Graph, list[Node], list[Edge]]) -> None:
    graph, nodes, edges = network
    assert by_node(graph.analytics.components()) == reference.components(nodes, edges)


@pytest.mark.parametrize("rounds", [1, 2, 10])
def test_label_propagation(network: tuple[og.Graph, list[Node], list[Edge]], rounds: int) -> None:
    graph, nodes, edges = network
    assert by_node(graph.analytics.label_propagation(rounds=rounds)) == reference.label_propagation(nodes, edges, rounds)


def test_triangles(network: tuple[og.Graph, list[Node], list[Edge]]) -> None:
    graph, nodes, edges = network
    assert by_node(graph.analytics.triangles()) == reference.triangles(nodes, edges)


def test_triangles_of_a_dense_graph(tmp_path: Path) -> None:
    nodes, edges = random_network(3, people=20, cities=4, edges=400)
    graph = graph_of(tmp_path, nodes, edges)
    every = [edge for pairs in edges.values() for edge in pairs]
    counted = by_node(graph.analytics.triangles())
    assert counted == reference.triangles(nodes, every)
    assert sum(counted.values()) > 30


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("most", [0, 1, 2, None])
def test_reach(network: tuple[og.Graph, list[Node], list[Edge]], direction: Any, most: int | None) -> None:
    graph, nodes, edges = network
    starts = [nodes[0], nodes[3], nodes[-1]]
    sources = {"Person": [starts[0][1], starts[1][1]], "City": starts[2][1]}
    expected = reference.reached(edges, starts, direction, most)
    found = graph.analytics.shortest_paths(sources, direction=direction, max_hops=most)
    assert by_node(found) == {node: hops for node, (hops, _) in sorted(expected.items())}
    before = {(r["type"], r["id"]): (r["previous_type"], r["previous_id"]) for r in found.rows}
    assert before == {node: previous or (None, None) for node, (_, previous) in expected.items()}
    if most is not None:
        assert by_node(graph.analytics.k_hop(sources, most, direction=direction)) == by_node(found)


def test_the_numbering_of_other_commits_does_not_matter(tmp_path: Path) -> None:
    """Nodes that came and went, on this branch and others, are in the numbering and not in the answer."""
    graph = make_graph(tmp_path, SCHEMA, {"Person": [{"name": n} for n in "dbx"], "Knows": [{"src": "d", "dst": "b"}]})
    graph.analytics.degree()
    graph.branches.create("side")
    add(graph, {"Person": [{"name": "a"}], "Knows": [{"src": "a", "dst": "b"}]}, branch="side")
    delete(graph, "Person", ["x"])
    add(graph, {"Person": [{"name": "c"}], "Knows": [{"src": "c", "dst": "b"}]})
    for branch, names, inward in (("side", "abdx", [0, 2, 0, 0]), ("main", "bcd", [2, 0, 0])):
        found = graph.analytics.degree(edges="Knows", direction="in", branch=branch)
        assert found.to_arrow()["id"].to_pylist() == list(names)
        assert found.to_arrow()["degree"].to_pylist() == inward
        assert found.graph_commit_id == graph.commits(branch, limit=1)[0].id
    at = graph.commits("main")[-2].id
    assert graph.analytics.degree(edges="Knows", at=at).to_arrow()["id"].to_pylist() == ["b", "d", "x"]


def test_part_of_a_graph(tmp_path: Path) -> None:
    data = {
        "Person": [{"name": "a"}, {"name": "b"}],
        "City": [{"name": "x"}],
        "Knows": [{"src": "a", "dst": "b"}],
        "Likes": [{"src": "a", "dst": "b"}],
        "LivesIn": [{"src": "a", "dst": "x"}],
    }
    analytics = make_graph(tmp_path, SCHEMA, data).analytics
    assert by_node(analytics.degree(edges="Knows")) == {("Person", "a"): 1, ("Person", "b"): 1}
    assert by_node(analytics.degree(nodes="Person")) == {("Person", "a"): 2, ("Person", "b"): 2}
    assert by_node(analytics.degree(nodes=["Person", "City"], edges=["LivesIn"])) == {
        ("City", "x"): 1,
        ("Person", "a"): 1,
        ("Person", "b"): 0,
    }
    with pytest.raises(og.UsageError, match="end at City"):
        analytics.degree(nodes="Person", edges="LivesIn")
    with pytest.raises(og.UsageError, match="no edge type `Know`") as error:
        analytics.degree(edges="Know")
    assert "Knows" in str(error.value.hint)
    with pytest.raises(og.UsageError, match="the type of the ids to start from is not given"):
        analytics.k_hop(["a"], 1)
    with pytest.raises(og.NotFound, match="no Person `zoe`"):
        analytics.k_hop(["a", "zoe"], 1, edges="Knows")
    assert [r["id"] for r in analytics.k_hop("a", 1, edges="Knows")] == ["a", "b"]
    with pytest.raises(og.UsageError, match="direction"):
        analytics.degree(direction="up")  # type: ignore[arg-type]
    with pytest.raises(og.UsageError, match="damping"):
        analytics.pagerank(damping=1.0)


def test_an_empty_graph_has_empty_measures(tmp_path: Path) -> None:
    analytics = make_graph(tmp_path, SCHEMA, {}).analytics
    for found in (analytics.degree(), analytics.pagerank(), analytics.components(), analytics.label_propagation()):
        assert len(found) == 0
        assert found.to_arrow().column_names[:2] == ["type", "id"]
    assert len(analytics.triangles()) == 0


def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    make_graph(tmp_path, SCHEMA, {"Person": [{"name": f"p{i}"} for i in range(2000)]}).close()
    with og.open(tmp_path / "graph", memory=64 << 10) as graph, pytest.raises(og.ResourceLimit) as error:
        graph.analytics.degree()
    assert str(error.value.hint) == "Name fewer types, or run it on Spark. Or open the graph with more memory: memory=…."


# ── writing back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def star(tmp_path: Path) -> og.Graph:
    people: list[dict[str, object]] = [{"name": "hub", "note": "n", "picture": b"\x00\x01", "email": "h@x"}]
    people += [{"name": f"p{i}", "email": f"p{i}@x"} for i in range(4)]
    return make_graph(tmp_path, SCHEMA, {"Person": people, "Knows": [{"src": f"p{i}", "dst": "hub"} for i in range(4)]})


def people(graph: og.Graph, branch: str = "main") -> list[dict[str, Any]]:
    query = "query q() { match { $p: Person } return { $p.name, $p.rank, $p.group, $p.note, $p.email } order { $p.name asc } }"
    return graph.query(query, branch=branch).rows


def test_values_become_a_property_in_one_commit(star: og.Graph) -> None:
    before = star.commits()
    found = star.analytics.pagerank(edges="Knows", write_to="rank", actor="me")
    assert found.commit is not None
    assert [c.id for c in star.commits()] == [found.commit.id, *(c.id for c in before)]
    assert (found.commit.actor, found.commit.operation) == ("me", "analytics")
    rows = people(star)
    assert {r["p.name"]: r["p.rank"] for r in rows} == {id_: v for (_, id_), v in by_node(found).items()}
    assert rows[0]["p.name"] == "hub"
    assert (rows[0]["p.note"], rows[0]["p.email"]) == ("n", "h@x")
    exported = star.diff(before[0].id, "main")
    assert {c.properties for c in exported.changes} == {("rank",)}
    assert exported.changes[0].after is not None
    assert exported.changes[0].after.properties["picture"] == b"\x00\x01"


def test_measuring_twice_commits_once(star: og.Graph) -> None:
    assert star.analytics.components(edges="Knows", write_to="group").commit is not None
    assert star.analytics.components(edges="Knows", write_to="group").commit is None


def test_values_go_to_another_branch(star: og.Graph) -> None:
    star.branches.create("analysis")
    add(star, {"Person": [{"name": "late"}]}, branch="analysis")
    edges = star._view("analysis").edges("Knows").stored.table.read(["id"])["id"].to_pylist()
    delete(star, "Knows", edges, branch="analysis")
    delete(star, "Person", ["p3"], branch="analysis")
    found = star.analytics.degree(edges="Knows", write_to="group", onto="analysis")
    assert found.commit is not None
    assert found.commit.branch == "analysis"
    assert {r["p.group"] for r in people(star)} == {None}
    values = {r["p.name"]: r["p.group"] for r in people(star, "analysis")}
    assert values == {"hub": 4, "p0": 1, "p1": 1, "p2": 1, "late": None}


def test_many_values_are_written_as_they_are_read(tmp_path: Path) -> None:
    count = 20_000
    graph = make_graph(tmp_path, SCHEMA, {})
    names = pa.array([f"p{i:05}" for i in range(count)])
    graph.load({"Person": pa.table({"name": names}), "Knows": pa.table({"from": names[1:], "to": names[:-1]})}, mode="append")
    found = graph.analytics.degree(edges="Knows", write_to="group")
    assert found.commit is not None
    (change,) = found.commit.changes
    assert (change.added, change.removed) == (count, count)
    assert graph.query("query q() { match { $p: Person } return { sum($p.group) as s } }").rows == [{"s": 2 * (count - 1)}]


@pytest.mark.parametrize(
    ("property_", "message"),
    [("nope", "has no property"), ("note", "is String"), ("name", "part of the key"), ("group", "is I32")],
)
def test_a_property_that_cannot_hold_the_values_is_refused(star: og.Graph, property_: str, message: str) -> None:
    before = star.commits()
    with pytest.raises(og.UsageError, match=message):
        star.analytics.pagerank(edges="Knows", write_to=property_)
    assert star.commits() == before


def test_where_to_write_must_be_said(star: og.Graph) -> None:
    with pytest.raises(og.UsageError, match="cannot be written to"):
        star.analytics.pagerank(edges="Knows", at=star.commits()[0].id, write_to="rank")
    with pytest.raises(og.UsageError, match="no property to write to"):
        star.analytics.pagerank(edges="Knows", onto="main")


def test_a_write_meanwhile_voids_the_values(star: og.Graph) -> None:
    """The values belong to the nodes that were read: whoever changed them meanwhile is not overwritten."""
    view = star._view()
    star.mutate('query q() { update Person set { note: "new" } where name = "hub" }')
    earlier = Analytics(lambda branch, at: view, Local(star._workspace, lambda branch, catalog: None))
    with pytest.raises(og.ReadSetChanged):
        earlier.pagerank(edges="Knows", write_to="rank")


def test_top(star: og.Graph) -> None:
    assert [r["id"] for r in star.analytics.degree(edges="Knows").top(3)] == ["hub", "p0", "p1"]
