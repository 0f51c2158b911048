"""A transaction is one commit: it sees what it did, nobody else does before its end, and it is as strict as one mutation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.write import accumulated

SCHEMA = """
node Person { name: String @key  age: I32?  email: String? @unique }
node Note { text: String }
edge Knows: Person -> Person { n: I32? }
"""
NAMES = "query names() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
AGE = "query age($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
GONE = "query gone($n: String) { delete Person where name = $n }"
OLDER = "query older($a: I32) { update Person set { age: 1 } where age > $a }"
ADD = "query add($n: String) { insert Person { name: $n } }"


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os", save_from=None)
    graph.load([{"type": "Person", "data": {"name": name}} for name in ("Ada", "Bob")])
    return graph


def names(result: og.Result) -> list[str]:
    return [row["p.name"] for row in result]


def test_it_is_one_commit_that_nobody_sees_before(g: og.Graph) -> None:
    other, before = og.open(g.uri), len(g.commits())
    with g.transaction(actor="hr", message="hire") as t:
        assert t.put("Person", {"name": "Eve"}).affected_nodes == 1
        assert t.put_edge("Knows", "Eve", "Ada").affected_edges == 1
        t.mutate(AGE, {"n": "Eve", "a": 3})
        assert names(t.query(NAMES)) == ["Ada", "Bob", "Eve"]
        assert t.get("Person", "Eve")["age"] == 3  # type: ignore[index]
        assert [n.node.id for n in t.neighbors("Person", "Ada")] == ["Eve"]
        for handle in (g, other):
            assert names(handle.query(NAMES)) == ["Ada", "Bob"]
            assert handle.get("Person", "Eve") is None
        assert len(other.commits()) == before
    assert len(g.commits()) == before + 1
    commit = t.receipt.commit
    assert commit is not None
    assert (commit.actor, commit.message) == ("hr", "hire")
    assert (t.receipt.affected_nodes, t.receipt.affected_edges) == (1, 1)
    assert names(other.query(NAMES)) == ["Ada", "Bob", "Eve"]
    assert g.verify(deep=True, content=True).ok


def test_an_exception_discards_everything(g: og.Graph) -> None:
    before = g.commits()[0]
    with pytest.raises(ZeroDivisionError), g.transaction() as t:  # noqa: PT012
        t.put("Person", {"name": "Eve"})
        assert names(t.query(NAMES)) == ["Ada", "Bob", "Eve"]
        raise ZeroDivisionError
    assert g.commits()[0] == before
    assert repr(t) == "Transaction on main, discarded"
    for call in (lambda: t.receipt, lambda: t.put("Person", {"name": "x"}), lambda: t.query(NAMES), t.__enter__):
        with pytest.raises(og.UsageError):
            call()


def test_it_is_used_inside_of_its_block(g: og.Graph) -> None:
    with pytest.raises(og.UsageError, match="is not begun"):
        g.transaction().put("Person", {"name": "x"})


def test_nothing_done_is_no_commit(g: og.Graph) -> None:
    before = g.commits()[0]
    with g.transaction() as t:
        t.mutate(AGE, {"n": "Nobody", "a": 3})
        t.query(NAMES)
    assert t.receipt.commit is None
    assert g.commits()[0] == before


def test_what_came_and_went_leaves_no_trace(g: og.Graph) -> None:
    with g.transaction() as t:
        t.put("Person", {"name": "Eve"})
        t.put_edge("Knows", "Eve", "Ada")
        t.mutate(GONE, {"n": "Eve"})
        t.mutate(GONE, {"n": "Bob"})
        t.put("Person", {"name": "Bob", "age": 9})
    assert g.query(NAMES).rows == [{"p.name": "Ada", "p.age": None}, {"p.name": "Bob", "p.age": 9}]
    assert g.neighbors("Person", "Ada") == []
    assert g.verify(content=True).ok


def test_rules_hold_before_anything_is_read_and_in_the_end(g: og.Graph) -> None:
    with g.transaction() as t:  # the edge first: what it leads to comes before anybody looks
        t.put_edge("Knows", "Eve", "Ada")
        t.put("Person", {"name": "Eve"})
    before = g.commits()[0]
    with pytest.raises(og.ValidationError, match="`Zoe` not found"), g.transaction() as t:  # noqa: PT012
        t.put_edge("Knows", "Ada", "Zoe")
        t.query(NAMES)
    with pytest.raises(og.ValidationError, match="`Zoe` not found"), g.transaction() as t:
        t.put_edge("Knows", "Ada", "Zoe")
    with pytest.raises(og.ValidationError, match="email"), g.transaction() as t:  # noqa: PT012
        t.put("Person", {"name": "Ada", "email": "x"})
        t.put("Person", {"name": "Bob", "email": "x"})
    assert g.commits()[0] == before


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("range", {"name": "Eve", "age": 200}),
        ("required", {"name": "Eve"}),
        ("enum", {"name": "Eve", "age": 3, "mood": "odd"}),
        ("check", {"name": "Eve", "age": 3, "code": "x"}),
    ],
)
def test_a_row_that_breaks_a_rule_by_itself_is_refused_by_its_call(tmp_path: Path, rule: str, wrong: dict[str, object]) -> None:
    person = "name: String @key  age: I32  mood: enum(good, bad)?  code: String?"
    graph = og.init(tmp_path / "g", f'node Person {{ {person}  @range(age, 0..150)  @check(code, "^[0-9]+$") }}')
    columns = ", ".join(f"{name}: {value!r}" for name, value in wrong.items()).replace("'", '"')
    with graph.transaction() as t:
        t.put("Person", {"name": "Ada", "age": 36})
        calls: list[Callable[[], object]] = [
            lambda: t.put("Person", wrong),
            lambda: t.mutate(f"query q() {{ insert Person {{ {columns} }} }}"),
        ]
        for call in calls:
            with pytest.raises(og.GraphError) as refused:
                call()
            if isinstance(refused.value, og.ValidationError):
                assert [v.rule for v in refused.value.violations] == [rule]
            assert [row["p.name"] for row in t.query("query q() { match { $p: Person } return { $p.name } }")] == ["Ada"]
        with pytest.raises(og.ValidationError):
            t.put("Person", {"name": "Ada", "age": 151}, patch=True)
        with pytest.raises(og.ValidationError):
            t.mutate('query q() { update Person set { age: 151 } where name = "Ada" }')
        assert t.get("Person", "Ada")["age"] == 36  # type: ignore[index]
    assert (t.receipt.affected_nodes, graph.get("Person", "Ada")["age"]) == (1, 36)  # type: ignore[index]


def test_a_call_that_is_refused_changes_nothing_and_the_rest_goes_on(g: og.Graph) -> None:
    with g.transaction() as t:
        t.put("Person", {"name": "Eve"})
        with pytest.raises(og.UsageError):
            t.put("Person", {"nam": "x"})
        with pytest.raises(og.ParseError):
            t.mutate("query")
    assert names(g.query(NAMES)) == ["Ada", "Bob", "Eve"]


def test_values_may_change_places_under_a_unique_rule(g: og.Graph) -> None:
    g.put("Person", {"name": "Ada", "email": "x"})
    with g.transaction() as t:
        t.put("Person", {"name": "Ada"})
        t.put("Person", {"name": "Bob", "email": "x"})
    assert g.get("Person", "Bob")["email"] == "x"  # type: ignore[index]


def test_more_than_a_mutation_may_put_is_too_much(g: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulated, "MAX_MUTATION_ROWS", 3)
    with g.transaction() as t:
        for name in "abc":
            t.put("Person", {"name": name})
        with pytest.raises(og.ResourceLimit, match="at most 3 rows of Person"):
            t.put("Person", {"name": "d"})
    assert names(g.query(NAMES)) == ["Ada", "Bob", "a", "b", "c"]


def test_it_goes_on_from_the_commit_it_is_meant_for(g: og.Graph) -> None:
    seen = g.query(NAMES).graph_commit_id
    with g.transaction(if_commit=seen) as t:
        t.put("Person", {"name": "Eve"})
    with pytest.raises(og.PreconditionFailed), g.transaction(if_commit=seen):
        pass
    with pytest.raises(og.PreconditionFailed), g.transaction(if_commit=g.commits()[0]) as t:  # noqa: PT012
        og.open(g.uri).put("Person", {"name": "Fay"})
        t.put("Person", {"name": "Gus"})
    assert names(g.query(NAMES)) == ["Ada", "Bob", "Eve", "Fay"]


Do = Callable[[Any], object]
MEANWHILE: dict[str, tuple[Do, Do, type[og.GraphError] | None]] = {
    "inserts of others": (lambda t: t.put("Person", {"name": "Eve"}), lambda g: g.put("Person", {"name": "Fay"}), None),
    "the node that is updated": (
        lambda t: t.mutate(AGE, {"n": "Ada", "a": 3}),
        lambda g: g.put("Person", {"name": "Ada", "age": 4}),
        og.ReadSetChanged,
    ),
    "another node than the one that is updated": (
        lambda t: t.mutate(AGE, {"n": "Ada", "a": 3}),
        lambda g: g.put("Person", {"name": "Bob", "age": 4}),
        None,
    ),
    "the type that is searched": (
        lambda t: t.mutate(OLDER, {"a": 3}),
        lambda g: g.put("Person", {"name": "Fay", "age": 4}),
        og.ReadSetChanged,
    ),
    "an edge to the node that is deleted": (
        lambda t: t.mutate(GONE, {"n": "Ada"}),
        lambda g: g.put_edge("Knows", "Bob", "Ada"),
        og.ReadSetChanged,
    ),
    "the end of an edge": (
        lambda t: t.put_edge("Knows", "Ada", "Bob"),
        lambda g: g.mutate(GONE, {"n": "Bob"}),
        og.ValidationError,
    ),
    "what is only read": (lambda t: t.query(NAMES), lambda g: g.put("Person", {"name": "Ada", "age": 4}), None),
}


@pytest.mark.parametrize("read_first", [False, True], ids=["staged", "read"])
@pytest.mark.parametrize("what", MEANWHILE)
def test_others_are_in_the_way_as_they_are_of_one_mutation(g: og.Graph, what: str, read_first: bool) -> None:
    do, theirs, error = MEANWHILE[what]
    other = og.open(g.uri)

    def run() -> None:
        with g.transaction() as t:
            t.put("Note", {"text": "first"})
            if read_first:
                t.query(NAMES)
            do(t)
            if read_first:
                t.query(NAMES)
            theirs(other)

    if error is None:
        run()
        assert g.stats().types[0].name == "Note"
        assert g.stats().types[0].rows == 1
    else:
        with pytest.raises(error):
            run()
        assert g.stats().types[0].rows == 0
    assert g.verify(content=True).ok


NAME = st.sampled_from(["Ada", "Bob", "Cy", "Dee"])
STEP = st.one_of(
    st.tuples(st.just("put"), NAME, st.integers(0, 9)),
    st.tuples(st.just("patch"), NAME, st.integers(0, 9)),
    st.tuples(st.just("age"), NAME, st.integers(0, 9)),
    st.tuples(st.just("older"), st.just(""), st.integers(0, 9)),
    st.tuples(st.just("gone"), NAME, st.just(0)),
    st.tuples(st.just("edge"), NAME, st.integers(0, 9)),
    st.tuples(st.just("read"), st.just(""), st.just(0)),
)
EDGES = "query e() { match { $p: Person  $p knows $q } return { $p.name, $q.name } order { $p.name, $q.name } }"


def step(on: Any, what: str, name: str, number: int) -> None:
    match what:
        case "put":
            on.put("Person", {"name": name, "age": number})
        case "patch":
            on.put("Person", {"name": name, "age": number}, patch=True)
        case "age":
            on.mutate(AGE, {"n": name, "a": number})
        case "older":
            on.mutate(OLDER, {"a": number})
        case "gone":
            on.mutate(GONE, {"n": name})
        case "edge":
            ends = [row["p.name"] for row in on.query(NAMES)]
            if name in ends:
                on.put_edge("Knows", name, ends[number % len(ends)])
        case _:
            on.query(NAMES)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, min_size=1, max_size=8))
def test_a_transaction_does_what_its_steps_do_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    graph = og.init(folder / "g", SCHEMA, durability="os", save_from=None)
    graph.load([{"type": "Person", "data": {"name": name, "age": 5}} for name in ("Ada", "Bob")])
    graph.branches.create("singly")
    base = len(graph.commits())

    class Singly:
        def put(self, *given: Any, **named: Any) -> object:
            return graph.put(*given, **named, branch="singly")

        def put_edge(self, *given: Any) -> object:
            return graph.put_edge(*given, branch="singly")

        def mutate(self, *given: Any) -> object:
            return graph.mutate(*given, branch="singly")

        def query(self, *given: Any) -> og.Result:
            return graph.query(*given, branch="singly")

    with graph.transaction() as t:
        for what, name, number in steps:
            step(t, what, name, number)
            step(Singly(), what, name, number)
            for question in (NAMES, EDGES):
                assert t.query(question).rows == graph.query(question, branch="singly").rows
    for question in (NAMES, EDGES):
        assert graph.query(question).rows == graph.query(question, branch="singly").rows
    assert len(graph.commits()) <= base + 1


def test_a_node_that_goes_and_comes_again_has_lost_the_edges_that_others_add_meanwhile(g: og.Graph) -> None:
    other = og.open(g.uri)

    def anew() -> None:
        with g.transaction() as t:
            t.mutate(GONE, {"n": "Ada"})
            t.put("Person", {"name": "Ada", "age": 1})
            other.put_edge("Knows", "Ada", "Bob")

    with pytest.raises(og.ReadSetChanged):
        anew()
    assert len(g.neighbors("Person", "Ada")) == len(other.neighbors("Person", "Ada")) > 0


def test_an_edge_that_goes_and_comes_again_was_there(g: og.Graph) -> None:
    g.apply_schema(SCHEMA + "edge Likes: Person -> Person @key(src, dst) { much: I32? }\n")
    g.put_edge("Likes", "Ada", "Bob")
    other = og.open(g.uri)

    def anew() -> None:
        with g.transaction() as t:
            t.mutate('query q() { delete Likes where from = "Ada" }')
            t.put_edge("Likes", "Ada", "Bob", {"much": 1})
            other.mutate('query q() { delete Likes where from = "Ada" }')

    with pytest.raises(og.ReadSetChanged):
        anew()


@pytest.mark.parametrize(
    "change", [lambda t: t.put("Person", {"name": "Ada", "age": 3}, patch=True), lambda t: t.mutate(AGE, {"n": "Ada", "a": 3})]
)
def test_what_looks_for_what_it_changes_counts_as_a_read(g: og.Graph, change: Callable[[og.Transaction], Any]) -> None:
    with g.transaction() as t:
        t.put_edge("Knows", "Ada", "Cy")
        with pytest.raises(og.ValidationError, match="`Cy` not found in Person"):
            change(t)
        t.put("Person", {"name": "Cy"})
        change(t)
    assert g.get("Person", "Ada")["age"] == 3  # type: ignore[index]


UNDONE: dict[str, list[str]] = {
    "inserted and deleted": ['insert Person { name: "Eve" }', 'delete Person where name = "Eve"'],
    "what is there already": ['insert Person { name: "Ada" }', 'insert Person { name: "Bob" }'],
    "nothing": [],
}


@pytest.mark.parametrize("statements", UNDONE.values(), ids=UNDONE.keys())
def test_what_cancels_itself_out_is_neither_counted_nor_committed(g: og.Graph, statements: list[str]) -> None:
    before = g.commits()
    with g.transaction(actor="hr") as t:
        for statement in statements:
            assert t.mutate(f"query q() {{ {statement} }}").affected_nodes == 1
    assert (t.receipt.affected_nodes, t.receipt.affected_edges, t.receipt.commit, t.receipt.actor) == (0, 0, None, None)
    assert repr(t) == "Transaction on main, with nothing to commit"
    assert g.commits() == before


BACK = [
    ['delete Person where name = "Bob"', 'insert Person { name: "Bob" }'],
    ['update Person set { age: 4 } where name = "Ada"', 'update Person set { age: null } where name = "Ada"'],
]


@pytest.mark.parametrize("statements", BACK, ids=["deleted and inserted", "changed and changed back"])
def test_what_is_as_it_was_is_neither_counted_nor_committed(g: og.Graph, statements: list[str]) -> None:
    before = g.commits()
    with g.transaction() as t:
        for statement in statements:
            t.mutate(f"query q() {{ {statement} }}")
    assert (t.receipt.affected_nodes, t.receipt.affected_edges, t.receipt.commit) == (0, 0, None)
    assert g.commits() == before


def test_the_receipt_counts_what_a_diff_shows(g: og.Graph) -> None:
    g.put_edge("Knows", "Ada", "Bob")
    before = g.commits()[0]
    with g.transaction() as t:
        t.put("Person", {"name": "Eve"})
        t.put("Person", {"name": "Eve", "age": 3})
        t.mutate(AGE, {"n": "Eve", "a": 4})
        t.put("Person", {"name": "Ada"})
        t.put("Person", {"name": "Zoe"})
        t.mutate('query q() { delete Person where name = "Zoe" }')
        t.mutate('query q() { delete Person where name = "Bob" }')
        t.put_edge("Knows", "Eve", "Ada")
    stats = g.diff(before, "main").stats
    assert (t.receipt.affected_nodes, t.receipt.affected_edges) == (2, 2)
    assert stats.inserts + stats.updates + stats.deletes == 4


def test_what_a_transaction_has_done_is_in_one_chunk(tmp_path: Path) -> None:
    """Otherwise the thousandth row costs as much as all before it."""
    g = og.init(tmp_path / "g", "node P { n: I64 @key  v: I64? }", durability="os")
    with g.transaction() as t:
        for n in range(300):
            t.put("P", {"n": n, "v": n})
            t.put("P", {"n": n // 2, "v": -n})
        assert t._all is not None
        (delta,) = t._all.outcome.changes
        assert {column.num_chunks for column in delta.rows.columns} == {1}
    rows = {r["n"]: r["v"] for r in g.query("query q() { match { $p: P } return { $p.n as n, $p.v as v } }").rows}
    expected: dict[int, int] = {}
    for n in range(300):
        expected[n] = n
        expected[n // 2] = -n
    assert rows == expected
