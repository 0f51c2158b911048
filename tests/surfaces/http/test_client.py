"""The remote graph gives what the open graph gives: the same values, the same errors."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.http.conftest import TOKENS, Running, people, serving

import omnigraph as og
from omnigraph.client.graph import RemoteGraph

ALL = "query all() { match { $p: Person } return { $p.name, $p.age, $p.day, $p.seen, $p.score } order { $p.name asc } }"
ADD = "query add($n: String, $d: Date?) { insert Person { name: $n, day: $d } }"


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[og.Graph, RemoteGraph]]:
    """One graph, open here and behind a server."""
    where = people(tmp_path)
    with serving(where) as running, og.connect(running.url, graph="people", token=TOKENS["ada"]) as remote:
        yield og.open(where), remote


def test_what_is_read_and_written_is_the_same(both: tuple[og.Graph, RemoteGraph]) -> None:
    here, there = both
    assert there.query(ALL).rows == here.query(ALL).rows
    assert there.query(ALL).to_arrow().schema == here.query(ALL).to_arrow().schema
    there.branches.create("agent")
    receipt = there.mutate(ADD, {"n": "Eve", "d": date(2024, 5, 6)}, branch="agent")
    assert isinstance(receipt, og.Receipt)
    assert receipt.commit is not None
    assert (receipt.actor, receipt.commit) == ("ada", here_commit(here, receipt.commit.id))
    assert there.commits("agent") == [here_commit(here, c.id) for c in here.commits("agent")]
    assert there.commit_changes(receipt.commit).to_dict() == here.commit_changes(receipt.commit).to_dict()
    assert there.merge("agent").outcome == "fast_forward"
    assert there.query(ALL, at=receipt.commit).rows == here.query(ALL).rows
    loaded = there.load([{"type": "Person", "data": {"name": "Kim"}}])
    assert (loaded.nodes_loaded, loaded.changed) == ({"Person": 1}, True)
    there.load([{"edge": "Knows", "from": "Kim", "to": "Bob"}])
    gone = there.delete({"Person": ["Kim", "nobody"]})
    assert (gone.deleted, gone.cascaded, gone.missing) == ({"Person": 1}, {"Knows": 1}, {"Person": 1})
    there.load([{"type": "Person", "data": {"name": "Kim"}}])
    sink = io.BytesIO()
    there.export(sink)
    own = io.BytesIO()
    here.export(own)
    assert sink.getvalue() == own.getvalue()
    assert there.blob("node", "Person", "Bob", "photo").data == b"hello"
    assert there.schema() == here.schema()
    assert there.snapshot().to_dict() == here.snapshot().to_dict()
    base = there.baseline()
    assert list(base.records()) == list(here.baseline().records())
    there.mutate(ADD, {"n": "Zoe"})
    page = there.changes(base.cursor)
    assert [change.id for change in page.changes] == ["Zoe"]
    assert page.to_dict()["blocks"] == here.changes(base.cursor).to_dict()["blocks"]


def here_commit(graph: og.Graph, commit: str) -> og.Commit:
    """A commit without what only storage knows of it."""
    from dataclasses import replace

    return replace(graph.commit(commit), changes=(), schema="", logical=None)


def wrong_query(g: og.Graph | RemoteGraph) -> object:
    return g.query("query q() { match { $p: Persn } return { $p.name } }")


def wrong_branch(g: og.Graph | RemoteGraph) -> object:
    return g.query(ALL, branch="none")


def wrong_condition(g: og.Graph | RemoteGraph) -> object:
    return g.mutate(ADD, {"n": "x"}, if_commit="01ARZ3NDEKTSV4RRFFQ69G5FAV")


def wrong_parameter(g: og.Graph | RemoteGraph) -> object:
    return g.query("query q($n: String) { match { $p: Person { name: $n } } return { $p.name } }", {"n": 5})


def wrong_record(g: og.Graph | RemoteGraph) -> object:
    return g.load([{"type": "Person", "data": {"name": "x", "age": "old"}}])


def repeated_key(g: og.Graph | RemoteGraph) -> object:
    return g.load([{"type": "Person", "data": {"name": "Ada"}}], mode="append")


def missing_entity(g: og.Graph | RemoteGraph) -> object:
    return g.load([{"type": "Person", "data": {"name": "nobody"}}], mode="update")


def wrong_cursor(g: og.Graph | RemoteGraph) -> object:
    return g.changes("nonsense")


def taken_name(g: og.Graph | RemoteGraph) -> object:
    g.branches.create("taken")
    return g.branches.create("taken")


@pytest.mark.parametrize(
    "call",
    [wrong_query, wrong_branch, wrong_condition, wrong_parameter, wrong_record, repeated_key, missing_entity, wrong_cursor],
)
def test_errors_are_the_same(both: tuple[og.Graph, RemoteGraph], call: object) -> None:
    raised = []
    for graph in both:
        with pytest.raises(og.GraphError) as caught:
            call(graph)  # type: ignore[operator]
        raised.append(caught.value)
    here, there = raised
    assert type(there) is type(here)
    assert there.retryable == here.retryable
    for name in ("expected", "actual"):
        assert getattr(there, name, None) == getattr(here, name, None)
    rules = [[(v.rule, v.type, v.entity, v.line) for v in getattr(error, "violations", ())] for error in raised]
    assert rules[0] == rules[1]


def test_tokens_and_servers_that_are_wrong(server: Running) -> None:
    with og.connect(server.url, graph="people", token="wrong") as g, pytest.raises(og.Forbidden, match="invalid bearer token"):
        g.query(ALL)
    with og.connect(server.url, graph="nobody", token=TOKENS["ada"]) as g, pytest.raises(og.NotFound):
        g.query(ALL)
    with og.connect("http://127.0.0.1:9", graph="people") as g, pytest.raises(og.StorageError) as caught:
        g.query(ALL)
    assert caught.value.retryable
    with pytest.raises(og.UsageError):
        og.connect("127.0.0.1:8080", graph="people")


def test_changes_of_the_schema_come_along(both: tuple[og.Graph, RemoteGraph]) -> None:
    here, there = both
    since = there.changes().next
    here.apply_schema(here.schema().replace("age: I32?", "age: I32?  colour: String?"))
    [block] = there.changes(since).blocks
    assert block.schema is not None
    assert block.to_dict() == here.changes(since).blocks[0].to_dict()


def test_what_a_server_cannot_take_is_said_before_it_is_sent(both: tuple[og.Graph, RemoteGraph], tmp_path: Path) -> None:
    _, there = both
    wrong: list[Any] = [{"Nobody": []}, [1], 5]
    for source in wrong:
        with pytest.raises(og.UsageError):
            there.load(source)
    with pytest.raises(og.ValidationError, match="not object"):
        there.load([{"type": "Person", "data": {"name": object()}}])
    with pytest.raises(og.NotFound):
        there.load(tmp_path / "none.jsonl")
    there.load([{"type": "Person", "data": {"name": "D", "day": date(2024, 1, 2), "photo": b"x"}}])
    assert there.query(ALL).rows[-1]["p.day"] == date(2024, 1, 2)
    assert repr(there.branches) == "1 branch: main"
    there.close()
    with pytest.raises(og.UsageError, match="closed"):
        there.query(ALL)
    with pytest.raises(og.UsageError, match="ASCII"):
        og.connect("http://127.0.0.1:9", graph="g", token="é")


def test_hints_are_in_the_words_of_python(both: tuple[og.Graph, RemoteGraph]) -> None:
    _, there = both
    with pytest.raises(og.TypeCheckError) as raised:
        wrong_query(there)
    assert "GET" not in raised.value.hint


def test_single_entities(both: tuple[og.Graph, RemoteGraph]) -> None:
    here, there = both
    there.put("Person", {"name": "Pat", "day": date(2024, 1, 2)})
    pat = there.get("Person", "Pat")
    assert pat is not None
    assert (pat, pat.properties) == (here.get("Person", "Pat"), here.get("Person", id="Pat").properties)  # type: ignore[union-attr]
    there.put_edge("Knows", pat, "Ada", {"since": date(2020, 2, 3)})
    assert there.neighbors("Person", pat) == here.neighbors("Person", "Pat")
    assert there.get("Person", "Nobody") is None
    with pytest.raises(og.ScopeError, match="exports JSON lines"):
        there.export("tables", format="parquet")
    with pytest.raises(og.ScopeError):
        there.transaction()
    with pytest.raises(og.ScopeError):
        there.put("Person", {"name": "x"}, actor="eve")
    with pytest.raises(og.ScopeError):
        there.analytics  # noqa: B018


def test_an_edge_is_patched(tmp_path: Path) -> None:
    schema = "node Person { id_no: I64 @key }  edge Knows: Person -> Person @key(src, dst) { weight: F64?  note: String? }"
    with og.init(tmp_path / "people", schema=schema, durability="os") as graph:
        graph.load([{"type": "Person", "data": {"id_no": number}} for number in (1, 2)])
    with serving(tmp_path / "people") as running, og.connect(running.url, graph="people", token=TOKENS["ada"]) as there:
        there.put_edge("Knows", 1, 2, {"weight": 1.0, "note": "x"})
        assert there.put_edge("Knows", 1, 2, {"weight": 2.0}, patch=True).affected_edges == 1
        assert there.get("Knows", (1, 2)).properties == {"weight": 2.0, "note": "x"}  # type: ignore[union-attr]
        there.load([{"edge": "Knows", "from": 2, "to": 1}])
        assert there.delete({"Knows": [{"from": 2, "to": 1}, (1, 2)]}).deleted == {"Knows": 2}
        assert there.delete({"Person": [there.get("Person", 1)]}).deleted == {"Person": 1}


def test_times_and_the_history_of_an_entity(both: tuple[og.Graph, RemoteGraph]) -> None:
    here, there = both
    grow = "query grow($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
    seen = there.query("query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }").rows
    name = seen[0]["p.name"]
    then = datetime.now(UTC)
    here.branches.create("later")
    for age in (70, 71):
        there.mutate(grow, {"n": name, "a": age})
        there.mutate(grow, {"n": name, "a": age + 100}, branch="later")
    states: list[dict[str, Any]] = [{"at": then}, {"at": then.isoformat()}, {"at": then, "branch": "later"}]
    for at in states:
        assert there.query("query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }", **at).rows == seen
    found = there.history("Person", name)
    assert found.to_dict() == here.history("Person", name).to_dict()
    assert [r.op for r in found][:2] == ["update", "update"]
    assert [r.after.properties["age"] for r in there.history("Person", name, branch="later", limit=2)] == [171, 170]  # type: ignore[union-attr]
    with pytest.raises(og.NotFound, match="no type"):
        there.history("Persn", name)
    there.merge("later", resolve="theirs")
    found = there.history("Person", name)
    assert found.to_dict() == here.history("Person", name).to_dict()
    assert {c.branch for c in found[0].origins} == {"later"}
    with pytest.raises(og.NotFound, match="no graph at"):
        there.query(ALL, at="1999-01-01")


READS: dict[str, Callable[[RemoteGraph], object]] = {
    "query": lambda g: g.query("query q() { match { $p: P } return { $p.k } }"),
    "get": lambda g: g.get("P", "a"),
    "neighbors": lambda g: g.neighbors("P", "a"),
    "stats": lambda g: g.stats(),
}


@pytest.mark.parametrize("read", READS)
def test_reads_do_not_wait_for_ever(read: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        graph = og.connect(f"http://127.0.0.1:{silent.getsockname()[1]}", graph="g", token="t", timeout=0.2)
        begun = time.monotonic()
        with pytest.raises(og.StorageError, match="did not answer in time") as caught:
            READS[read](graph)
        assert time.monotonic() - begun < 10
        assert caught.value.retryable


def test_what_was_not_sent_did_not_happen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    graph = og.connect(f"http://127.0.0.1:{port}", graph="g", token="t", timeout=1)
    with pytest.raises(og.StorageError, match="cannot be reached") as caught:
        graph.put("P", {"k": "a"})
    assert caught.value.retryable
    assert "may have been made" not in caught.value.message
