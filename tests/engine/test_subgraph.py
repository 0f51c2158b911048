"""The nodes and edges behind an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = """
interface Named { name: String }
node Person implements Named { slug: String @key  age: I32?  photo: Blob? }
node Company implements Named { slug: String @key }
node Service { slug: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
edge DependsOn: Service -> Service
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    g = og.init(tmp_path_factory.mktemp("g") / "g", SCHEMA)
    people = [
        {"type": "Person", "data": {"slug": s, "name": s.title(), "age": a}} for s, a in (("ada", 36), ("bob", 41), ("cy", 7))
    ]
    services = [{"type": "Service", "data": {"slug": s}} for s in "abcdefx"]
    chain = [{"edge": "DependsOn", "from": s, "to": t} for s, t in ("ab", "bc", "cd", "ae", "ef", "xa")]
    g.load([
        *people, {"type": "Company", "data": {"slug": "acme", "name": "Acme"}}, *services, *chain,
        {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1", "since": "2024-05-01"}},
        {"edge": "Knows", "from": "bob", "to": "ada", "data": {"id": "k2"}},
        {"edge": "Knows", "from": "bob", "to": "cy", "data": {"id": "k3"}},
        {"edge": "WorksAt", "from": "ada", "to": "acme", "data": {"id": "w1"}},
    ])  # fmt: skip
    return g


def drawn(graph: og.Graph, query: str, **params: object) -> tuple[set[str], set[tuple[str, str, str]]]:
    found = graph.subgraph(f"query q({', '.join(f'${p}: String' for p in params)}) {{ {query} }}", params)
    return {n.id for n in found.nodes}, {(e.source[1], e.type, e.target[1]) for e in found.edges}


def test_bound_nodes_and_the_edges_between_them(graph: og.Graph) -> None:
    nodes, edges = drawn(graph, 'match { $p: Person { slug: "ada" }  $p worksAt $c } return { $c.name }')
    assert (nodes, edges) == ({"ada", "acme"}, {("ada", "WorksAt", "acme")})


def test_properties_come_along_and_blobs_do_not(graph: og.Graph) -> None:
    found = graph.subgraph('query q() { match { $p: Person { slug: "ada" }  $p knows $f } return { $f.name } }')
    assert {n.id: n.properties for n in found.nodes}["bob"] == {"age": 41, "name": "Bob", "slug": "bob"}
    (edge,) = found.edges
    assert str(edge.properties["since"]) == "2024-05-01"
    assert found.commit == graph.commits(limit=1)[0].id
    assert found.is_complete


def test_directions(graph: og.Graph) -> None:
    there = drawn(graph, 'match { $p: Person { slug: "bob" }  $p knows $f } return { $f.name }')[1]
    assert there == {("bob", "Knows", "ada"), ("bob", "Knows", "cy")}
    back = drawn(graph, 'match { $p: Person { slug: "bob" }  $f knows $p } return { $f.name }')[1]
    assert back == {("ada", "Knows", "bob")}
    both = drawn(graph, 'match { $p: Person { slug: "bob" }  $p <knows> $f } return { $f.name }')[1]
    assert both == there | back


def test_a_traversal_of_several_steps_shows_the_ways(graph: og.Graph) -> None:
    nodes, edges = drawn(graph, 'match { $s: Service { slug: "a" }  $s dependsOn{1,3} $t  $t.slug = "d" } return { $t.slug }')
    assert nodes == {"a", "b", "c", "d"}
    assert edges == {("a", "DependsOn", "b"), ("b", "DependsOn", "c"), ("c", "DependsOn", "d")}
    every = drawn(graph, 'match { $s: Service { slug: "a" }  $s dependsOn{1,2} $t } return { $t.slug }')
    assert every[0] == {"a", "b", "c", "e", "f"}


def test_anonymous_optional_and_without(graph: og.Graph) -> None:
    assert drawn(graph, 'match { $p: Person { slug: "ada" }  $p knows $_ } return { $p.name }')[0] == {"ada", "bob"}
    nodes, edges = drawn(graph, "match { $p: Person  optional { $p worksAt $c } } return { $p.name, $c.name }")
    assert nodes == {"ada", "bob", "cy", "acme"}
    assert edges == {("ada", "WorksAt", "acme")}
    nodes, edges = drawn(graph, "match { $p: Person  not { $p worksAt $_ } } return { $p.name }")
    assert (nodes, edges) == ({"bob", "cy"}, set())


def test_order_limit_and_grouping(graph: og.Graph) -> None:
    assert drawn(graph, "match { $p: Person } return { $p.age as a } order { a desc } limit 1")[0] == {"bob"}
    assert drawn(graph, "match { $p: Person  $p knows $f } return { $p.name, count($f) as n } order { n desc } limit 1")[0] == {
        "ada", "bob", "cy",
    }  # fmt: skip


def test_an_interface_ranges_over_its_types(graph: og.Graph) -> None:
    found = graph.subgraph("query q() { match { $x: Named } return { $x.name } }")
    assert {(n.type, n.id) for n in found.nodes} == {("Company", "acme"), ("Person", "ada"), ("Person", "bob"), ("Person", "cy")}


def test_a_bound_says_so(graph: og.Graph) -> None:
    found = graph.subgraph("query q() { match { $p: Person } return { $p.name } }", limit=2)
    assert (len(found.nodes), found.is_complete) == (2, False)


def test_only_reads_can_be_drawn(graph: og.Graph) -> None:
    with pytest.raises(og.UsageError):
        graph.subgraph('query q() { insert Service { slug: "z" } }')


def test_the_past(graph: og.Graph, tmp_path: Path) -> None:
    first = graph.commits()[-1].id
    assert graph.subgraph("query q() { match { $p: Person } return { $p.name } }", at=first).nodes == ()
