"""Merge, cell by cell: what the source did to an entity × what the target did × strict or not × how conflicts are resolved.

A cell says what the entity is in the target after the merge, or which conflict there is and what either side makes of it:

    U          already up to date                       F 2,1       fast-forward; p = 2, q = 1
    M 2,2      merged                                    M -         merged; the entity is gone
    du p 3,1|2,1     divergent_update about p: `ours` gives 3,1 and `theirs` 2,1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.engine.graphs import add, delete, make_graph, upsert
from tests.engine.history.graphs import calm, contents, kinds, people, put, told

import omnigraph as og

Act = Callable[[og.Graph, str], object]

KINDS = {
    "di": "divergent_insert",
    "du": "divergent_update",
    "dv": "delete_vs_update",
    "oe": "orphan_edge",
    "cv": "cardinality_violation",
}

SCHEMA = """
node Thing { name: String @key  p: I32?  q: I32? }
edge Near: Thing -> Thing { w: I32? }
"""

NEW_BRANCH = count()


def read(table: str) -> Iterator[tuple[str, str, str]]:
    """Source, target and cell of a table."""
    head, *lines = [line for line in table.strip("\n").splitlines() if line.strip()]
    columns = [c.strip() for c in head.split("│")[1:]]
    for line in lines:
        row, *cells = [c.strip() for c in line.split("│")]
        assert len(cells) == len(columns), line
        for column, cell in zip(columns, cells, strict=True):
            yield row, column, cell


def strict_later(cells: list[tuple[str, str, str, bool]]) -> list[object]:
    """The same cells; strict ones wait for the whole run."""
    return [pytest.param(*cell, marks=[pytest.mark.slow] if cell[-1] else []) for cell in cells]


def fork(graph: og.Graph) -> tuple[str, str]:
    number = next(NEW_BRANCH)
    source, target = f"s{number}", f"t{number}"
    graph.branches.create(source)
    graph.branches.create(target)
    return source, target


@pytest.fixture(autouse=True)
def tidy(request: pytest.FixtureRequest) -> Iterator[None]:
    """A cell leaves no branches behind: looking for a commit goes through all of them."""
    yield
    for name in ("things", "folks"):
        if name in request.fixturenames:
            graph: og.Graph = request.getfixturevalue(name)
            for branch in graph.branches.list():
                if branch != "main":
                    graph.branches.delete(branch)


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """`x` is there with p = 1 and q = 1; `new` is not. The edge `e` goes from a to b with w = 1."""
    nodes: list[dict[str, object]] = [{"name": "x", "p": 1, "q": 1}, {"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]
    graph = make_graph(
        tmp_path_factory.mktemp("things"), SCHEMA, {"Thing": nodes, "Near": [{"id": "e", "src": "a", "dst": "b", "w": 1}]}
    )
    calm(graph)
    return graph


def check(graph: og.Graph, source: Act, target: Act, cell: str, strict: bool, state: Callable[[str], str]) -> None:
    """One cell: without a resolution, with either side, as a preview and for real."""
    ours, theirs = fork(graph)[::-1]
    source(graph, theirs)
    target(graph, ours)
    before = contents(graph, ours)
    word, _, rest = cell.partition(" ")
    preview = graph.merge(theirs, into=ours, dry_run=True, strict=strict)
    assert contents(graph, ours) == before
    if word in KINDS:
        about, outcomes = rest.split(" ")
        assert preview.outcome == "conflicts"
        assert [c.kind for c in preview.conflicts] == [KINDS[word]]
        assert ",".join(preview.conflicts[0].properties) == about.strip("-")
        head = graph._view(ours).snapshot.commit
        with pytest.raises(og.MergeConflict) as caught:
            graph.merge(theirs, into=ours, strict=strict)
        assert kinds(told(caught.value)) == kinds(preview.conflicts)
        assert graph._view(ours).snapshot.commit == head, "nothing was changed"
        key = preview.conflicts[0].key
        for side, expected in zip(("ours", "theirs"), outcomes.split("|"), strict=True):
            for resolve in (side, {key: side}):
                copy = f"r{next(NEW_BRANCH)}"
                graph.branches.create(copy, from_=ours)
                merged = graph.merge(theirs, into=copy, strict=strict, resolve=resolve)  # type: ignore[arg-type]
                assert merged.outcome == "merged"
                assert state(copy) == expected, (side, expected)
        return
    outcome = {"U": "already_up_to_date", "F": "fast_forward", "M": "merged"}[word]
    merged = graph.merge(theirs, into=ours, strict=strict)
    assert (preview.outcome, merged.outcome) == (outcome, outcome)
    assert (merged.commit is None) == (word == "U")
    if word == "U":
        assert contents(graph, ours) == before
        return
    assert merged.commit is not None
    assert merged.commit.merged_parent == graph._view(theirs).snapshot.commit
    assert state(ours) == rest
    if word == "F":
        assert contents(graph, ours) == contents(graph, theirs)
    assert preview.changes == graph.commit_changes(merged.commit.id).changes, "what was previewed is what happened"


# ── a node that is there ─────────────────────────────────────────────────────────────────────────────────────────────────────


def set_(**values: int) -> Act:
    text = ", ".join(f"{name}: {value}" for name, value in values.items())
    return lambda g, b: put(g, f'update Thing set {{ {text} }} where name = "x"', b)


def again(**values: int) -> Act:
    """Delete and insert again."""
    text = ", ".join(f"{name}: {value}" for name, value in values.items())

    def act(graph: og.Graph, branch: str) -> None:
        put(graph, 'delete Thing where name = "x"', branch)
        put(graph, f'insert Thing {{ name: "x", {text} }}', branch)

    return act


def back_and_forth(graph: og.Graph, branch: str) -> None:
    set_(p=7)(graph, branch)
    set_(p=1)(graph, branch)


NODE: dict[str, Act] = {
    "none": lambda g, b: None,
    "p2": set_(p=2),
    "p3": set_(p=3),
    "q2": set_(q=2),
    "p2 q3": set_(p=2, q=3),
    "delete": lambda g, b: put(g, 'delete Thing where name = "x"', b),
    "again": again(p=1, q=1),
    "again p9": again(p=9, q=1),
    "netzero": back_and_forth,
}

BY_PROPERTY = """
source   │ none  │ p2            │ p3            │ q2              │ p2 q3           │ delete        │ again  │ again p9        │ netzero
none     │ U     │ U             │ U             │ U               │ U               │ U             │ U      │ U               │ U
p2       │ F 2,1 │ M 2,1         │ du p 3,1|2,1  │ M 2,2           │ M 2,3           │ dv p -|2,1    │ M 2,1  │ du p 9,1|2,1    │ M 2,1
p3       │ F 3,1 │ du p 2,1|3,1  │ M 3,1         │ M 3,2           │ du p 2,3|3,3    │ dv p -|3,1    │ M 3,1  │ du p 9,1|3,1    │ M 3,1
q2       │ F 1,2 │ M 2,2         │ M 3,2         │ M 1,2           │ du q 2,3|2,2    │ dv q -|1,2    │ M 1,2  │ M 9,2           │ M 1,2
p2 q3    │ F 2,3 │ M 2,3         │ du p 3,3|2,3  │ du q 2,2|2,3    │ M 2,3           │ dv p,q -|2,3  │ M 2,3  │ du p 9,3|2,3    │ M 2,3
delete   │ F -   │ dv p 2,1|-    │ dv p 3,1|-    │ dv q 1,2|-      │ dv p,q 2,3|-    │ M -           │ M -    │ dv p 9,1|-      │ M -
again    │ F 1,1 │ M 2,1         │ M 3,1         │ M 1,2           │ M 2,3           │ M -           │ M 1,1  │ M 9,1           │ M 1,1
again p9 │ F 9,1 │ du p 2,1|9,1  │ du p 3,1|9,1  │ M 9,2           │ du p 2,3|9,3    │ dv p -|9,1    │ M 9,1  │ M 9,1           │ M 9,1
netzero  │ F 1,1 │ M 2,1         │ M 3,1         │ M 1,2           │ M 2,3           │ M -           │ M 1,1  │ M 9,1           │ M 1,1
"""

STRICT = """
source   │ none  │ p2              │ p3              │ q2              │ p2 q3           │ delete        │ again  │ again p9        │ netzero
none     │ U     │ U               │ U               │ U               │ U               │ U             │ U      │ U               │ U
p2       │ F 2,1 │ M 2,1           │ du p 3,1|2,1    │ du p,q 1,2|2,1  │ du q 2,3|2,1    │ dv p -|2,1    │ M 2,1  │ du p 9,1|2,1    │ M 2,1
p3       │ F 3,1 │ du p 2,1|3,1    │ M 3,1           │ du p,q 1,2|3,1  │ du p,q 2,3|3,1  │ dv p -|3,1    │ M 3,1  │ du p 9,1|3,1    │ M 3,1
q2       │ F 1,2 │ du p,q 2,1|1,2  │ du p,q 3,1|1,2  │ M 1,2           │ du p,q 2,3|1,2  │ dv q -|1,2    │ M 1,2  │ du p,q 9,1|1,2  │ M 1,2
p2 q3    │ F 2,3 │ du q 2,1|2,3    │ du p,q 3,1|2,3  │ du p,q 1,2|2,3  │ M 2,3           │ dv p,q -|2,3  │ M 2,3  │ du p,q 9,1|2,3  │ M 2,3
delete   │ F -   │ dv p 2,1|-      │ dv p 3,1|-      │ dv q 1,2|-      │ dv p,q 2,3|-    │ M -           │ M -    │ dv p 9,1|-      │ M -
again    │ F 1,1 │ M 2,1           │ M 3,1           │ M 1,2           │ M 2,3           │ M -           │ M 1,1  │ M 9,1           │ M 1,1
again p9 │ F 9,1 │ du p 2,1|9,1    │ du p 3,1|9,1    │ du p,q 1,2|9,1  │ du p,q 2,3|9,1  │ dv p -|9,1    │ M 9,1  │ M 9,1           │ M 9,1
netzero  │ F 1,1 │ M 2,1           │ M 3,1           │ M 1,2           │ M 2,3           │ M -           │ M 1,1  │ M 9,1           │ M 1,1
"""

NODE_CELLS = [
    (row, column, cell, strict) for strict, t in ((False, BY_PROPERTY), (True, STRICT)) for row, column, cell in read(t)
]


def node_state(graph: og.Graph, name: str) -> Callable[[str], str]:
    def state(branch: str) -> str:
        row = contents(graph, branch).get(("Thing", name))
        return "-" if row is None else f"{row['p']},{row['q']}"

    return state


@pytest.mark.parametrize(("source", "target", "cell", "strict"), strict_later(NODE_CELLS))
def test_a_node_that_both_sides_know(things: og.Graph, source: str, target: str, cell: str, strict: bool) -> None:
    check(things, NODE[source], NODE[target], cell, strict, node_state(things, "x"))


def test_every_cell_is_there() -> None:
    assert len(NODE_CELLS) == 2 * len(NODE) ** 2
    assert len(NEW_CELLS) == 2 * len(NEW) ** 2
    assert len(EDGE_CELLS) == 2 * len(EDGE) ** 2


# ── a node that is new ───────────────────────────────────────────────────────────────────────────────────────────────────────


def insert(p: int, q: int) -> Act:
    return lambda g, b: put(g, f'insert Thing {{ name: "new", p: {p}, q: {q} }}', b)


def come_and_go(graph: og.Graph, branch: str) -> None:
    insert(5, 5)(graph, branch)
    put(graph, 'delete Thing where name = "new"', branch)


NEW: dict[str, Act] = {
    "none": lambda g, b: None,
    "1,1": insert(1, 1),
    "1,2": insert(1, 2),
    "2,2": insert(2, 2),
    "netzero": come_and_go,
}

INSERTED = """
source  │ none  │ 1,1             │ 1,2           │ 2,2             │ netzero
none    │ U     │ U               │ U             │ U               │ U
1,1     │ F 1,1 │ M 1,1           │ di q 1,2|1,1  │ di p,q 2,2|1,1  │ M 1,1
1,2     │ F 1,2 │ di q 1,1|1,2    │ M 1,2         │ di p 2,2|1,2    │ M 1,2
2,2     │ F 2,2 │ di p,q 1,1|2,2  │ di p 1,2|2,2  │ M 2,2           │ M 2,2
netzero │ F -   │ M 1,1           │ M 1,2         │ M 2,2           │ M -
"""

NEW_CELLS = [(row, column, cell, strict) for strict in (False, True) for row, column, cell in read(INSERTED)]


@pytest.mark.parametrize(("source", "target", "cell", "strict"), strict_later(NEW_CELLS))
def test_a_node_that_is_new_on_either_side(things: og.Graph, source: str, target: str, cell: str, strict: bool) -> None:
    check(things, NEW[source], NEW[target], cell, strict, node_state(things, "new"))


# ── an edge, its ends, and the nodes at them ─────────────────────────────────────────────────────────────────────────────────


def move(src: str, dst: str, w: int = 1) -> Act:
    return lambda g, b: upsert(g, "Near", [{"id": "e", "src": src, "dst": dst, "w": w}], b)


def drop(name: str) -> Act:
    """A node goes, and its edges with it."""
    return lambda g, b: put(g, f'delete Thing where name = "{name}"', b)


EDGE: dict[str, Act] = {
    "none": lambda g, b: None,
    "to c": move("a", "c"),
    "to d": move("a", "d"),
    "from c": move("c", "b"),
    "w2": move("a", "b", 2),
    "delete": lambda g, b: delete(g, "Near", ["e"], b),
    "drop b": drop("b"),
    "drop c": drop("c"),
    "add": lambda g, b: add(g, {"Near": [{"src": "a", "dst": "b", "w": 5}]}, b),
}

# The state is the edge e, how many edges there are besides, and which of a, b, c are there.
EDGES_BY_PROPERTY = """
source  │ none           │ to c                        │ to d                           │ from c                         │ w2                           │ delete                    │ drop b                      │ drop c                          │ add
none    │ U              │ U                           │ U                              │ U                              │ U                            │ U                         │ U                           │ U                               │ U
to c    │ F ac1·0·abc    │ M ac1·0·abc                 │ du from,to ad1·0·abc|ac1·0·abc │ du from,to cb1·0·abc|ac1·0·abc │ M ac2·0·abc                  │ dv to -·0·abc|ac1·0·abc   │ dv to -·0·ac|ac1·0·ac       │ oe to ab1·0·ab|ac1·0·abc        │ M ac1·1·abc
to d    │ F ad1·0·abc    │ du from,to ac1·0·abc|ad1·0·abc │ M ad1·0·abc                 │ du from,to cb1·0·abc|ad1·0·abc │ M ad2·0·abc                  │ dv to -·0·abc|ad1·0·abc   │ dv to -·0·ac|ad1·0·ac       │ M ad1·0·ab                      │ M ad1·1·abc
from c  │ F cb1·0·abc    │ du from,to ac1·0·abc|cb1·0·abc │ du from,to ad1·0·abc|cb1·0·abc │ M cb1·0·abc                 │ M cb2·0·abc                  │ dv from -·0·abc|cb1·0·abc │ dv from ?                   │ oe from ab1·0·ab|cb1·0·abc      │ M cb1·1·abc
w2      │ F ab2·0·abc    │ M ac2·0·abc                 │ M ad2·0·abc                    │ M cb2·0·abc                    │ M ab2·0·abc                  │ dv w -·0·abc|ab2·0·abc    │ dv w ?                      │ M ab2·0·ab                      │ M ab2·1·abc
delete  │ F -·0·abc      │ dv to ac1·0·abc|-·0·abc     │ dv to ad1·0·abc|-·0·abc        │ dv from cb1·0·abc|-·0·abc      │ dv w ab2·0·abc|-·0·abc       │ M -·0·abc                 │ M -·0·ac                    │ M -·0·ab                        │ M -·1·abc
drop b  │ F -·0·ac       │ dv to ac1·0·ac|-·0·ac       │ dv to ad1·0·ac|-·0·ac          │ dv from ?                      │ dv w ?                       │ M -·0·ac                  │ M -·0·ac                    │ M -·0·a                         │ oe to -·1·abc|-·0·ac
drop c  │ F ab1·0·ab     │ oe to ac1·0·abc|ab1·0·ab    │ M ad1·0·ab                     │ oe from cb1·0·abc|ab1·0·ab     │ M ab2·0·ab                   │ M -·0·ab                  │ M -·0·a                     │ M ab1·0·ab                      │ M ab1·1·ab
add     │ F ab1·1·abc    │ M ac1·1·abc                 │ M ad1·1·abc                    │ M cb1·1·abc                    │ M ab2·1·abc                  │ M -·1·abc                 │ oe to -·0·ac|-·1·abc        │ M ab1·1·ab                      │ M ab1·2·abc
"""

EDGE_CELLS = [(row, column, cell, strict) for strict in (False, True) for row, column, cell in read(EDGES_BY_PROPERTY)]

STRICT_EDGES = {
    ("to c", "w2"): "du from,to,w ab2·0·abc|ac1·0·abc",
    ("to d", "w2"): "du from,to,w ab2·0·abc|ad1·0·abc",
    ("from c", "w2"): "du from,to,w ab2·0·abc|cb1·0·abc",
    ("w2", "to c"): "du from,to,w ac1·0·abc|ab2·0·abc",
    ("w2", "to d"): "du from,to,w ad1·0·abc|ab2·0·abc",
    ("w2", "from c"): "du from,to,w cb1·0·abc|ab2·0·abc",
}
"""Where strict differs: one side moved the edge, the other changed its property."""

TWO_STEPS = {
    ("from c", "drop b"): "-·0·ac|cb1·0·abc",
    ("w2", "drop b"): "-·0·ac|ab2·0·abc",
    ("drop b", "from c"): "cb1·0·abc|-·0·ac",
    ("drop b", "w2"): "ab2·0·abc|-·0·ac",
}
"""Preferring the changed edge needs the node back that the other side dropped: a conflict of its own, settled the same way."""


def edge_state(graph: og.Graph) -> Callable[[str], str]:
    def state(branch: str) -> str:
        found = contents(graph, branch)
        edge = found.get(("Near", "e"))
        told = "-" if edge is None else f"{edge['src']}{edge['dst']}{edge['w']}"
        others = sum(1 for name, id_ in found if name == "Near" and id_ != "e")
        return f"{told}·{others}·{''.join(n for n in 'abc' if ('Thing', n) in found)}"

    return state


@pytest.mark.parametrize(("source", "target", "cell", "strict"), strict_later(EDGE_CELLS))
def test_an_edge_and_its_ends(things: og.Graph, source: str, target: str, cell: str, strict: bool) -> None:
    if strict:
        cell = STRICT_EDGES.get((source, target), cell)
    if cell.endswith("?"):
        check_two_steps(things, source, target, cell.split()[1], strict)
    else:
        check(things, EDGE[source], EDGE[target], cell, strict, edge_state(things))


def check_two_steps(graph: og.Graph, source: str, target: str, about: str, strict: bool) -> None:
    theirs, ours = fork(graph)
    EDGE[source](graph, theirs)
    EDGE[target](graph, ours)
    before = contents(graph, ours)
    (first,) = graph.merge(theirs, into=ours, dry_run=True, strict=strict).conflicts
    assert (first.kind, ",".join(first.properties)) == ("delete_vs_update", about)
    kept = "theirs" if target == "drop b" else "ours"
    with pytest.raises(og.MergeConflict) as caught:
        graph.merge(theirs, into=ours, strict=strict, resolve={first.key: kept})  # type: ignore[dict-item]
    (second,) = told(caught.value)
    assert (second.kind, second.properties) == ("orphan_edge", ("to",))
    assert contents(graph, ours) == before
    for side, expected in zip(("ours", "theirs"), TWO_STEPS[source, target].split("|"), strict=True):
        keys = [first.key, second.key] if side == kept else [first.key]
        for resolve in (side, dict.fromkeys(keys, side)):
            copy = f"r{next(NEW_BRANCH)}"
            graph.branches.create(copy, from_=ours)
            assert graph.merge(theirs, into=copy, strict=strict, resolve=resolve).outcome == "merged"  # type: ignore[arg-type]
            assert edge_state(graph)(copy) == expected


# ── the table of the specification ───────────────────────────────────────────────────────────────────────────────────────────

SPECIFIED = """
source     │ noop │ addNode          │ removeNode       │ addEdge     │ removeEdge │ setProp          │ netZero
noop       │ UTD  │ UTD              │ UTD              │ UTD         │ UTD        │ UTD              │ UTD
addNode    │ FF   │ divergent_insert │ M                │ M           │ M          │ M                │ M
removeNode │ FF   │ M                │ M                │ orphan_edge │ M          │ delete_vs_update │ M
addEdge    │ FF   │ M                │ orphan_edge      │ M           │ M          │ M                │ M
removeEdge │ FF   │ M                │ M                │ M           │ M          │ M                │ M
setProp    │ FF   │ M                │ delete_vs_update │ M           │ M          │ divergent_update │ M
netZero    │ FF   │ M                │ M                │ M           │ M          │ M                │ M
"""


def actions(side: int) -> dict[str, Act]:
    """The actions of the specification. Both sides touch the same ids; what they write differs."""

    def net_zero(graph: og.Graph, branch: str) -> None:
        add(graph, {"Knows": [{"id": f"n{side}", "src": "Alice", "dst": "Carol"}]}, branch)
        delete(graph, "Knows", [f"n{side}"], branch)

    return {
        "noop": lambda g, b: None,
        "addNode": lambda g, b: put(g, f'insert Person {{ name: "Eve", age: {side} }}', b),
        "removeNode": lambda g, b: put(g, 'delete Person where name = "Carol"', b),
        "addEdge": lambda g, b: put(g, 'insert Knows { from: "Alice", to: "Carol" }', b),
        "removeEdge": lambda g, b: delete(g, "Knows", ["k1"], b),
        "setProp": lambda g, b: put(g, f'update Person set {{ age: {side} }} where name = "Carol"', b),
        "netZero": net_zero,
    }


@pytest.fixture(scope="module")
def folks(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    return people(tmp_path_factory.mktemp("folks"))


@pytest.mark.parametrize(("source", "target", "cell"), list(read(SPECIFIED)))
@pytest.mark.parametrize("strict", [False, True])
def test_the_table_of_the_specification(folks: og.Graph, source: str, target: str, cell: str, strict: bool) -> None:
    theirs, ours = fork(folks)
    actions(1)[source](folks, theirs)
    actions(2)[target](folks, ours)
    outcomes = {"UTD": "already_up_to_date", "FF": "fast_forward", "M": "merged"}
    if cell in outcomes:
        assert folks.merge(theirs, into=ours, strict=strict).outcome == outcomes[cell]
        both_edges = source == target == "addEdge"
        assert sum(name == "Knows" for name, _ in contents(folks, ours)) == 3 or not both_edges
    else:
        with pytest.raises(og.MergeConflict) as caught:
            folks.merge(theirs, into=ours, strict=strict)
        assert [c.kind for c in told(caught.value)] == [cell]


def test_a_folder_for_each(tmp_path: Path) -> None:
    """The tables above share a graph: a cell leaves nothing behind on main."""
    graph = people(tmp_path)
    before = contents(graph)
    theirs, ours = fork(graph)
    put(graph, 'insert Person { name: "Eve" }', theirs)
    put(graph, 'insert Person { name: "Eve", age: 3 }', ours)
    graph.merge(theirs, into=ours, resolve="ours")
    assert contents(graph) == before
