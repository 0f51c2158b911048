"""The Python API as people meet it."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from tests.engine.graphs import Data, add, make_graph

import omnigraph as og
from omnigraph.engine.planning import prepared

SCHEMA = """
node Person { name: String @key  age: I32?  born: Date?  seen: DateTime?  tags: [String]?  score: F64?  taste: Vector(2)? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=dt.UTC)
DATA: Data = {
    "Person": [
        {
            "name": "Ada",
            "age": 36,
            "born": dt.date(1815, 12, 10),
            "seen": MOMENT,
            "tags": ["x", "y"],
            "score": 0.5,
            "taste": [1, 2],
        },
        {"name": "Bob"},
    ],
    "Company": [{"name": "Acme"}],
    "Knows": [{"src": "Ada", "dst": "Bob", "since": dt.date(2020, 5, 1)}],
    "WorksAt": [{"src": "Ada", "dst": "Acme"}],
}
EVERYTHING = """query everything() { match { $p: Person }
    return { $p.name, $p.age, $p.born, $p.seen, $p.tags, $p.score, $p.taste } order { $p.name } }"""
FRIENDS = "query friends($n: String) { match { $p: Person { name: $n }  $p knows $f } return { $f.name, $f.age } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return make_graph(tmp_path, SCHEMA, DATA)


def test_rows_are_plain_python(graph: og.Graph) -> None:
    result = graph.query(EVERYTHING)
    assert result.columns == ["p.name", "p.age", "p.born", "p.seen", "p.tags", "p.score", "p.taste"]
    ada, bob = result.rows
    assert ada == {
        "p.name": "Ada",
        "p.age": 36,
        "p.born": dt.date(1815, 12, 10),
        "p.seen": MOMENT,
        "p.tags": ["x", "y"],
        "p.score": 0.5,
        "p.taste": [1.0, 2.0],
    }
    assert ada["p.seen"].tzinfo is not None
    assert set(bob.values()) == {"Bob", None}
    assert (len(result), result.row_count, list(result), result[0]) == (2, 2, result.rows, ada)


def test_a_result_in_every_form(graph: og.Graph) -> None:
    result = graph.query(EVERYTHING)
    table = result.to_arrow()
    assert table.column_names == result.columns
    assert table["p.taste"].type == pa.list_(pa.float32(), 2)
    assert table.to_pylist() == result.rows
    assert list(result.to_pandas()["p.name"]) == ["Ada", "Bob"]
    assert result.to_polars()["p.age"].to_list() == [36, None]
    wire = json.loads(result.to_json())
    assert wire["rows"][0]["p.born"] == "1815-12-10"
    assert wire["rows"][0]["p.seen"] == "2024-01-02T03:04:05.678Z"
    assert wire["target"] == {"branch": "main", "snapshot": None}
    assert wire["graph_commit_id"] == result.graph_commit_id == graph.commits()[0].id
    assert (wire["query_name"], wire["row_count"], wire["columns"]) == ("everything", 2, result.columns)


def test_a_result_for_people(graph: og.Graph) -> None:
    friends = graph.query(FRIENDS, {"n": "Ada"})
    assert repr(friends) == "f.name  f.age\n──────  ─────\nBob         ·\n1 row"
    assert "<td>Bob</td>" in friends._repr_html_()
    many = make_graph(Path(graph._store.place.uri).parent / "many", SCHEMA, {"Person": [{"name": f"{i:03}"} for i in range(80)]})
    shown = repr(many.query("query q() { match { $p: Person } return { $p.name } }"))
    assert shown.endswith("80 rows, the first 50 shown")


def test_an_empty_result_keeps_its_columns(graph: og.Graph) -> None:
    nobody = graph.query(FRIENDS, {"n": "Bob"})
    assert (nobody.columns, nobody.rows, nobody.one()) == (["f.name", "f.age"], [], None)
    assert nobody.to_arrow().schema.types == [pa.string(), pa.int32()]


def test_the_past_a_tag_and_a_branch(graph: og.Graph) -> None:
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    before = graph.query(count).graph_commit_id
    graph.tags.create("v1", before)
    graph.branches.create("side")
    graph.mutate('query a() { insert Person { name: "Cy" } }')
    graph.mutate('query a() { insert Person { name: "Dan" } insert Person { name: "Eve" } }', branch="side")
    answers = [
        graph.query(count, branch=b, at=a).rows[0]["n"] for b, a in ((None, None), ("side", None), (None, before), (None, "v1"))
    ]
    assert answers == [3, 4, 2, 2]
    with pytest.raises(og.UsageError, match="not both"):
        graph.query(count, branch="side", at=before)


def test_a_session_reads_one_commit(graph: og.Graph) -> None:
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    with graph.session() as session:
        first = session.query(count)
        graph.mutate('query a() { insert Person { name: "Cy" } }')
        assert session.query(count).rows == first.rows == [{"n": 2}]
        assert session.graph_commit_id == first.graph_commit_id
    assert graph.query(count).rows == [{"n": 3}]


def test_streaming_gives_arrow_batches(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"n{i}"} for i in range(5_000)]})
    batches = graph.stream("query q() { match { $p: Person } return { $p.name } limit 3000 }")
    first = next(batches)
    assert first.schema.names == ["p.name"]
    assert first.num_rows + sum(b.num_rows for b in batches) == 3_000


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda g: g.query("query q() { match { $p: Persn } return { $p.name } }"), og.TypeCheckError, "Person"),
        (lambda g: g.query("query q() { match { $p: Person } return { $p.nam } }"), og.TypeCheckError, "name"),
        (lambda g: g.query("query q() { match"), og.ParseError, ""),
        (lambda g: g.query(FRIENDS), og.ParameterError, "`n` not provided"),
        (lambda g: g.query(FRIENDS, {"n": 7}), og.ParameterError, "`n` must be String, not an integer"),
        (lambda g: g.query(FRIENDS, {"n": None}), og.ParameterError, "cannot be null"),
        (lambda g: g.query(FRIENDS + EVERYTHING), og.UsageError, "several queries"),
        (lambda g: g.query(FRIENDS, name="frends"), og.NotFound, "no query `frends`"),
        (lambda g: g.query(FRIENDS, {"n": "Ada"}, branch="nowhere"), og.NotFound, "no branch `nowhere`"),
        (lambda g: g.query(FRIENDS, {"n": "Ada"}, at="01J00000000000000000000000"), og.HistoryReclaimed, "01J0"),
        (lambda g: g.query('query a() { insert Person { name: "x" } }'), og.UsageError, "changes the graph"),
        (lambda g: g.mutate(EVERYTHING), og.UsageError, "only reads"),
        (lambda g: g.query("query q($d: Date) { match { $p: Person { born: $d } } return { $p.name } }", {"d": "soon"}), og.ParameterError, "soon"),
    ],
    ids=lambda v: v.__name__ if isinstance(v, type) else None,
)  # fmt: skip
def test_bad_input_is_a_clear_error(graph: og.Graph, call: object, error: type[og.GraphError], says: str) -> None:
    with pytest.raises(error) as raised:
        call(graph)  # type: ignore[operator]
    assert says in str(raised.value)
    assert raised.value.code


def test_a_query_ends_when_its_time_is_up(graph: og.Graph) -> None:
    """Two thousand millions of combinations, which no machine counts in that time."""
    add(graph, {"Person": [{"name": f"n{i}", "age": i % 90} for i in range(2_000)]})
    slow = (
        "query q() { match { $a: Person  $b: Person  $c: Person  $a.age < $b.age  $b.age < $c.age } return { count($a) as n } }"
    )
    with pytest.raises(og.ResourceLimit, match=r"longer than 0\.05 s; it was in"):
        graph.query(slow, timeout=0.05)


def test_a_query_ends_when_it_needs_too_much_memory(graph: og.Graph) -> None:
    add(graph, {"Person": [{"name": f"n{i}"} for i in range(2_000)]})
    pairs = "query q() { match { $a: Person  $b: Person } return { $a.name, $b.name } order { $a.name } }"
    with pytest.raises(og.ResourceLimit, match=r"a cross product needs .* the query may use 1(\.00)? MB"):
        graph.query(pairs, memory_limit=1_000_000)


def test_a_query_can_be_cancelled(graph: og.Graph) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(og.QueryCancelled, match="cancelled while"):
        graph.query(EVERYTHING, cancel=stop)


def test_explain_shows_the_plan_and_what_it_did(graph: og.Graph) -> None:
    planned = graph.explain(FRIENDS, {"n": "Ada"})
    assert [line.text for line in planned.lines] == [
        "Return f.name, f.age",
        "Expand p -Knows-> f: Person",
        "Lookup p: Person by name = $n",
    ]
    assert all(line.rows is None for line in planned.lines)
    run = graph.explain(FRIENDS, {"n": "Ada"}, analyze=True)
    assert [line.rows for line in run.lines] == [1, 1, 1]
    assert run.lines[1].notes == ("adjacency",)
    assert graph.explain(FRIENDS, {"n": "Ada"}, analyze=True, traversal="btree").lines[1].notes == ("index",)
    data = json.loads(run.to_json())
    assert data["plan"][1]["used"] == ["adjacency"]
    assert data["milliseconds"] > 0
    assert "Lookup p: Person by name = $n" in str(run)


def test_stats_count_types_and_memory(graph: og.Graph) -> None:
    graph.query(FRIENDS, {"n": "Ada"})
    stats = graph.stats()
    assert {t.name: t.rows for t in stats.types} == {"Person": 2, "Company": 1, "Knows": 1, "WorksAt": 1}
    assert stats.memory.used > 0
    assert stats.prepared_queries == 1
    assert stats.to_dict()["memory"]["entries"] == stats.memory.entries


def test_a_prepared_query_is_parsed_once(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.query(FRIENDS, {"n": "Ada"})
    monkeypatch.setattr(prepared, "parse_queries", lambda source: pytest.fail("parsed again"))
    assert graph.query(FRIENDS, {"n": "Bob"}).rows == []


def test_opening_again_reads_the_same(graph: og.Graph) -> None:
    again = og.open(graph._store.place.uri, read_only=True)
    assert again.query(EVERYTHING).rows == graph.query(EVERYTHING).rows
    with pytest.raises(og.UsageError, match="read-only"):
        again.mutate('query a() { insert Person { name: "x" } }')


def test_maintenance_changes_no_answer(graph: og.Graph) -> None:
    for number in range(5):
        graph.mutate("query a($n: String) { insert Person { name: $n } }", {"n": f"n{number}"})
    before = graph.query(EVERYTHING).rows
    assert graph.optimize().commits
    assert graph.query(EVERYTHING).rows == before
    assert graph.verify().ok
    assert graph.cleanup(keep=1, older_than="0s").dry_run
    with pytest.raises(og.UsageError, match="not a span of time"):
        graph.cleanup(older_than="soon")


def test_a_result_is_a_sequence(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "seq", "node P { k: String @key }", durability="os")
    graph.load([{"type": "P", "data": {"k": k}} for k in "ab"])
    result = graph.query("query q() { match { $p: P } return { $p.k } order { $p.k } }")
    first, second = {"p.k": "a"}, {"p.k": "b"}
    assert (result[0], result[-1], result[1:], result[5:], result[::-1]) == (first, second, [second], [], [second, first])
    assert list(result) == [first, second] == list(reversed(result.rows))[::-1]
    assert first in result
    assert {"p.k": "c"} not in result
    for place in (2, 99, -3):
        with pytest.raises(og.NoSuchRow, match=f"2 rows, and none at {place}") as told:
            result[place]
        assert isinstance(told.value, IndexError)
    with pytest.raises(TypeError):
        result["p.k"]  # type: ignore[call-overload]


def test_what_is_shown_cannot_command_a_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202eevil\ud800"
    error = og.UsageError(f"no `{evil}` at all")
    assert str(error) == r"no `\x1b[2J\u202eevil\ud800` at all"
    assert str(error).encode()
    assert error.message == f"no `{evil}` at all"
    graph = og.init(tmp_path / "evil", f'node P @description("{evil[:-1]}") {{ k: String @key  t: String? }}', durability="os")
    graph.load([{"type": "P", "data": {"k": evil[:-1]}}])
    graph.branches.create("b")
    for branch in ("main", "b"):
        change = 'query q($t: String) { update P set { t: $t } where k != "" }'
        graph.mutate(change, {"t": branch + evil[:-1]}, branch=branch)
    ask = "query q() { match { $p: P } return { $p } }"
    changed = graph.plan_schema(graph.schema().replace("evil", "worse"))
    shown = [
        graph.query(ask),
        graph.commits()[0],
        graph.diff(graph.commits()[1], "main"),
        graph.diff(graph.commits()[1], "main").changes,
        graph.merge("b", dry_run=True),
        graph.explain('query q() { match { $p: P { k: "' + evil[:-1] + '" } } return { $p.k } }'),
        changed,
    ]
    for value in shown:
        for text in (repr(value), str(value)):
            assert all(c.isprintable() or c in "\n\t" for c in text), text


@pytest.mark.parametrize("nothing", ["", " \n\t ", "\r\n", "\ufeff"])
def test_a_schema_that_says_nothing_is_refused_at_every_door(tmp_path: Path, nothing: str) -> None:
    graph = og.init(tmp_path / "g", "node P { k: String @key }", durability="os")
    graph.load([{"type": "P", "data": {"k": "a"}}])
    before, file = graph.commits(), tmp_path / "empty.pg"
    file.write_text(nothing, encoding="utf-8")
    for schema in (nothing, file, str(file)):
        for call in (graph.apply_schema, graph.plan_schema, lambda s: og.init(tmp_path / "new", s)):
            with pytest.raises(og.UsageError, match="is empty"):
                call(schema)
    assert graph.commits() == before
    assert not (tmp_path / "new").exists()
    assert og.init(tmp_path / "comment", "// types will come").schema() == "// types will come"


def test_a_schema_without_types_drops_entities_only_if_that_is_said(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node P { k: String @key }  node Q { k: String @key }", durability="os")
    nothing = "// no types, on purpose"
    assert graph.plan_schema(nothing).steps
    graph.load([{"type": "P", "data": {"k": "a"}}])
    before = graph.commits()
    with pytest.raises(og.WouldEmpty, match=r"P \(1\)") as told:
        graph.apply_schema(nothing)
    assert told.value.types == {"P": 1}
    assert graph.commits() == before
    assert graph.apply_schema("node P { k: String @key }").applied, "one that drops some is as before"
    assert graph.apply_schema(nothing, allow_data_loss=True).applied
    assert og.init(tmp_path / "void", "node P { k: String @key }").apply_schema(nothing).applied, "there was nothing to lose"
