"""Every object at every argument of every public call: a result, a GraphError or a TypeError, and after an error no change."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.hostile import objects, state

import omnigraph as og
from omnigraph.embedding import MockEmbedder
from omnigraph.engine.analytics import Analytics, AnalyticsResult
from omnigraph.engine.branches import Branches
from omnigraph.engine.calls.guard import GUARDED, guarded
from omnigraph.engine.execution.result import Result
from omnigraph.engine.graph import Graph
from omnigraph.engine.session import Session
from omnigraph.engine.tags import Tags
from omnigraph.engine.transaction import Transaction
from omnigraph.visualization.visualization import Visualization

SCHEMA = """
node Person { name: String @key  age: I32?  rank: F64?  note: String?  near: Vector(2)? @embed(note, model="m")  photo: Blob? }
edge Knows: Person -> Person
"""
ALL = "query all($n: String?) { match { $p: Person } return { $p.name, $p.age } }"
ADD = 'query add($n: String?) { insert Person { name: "new", note: $n } }'
RECORDS = [
    {"type": "Person", "data": {"name": "Ada", "age": 36, "note": "x"}},
    {"type": "Person", "data": {"name": "Bob", "photo": "base64:eHg="}},
    {"edge": "Knows", "from": "Ada", "to": "Bob"},
]


class World:
    """A small graph, and how each public call is made so that it succeeds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0
        self.graph = og.init(folder / "g", SCHEMA, durability="os", embedder=MockEmbedder("m"))
        self.graph.load(RECORDS)
        self.graph.branches.create("work")
        self.graph.tags.create("v1", "main")
        self.commit = self.graph.commits()[0]
        self.result = self.graph.query(ALL)
        (folder / "lib.gq").write_text(ALL)
        (folder / "lib.jsonl").write_text(json.dumps(RECORDS[0]))
        self.measured = self.graph.analytics.degree()
        self.picture = og.view(self.graph)
        self.session = self.graph.session()
        self.open_transaction = self.graph.transaction("work").__enter__()

    def fresh(self) -> str:
        self.number += 1
        return f"n{self.number}"

    def call(self, function: Any) -> tuple[Callable[..., object], dict[str, object]]:
        """A public call, and arguments with which it succeeds."""
        return self.calls()[function]

    def calls(self) -> dict[Any, tuple[Callable[..., object], dict[str, object]]]:
        g = self.graph
        return {
            og.init: (og.init, {"path": self.folder / self.fresh(), "schema": SCHEMA}),
            og.infer_schema: (og.infer_schema, {"source": self.folder / "lib.jsonl"}),
            og.open: (og.open, {"path": self.folder / "g"}),
            og.view: (og.view, {"graph": g}),
            Graph.query: (g.query, {"source": ALL}),
            Graph.session: (g.session, {}),
            Graph.stream: (lambda *a, **k: list(g.stream(*a, **k)), {"source": ALL}),
            Graph.explain: (g.explain, {"source": ALL}),
            Graph.get: (g.get, {"type": "Person", "key": "Ada"}),
            Graph.neighbors: (g.neighbors, {"type": "Person", "key": "Ada"}),
            Graph.invoke: (g.invoke, {"name": "friends"}),
            Graph.stored_queries: (g.stored_queries, {}),
            Graph.put: (g.put, {"type": "Person", "values": {"name": "Ada", "age": 36, "note": "x"}, "branch": "work"}),
            Graph.put_edge: (g.put_edge, {"type": "Knows", "from_": "Ada", "to": "Bob", "branch": "work"}),
            Graph.transaction: (g.transaction, {}),
            Graph.queries: (g.queries, {"path": self.folder / "lib.gq"}),
            Graph.to_networkx: (g.to_networkx, {}),
            Transaction.mutate: (self.open_transaction.mutate, {"source": ADD}),
            Transaction.put: (self.open_transaction.put, {"type": "Person", "values": {"name": "Ada"}}),
            Transaction.put_edge: (self.open_transaction.put_edge, {"type": "Knows", "from_": "Ada", "to": "Bob"}),
            Transaction.query: (self.open_transaction.query, {"source": ALL}),
            Transaction.get: (self.open_transaction.get, {"type": "Person", "key": "Ada"}),
            Transaction.neighbors: (self.open_transaction.neighbors, {"type": "Person", "key": "Ada"}),
            Graph.mutate: (g.mutate, {"source": 'query q() { delete Person where name = "nobody" }'}),
            Graph.load: (g.load, {"source": [RECORDS[0]], "branch": "work", "engine": "local"}),
            Graph.delete: (g.delete, {"source": {"Person": ["nobody"]}, "branch": "work", "engine": "local"}),
            Graph.export: (g.export, {"target": io.BytesIO()}),
            Graph.plan_schema: (g.plan_schema, {"schema": SCHEMA}),
            Graph.apply_schema: (g.apply_schema, {"schema": SCHEMA, "branch": "work"}),
            Graph.schema: (g.schema, {}),
            Graph.optimize: (g.optimize, {}),
            Graph.embed: (g.embed, {"branch": "work"}),
            Graph.cleanup: (g.cleanup, {}),
            Graph.verify: (g.verify, {}),
            Graph.stats: (g.stats, {}),
            Graph.subgraph: (g.subgraph, {"source": ALL}),
            Graph.commits: (g.commits, {}),
            Graph.commit: (g.commit, {"commit": "main"}),
            Graph.snapshot: (g.snapshot, {}),
            Graph.blob: (g.blob, {"entity": "node", "type": "Person", "id": "Bob", "property": "photo"}),
            Graph.history: (g.history, {"type": "Person", "key": "Ada"}),
            Graph.diff: (g.diff, {"before": "v1", "after": "main"}),
            Graph.changes: (g.changes, {"since": "beginning"}),
            Graph.commit_changes: (g.commit_changes, {"commit": self.commit}),
            Graph.baseline: (g.baseline, {}),
            Graph.merge: (g.merge, {"source": "work"}),
            Graph.revert: (g.revert, {"commit": self.commit, "dry_run": True}),
            Session.query: (self.session.query, {"source": ALL}),
            Branches.create: (g.branches.create, {"name": self.fresh()}),
            Branches.get: (g.branches.get, {"name": "work"}),
            Branches.list: (g.branches.list, {}),
            Branches.delete: (g.branches.delete, {"name": "nope"}),
            Tags.create: (g.tags.create, {"name": self.fresh(), "commit": "main"}),
            Tags.list: (g.tags.list, {}),
            Tags.deleted: (g.tags.deleted, {}),
            Tags.delete: (g.tags.delete, {"name": "nope"}),
            Analytics.degree: (g.analytics.degree, {}),
            Analytics.pagerank: (g.analytics.pagerank, {}),
            Analytics.components: (g.analytics.components, {}),
            Analytics.label_propagation: (g.analytics.label_propagation, {}),
            Analytics.triangles: (g.analytics.triangles, {}),
            Analytics.k_hop: (g.analytics.k_hop, {"sources": "Ada", "k": 1}),
            Analytics.shortest_paths: (g.analytics.shortest_paths, {"sources": ["Ada"]}),
            Result.to_json: (self.result.to_json, {}),
            Result.to_table: (self.result.to_table, {}),
            AnalyticsResult.top: (self.measured.top, {}),
            Visualization.save: (self.picture.save, {"path": self.folder / "x.html"}),
        }


FREE = {
    Graph.close: "takes nothing",
    Visualization.open: "starts a browser; saves by `save`",
    Result.one: "takes nothing",
    Result.to_arrow: "takes nothing",
    Result.to_pandas: "takes nothing",
    Result.to_polars: "takes nothing",
    Result.to_dict: "takes nothing",
    Result.json_columns: "takes nothing",
    Result.json_rows: "takes nothing",
}
"""Public methods that are not called here, and why."""


def public() -> list[Any]:
    """Every public call, found by looking."""
    found: list[Any] = [og.init, og.open, og.view]
    for cls in (Graph, Session, Transaction, Branches, Tags, Analytics, Result, AnalyticsResult, Visualization):
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_") and member not in found:
                found.append(member)
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("door"))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that are taken as paths are paths in a folder that goes."""
    below = tmp_path / "a" / "b" / "c"  # so that `../../..` is that folder, not all there is
    below.mkdir(parents=True)
    monkeypatch.chdir(below)


def test_every_public_call_is_guarded_and_tried(world: World) -> None:
    calls = world.calls()
    assert [f.__qualname__ for f in public() if f not in calls and f not in FREE] == []
    for function in calls:
        checks = getattr(function, GUARDED, None)
        assert checks is not None, f"{function.__qualname__} has no door"
        named = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        assert [n for n in named if n != "self" and n not in checks] == []


def test_every_entry_of_spark_is_guarded() -> None:
    from omnigraph import spark as ogs

    for name in ogs.__all__:
        function = getattr(ogs, name)
        if inspect.isclass(function):  # made by a guarded function, and used by its methods
            methods = [m for n, m in inspect.getmembers(function, inspect.isfunction) if not n.startswith("_")]
            assert [m.__qualname__ for m in methods if not hasattr(m, GUARDED)] == []
            continue
        parameters = inspect.signature(function).parameters.values()
        named = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
        assert [n for n in named if n not in getattr(function, GUARDED, {})] == []


def test_a_parameter_that_nobody_checks_is_noticed_at_once() -> None:
    with pytest.raises(TypeError, match="nobody checks `surprise`"):

        @guarded()
        def call(surprise: int) -> None: ...


CALLED_BACK = {"progress", "engine", "cancel", "embedder", "target"}
"""Arguments that are called: what they raise is theirs."""


@pytest.mark.parametrize("function", [f for f in public() if f not in FREE], ids=lambda f: f.__qualname__)
def test_whatever_is_given(world: World, function: Any) -> None:
    """What a check refuses never gets further than the door; what it lets in is tried."""
    unexpected = []
    for parameter, check in getattr(function, GUARDED).items():
        called = False
        for kind, value in objects(world.commit).items():
            try:
                check(parameter, value)
                refused = False
            except og.UsageError as error:
                str(error), repr(error)
                refused = True
            if refused and called:
                continue  # one call shows that the check stands in front
            called = called or refused
            value = objects(world.commit)[kind]  # anew: a generator is read once
            call, good = world.call(function)
            before = state(world.graph)
            try:
                call(**{**good, parameter: value})
                assert not refused
            except (og.GraphError, TypeError) as error:
                assert state(world.graph) == before, f"{parameter}={kind} was refused and changed the graph"
                if isinstance(error, og.UnexpectedError | TypeError) and parameter not in CALLED_BACK:
                    unexpected.append(f"{parameter}={kind}: {type(error).__name__} {error}")
            except Exception as error:
                if parameter not in CALLED_BACK or "hostile" not in str(error):
                    unexpected.append(f"{parameter}={kind}: {type(error).__name__} {error}")
    assert unexpected == []


def test_the_graph_is_as_good_as_before(world: World) -> None:
    """After everything above: another handle opens it, reads every commit, and finds nothing wrong."""
    again = og.open(world.folder / "g", read_only=True)
    assert again.verify(deep=True).ok
    for branch in again.branches.list():
        for commit in again.commits(branch):
            assert commit.actor is None or isinstance(commit.actor, str)
            again.snapshot(at=commit)


def files(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file())


def test_a_graph_opened_read_only_refuses_before_it_writes_anything(tmp_path: Path) -> None:
    World(tmp_path).graph.close()
    graph = og.open(tmp_path / "g", read_only=True, embedder=MockEmbedder("m"), save_from=0)
    before = files(tmp_path)
    asked: list[str] = []

    class Asked(MockEmbedder):
        def embed(self, texts: object, dimension: int) -> Any:
            asked.append("embedder")
            return super().embed(texts, dimension)  # type: ignore[arg-type]

    quarantine = tmp_path / "bad.jsonl"
    for write in (
        lambda: graph.mutate(ADD),
        lambda: graph.put("Person", {"name": "new"}),
        lambda: graph.put_edge("Knows", "Ada", "Bob"),
        lambda: graph.transaction().__enter__(),
        lambda: graph.load(RECORDS, quarantine=quarantine),
        lambda: graph.load([{"type": "Person", "data": {"name": 7}}], quarantine=quarantine),
        lambda: graph.load(RECORDS, branch="new", from_="main"),
        lambda: graph.load(tmp_path / "missing.jsonl"),
        lambda: graph.apply_schema("node Other { name: String @key }"),
        lambda: graph.optimize(),
        lambda: graph.embed(embedder=Asked("m")),
        lambda: graph.cleanup(dry_run=False),
        lambda: graph.merge("work"),
        lambda: graph.revert("main"),
        lambda: graph.branches.create("new"),
        lambda: graph.branches.delete("work"),
        lambda: graph.tags.create("new", "main"),
        lambda: graph.tags.delete("v1"),
        lambda: graph.analytics.pagerank(write_to="rank"),
        lambda: graph.analytics.pagerank(at="v1", write_to="rank", onto="work"),
    ):
        with pytest.raises(og.UsageError, match="read-only"):
            write()
        assert files(tmp_path) == before
    graph.query(ALL)
    graph.cleanup()
    graph.verify(deep=True)
    graph.merge("work", dry_run=True)
    graph.close()
    assert files(tmp_path) == before
    assert asked == []


def test_states_may_be_given_as_they_were_received(world: World) -> None:
    g, commit = world.graph, world.commit
    tag = next(t for t in g.tags.list() if t.name == "v1")
    assert g.query(ALL, at=commit).graph_commit_id == commit.id == g.query(ALL, at=tag).graph_commit_id
    assert g.commit(commit) == commit
    assert list(g.diff(commit, tag)) == []
    assert g.branches.create(" trimmed ", from_=commit).branch == "trimmed"
    assert g.query(ALL, branch="  trimmed\n").branch == "trimmed"
    assert g.mutate(ADD, branch=" trimmed", if_commit=commit).branch == "trimmed"
    with pytest.raises(og.PreconditionFailed):
        g.mutate(ADD, branch="trimmed", if_commit=commit)
    g.branches.delete("trimmed ")
    (world.folder / "s.pg").write_text(SCHEMA)
    assert og.init(world.folder / "by-path", world.folder / "s.pg").schema() == SCHEMA


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_asks_to_stop_is_heard(world: World, stop: type[BaseException]) -> None:
    def progress(_: object) -> None:
        raise stop

    with pytest.raises(stop):
        world.graph.load(RECORDS, branch="work", progress=progress)


def test_what_a_function_of_theirs_raises_stays_what_it_is(world: World) -> None:
    class Mine(Exception): ...

    def progress(_: object) -> None:
        raise Mine

    with pytest.raises(Mine):
        world.graph.load(RECORDS, branch="work", progress=progress)
