"""Queries of a file as functions: what can be completed, what is said of them, what they do."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = (
    "node Person { name: String @key  age: I32?  born: Date?  tags: [String]?  near: Vector(2)? }\nedge Knows: Person -> Person"
)
LIBRARY = """
// not about anything

/* Everybody who is older.
 * Nobody else. */
query older($a: I32) { match { $p: Person  $p.age > $a } return { $p.name } order { $p.name } }

// Who somebody knows,
// and how old they are.
query friends($most: I32?, $n: String) { match { $p: Person { name: $n }  $p knows $f } return { $f.name, $f.age } }
query add($n: String, $b: Date?, $t: [String]?, $v: Vector(2)?, $x: F64?, $m: DateTime?, $w: Bool?)
    @description("Adds somebody.") { insert Person { name: $n, born: $b, tags: $t, near: $v } }
query older($a: I32) { match { $p: Person } return { $p.name } }
"""


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os")
    graph.load(
        [
            {"type": "Person", "data": {"name": "Ada", "age": 36}},
            {"type": "Person", "data": {"name": "Bob", "age": 20}},
            {"edge": "Knows", "from": "Ada", "to": "Bob"},
        ]
    )
    (tmp_path / "lib.gq").write_text(LIBRARY)
    return graph


@pytest.fixture
def lib(g: og.Graph, tmp_path: Path) -> og.Queries:
    return g.queries(tmp_path / "lib.gq")


def test_they_are_called_by_name_or_in_order(lib: og.Queries) -> None:
    assert lib.older(a=30).rows == lib.older(30).rows == lib["older"](30).rows == [{"p.name": "Ada"}]
    assert lib.friends(n="Ada").rows == [{"f.name": "Bob", "f.age": 20}]
    receipt = lib.add("Eve", b="2024-05-01", t=["x"])
    assert isinstance(receipt, og.Receipt)
    assert receipt.affected_nodes == 1


def test_shells_complete_names_and_parameters(lib: og.Queries) -> None:
    assert {"older", "friends", "add"} <= set(dir(lib))
    assert list(lib) == ["older", "friends", "add"]
    assert len(lib) == 3
    assert "friends" in lib
    assert (
        str(inspect.signature(lib.friends)) == "(n: 'str', most: 'int | None' = None) -> omnigraph.engine.execution.result.Result"
    )
    said = {name: p.annotation for name, p in inspect.signature(lib.add).parameters.items()}
    assert said == {
        "n": "str",
        "b": "datetime.date | None",
        "t": "list[str] | None",
        "v": "list[float] | None",
        "x": "float | None",
        "m": "datetime.datetime | None",
        "w": "bool | None",
    }
    assert inspect.signature(lib.add).return_annotation is og.Receipt


def test_comments_and_descriptions_are_what_help_shows(lib: og.Queries) -> None:
    assert lib.older.__doc__ == "Everybody who is older.\nNobody else."
    assert lib.friends.__doc__ == "Who somebody knows,\nand how old they are."
    assert lib.add.__doc__ == "Adds somebody."
    assert repr(lib.friends) == "Query friends(most: I32?, n: String)"
    assert repr(lib).endswith("lib.gq: older, friends, add")


def test_mistakes_are_our_errors(g: og.Graph, lib: og.Queries, tmp_path: Path) -> None:
    with pytest.raises(og.ParameterError, match="older"):
        lib.older(b=3)
    with pytest.raises(og.ParameterError, match="older"):
        lib.older(1, 2)
    with pytest.raises(og.ParameterError, match="parameter `a` not provided"):
        lib.older()
    with pytest.raises(og.ParameterError, match="not I32"):
        lib.older("x")
    with pytest.raises(AttributeError, match="no query `oldr`"):
        lib.oldr  # noqa: B018
    with pytest.raises(og.NotFound, match="no query `nope`"):
        lib["nope"]
    with pytest.raises(og.NotFound, match=r"no file .*nope\.gq"):
        g.queries("nope.gq")
    (tmp_path / "bad.gq").write_text("query q( {")
    with pytest.raises(og.ParseError, match="q"):
        g.queries(tmp_path / "bad.gq")
    (tmp_path / "odd.gq").write_bytes(b"\xff")
    with pytest.raises(og.UsageError, match="not UTF-8"):
        g.queries(tmp_path / "odd.gq")


def test_they_go_to_a_branch_or_to_the_past(g: og.Graph, tmp_path: Path) -> None:
    before = g.commits()[0]
    g.branches.create("work")
    work = g.queries(tmp_path / "lib.gq", branch="work", actor="ada")
    assert work.add("Eve").actor == "ada"
    assert g.get("Person", "Eve") is None
    assert g.get("Person", "Eve", branch="work") is not None
    past = g.queries(tmp_path / "lib.gq", at=before)
    assert len(past.older(0)) == 2
    with pytest.raises(og.UsageError, match="`add` changes the graph"):
        past.add("Fay")


def test_a_stream_gives_batches_or_rows(g: og.Graph) -> None:
    query = "query q() { match { $p: Person } return { $p.name, $p.age, $p.born } order { $p.name } }"
    g.put("Person", {"name": "Cy", "born": "2024-05-01"})
    assert [row for batch in g.stream(query) for row in batch.to_pylist()] == g.query(query).rows
    stream = g.stream(query)
    assert list(stream.rows()) == g.query(query).rows
    assert list(stream) == []
    assert stream.columns == ["p.name", "p.age", "p.born"]
    assert stream.graph_commit_id == g.commits()[0].id
    assert repr(stream) == "Stream of q: p.name, p.age, p.born"


def test_networkx_has_the_nodes_and_edges(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    made = g.to_networkx()
    assert dict(made.nodes)["Person", "Ada"]["age"] == 36
    (edge,) = made.edges(keys=True)
    assert edge[:2] == (("Person", "Ada"), ("Person", "Bob"))
    assert edge[2][0] == "Knows"
    assert list(g.to_networkx(types="Person").edges) == []
    assert list(g.to_networkx(types=["Knows"]).nodes) == []  # no end of its edges was asked for
    behind = g.subgraph("query q() { match { $a: Person  $a knows $b } return { $a.name } }").to_networkx()
    assert (len(behind.nodes), len(behind.edges)) == (2, 1)
    with pytest.raises(og.NotFound, match="no type `Persn`"):
        g.to_networkx(types="Persn")
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(og.UsageError, match="networkx is not installed"):
        g.to_networkx()
