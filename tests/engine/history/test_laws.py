"""Laws of history, on random histories: what diff, merge, feed and revert promise whatever happened before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.graphs import delete, make_graph, upsert
from tests.engine.history.graphs import calm, contents, told

import omnigraph as og
from omnigraph.engine.history.changes import Change
from omnigraph.engine.upkeep.reconcile import optimize

SCHEMA = """
node Thing { name: String @key  p: I32?  q: String?  u: I32? @unique }
edge Near: Thing -> Thing { w: F32? }
edge Best: Thing -> Thing @card(0..1)
"""

NODES = "abcdef"
EDGES = {"Near": ["n1", "n2", "n3"], "Best": ["b1", "b2"]}
NUMBER = count()

Contents = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """Something to try; what the graph forbids is left out."""

    kind: str
    name: str
    values: tuple[Any, ...] = ()


def steps() -> st.SearchStrategy[list[Step]]:
    node = st.sampled_from(NODES)
    small = st.none() | st.integers(0, 2)
    put = st.builds(lambda n, p, q, u: Step("put", n, (p, q, u)), node, small, st.sampled_from([None, "", "x"]), small)
    change = st.builds(lambda n, c, v: Step(c, n, (v,)), node, st.sampled_from(["p", "u"]), small)
    drop = st.builds(lambda n: Step("drop", n), node)
    edges = [(type_, name) for type_, names in EDGES.items() for name in names]
    edge = st.builds(lambda e, a, b, w: Step("edge", e[1], (e[0], a, b, w)), st.sampled_from(edges), node, node, small)
    cut = st.builds(lambda e: Step("cut", e[1], (e[0],)), st.sampled_from(edges))
    return st.lists(st.one_of(put, change, change, edge, edge, drop, cut, st.just(Step("optimize", ""))), max_size=6)


def run(graph: og.Graph, branch: str, todo: Sequence[Step]) -> list[str]:
    """Do what can be done, a commit each; the commits."""
    done = []
    for step in todo:
        commit = _do(graph, branch, contents(graph, branch), step)
        if commit is not None:
            done.append(commit)
    return done


def _do(graph: og.Graph, branch: str, now: Contents, step: Step) -> str | None:
    row = now.get(("Thing", step.name))
    match step.kind:
        case "put" | "p" | "u":
            if step.kind == "put":
                p, q, u = step.values
                row = {"id": step.name, "name": step.name, "p": p, "q": q, "u": u}
            elif row is None:
                return None
            else:
                row = {**row, step.kind: step.values[0]}
            others = [r["u"] for key, r in now.items() if key[0] == "Thing" and key[1] != step.name]
            return None if row["u"] is not None and row["u"] in others else upsert(graph, "Thing", [row], branch).id
        case "drop" if row is not None:
            for type_ in EDGES:
                touching = [i for (t, i), e in now.items() if t == type_ and step.name in (e["src"], e["dst"])]
                if touching:
                    delete(graph, type_, touching, branch)
            return delete(graph, "Thing", [step.name], branch).id
        case "edge":
            type_, source, target, weight = step.values
            if ("Thing", source) not in now or ("Thing", target) not in now:
                return None
            if type_ == "Best" and any(t == "Best" and i != step.name and e["src"] == source for (t, i), e in now.items()):
                return None
            edge = {"id": step.name, "src": source, "dst": target} | ({"w": weight} if type_ == "Near" else {})
            return upsert(graph, type_, [edge], branch).id
        case "cut" if (step.values[0], step.name) in now:
            return delete(graph, step.values[0], [step.name], branch).id
        case "optimize":
            optimize(graph._store, branch, graph._view(branch).catalog)
    return None


def whole(graph: og.Graph, branch: str) -> Contents:
    """What is on a branch; and it is whole: every edge has its ends, and no rule is broken."""
    found = contents(graph, branch)
    for (type_, _), row in found.items():
        if type_ in EDGES:
            assert ("Thing", row["src"]) in found
            assert ("Thing", row["dst"]) in found
    taken = [row["u"] for (type_, _), row in found.items() if type_ == "Thing" and row["u"] is not None]
    assert len(set(taken)) == len(taken)
    best = [row["src"] for (type_, _), row in found.items() if type_ == "Best"]
    assert len(set(best)) == len(best)
    return found


def applied(state: Mapping[tuple[str, str], dict[str, Any]], changes: Iterator[Change]) -> Contents:
    """A state with changes done to it, each of which must fit."""
    after = dict(state)
    for change in changes:
        key = (change.type, change.id)
        assert (key in after) == (change.op != "insert")
        if change.before is not None:
            assert after[key] == row_of(change, change.before)
        if change.after is None:
            del after[key]
        else:
            after[key] = row_of(change, change.after)
    return after


def row_of(change: Change, image: Any) -> dict[str, Any]:
    ends = {} if image.endpoints is None else {"src": image.endpoints[0], "dst": image.endpoints[1]}
    return {"id": change.id, **ends, **image.properties}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = make_graph(
        tmp_path_factory.mktemp("laws"),
        SCHEMA,
        {
            "Thing": [{"name": n, "p": 1, "q": "x"} for n in "abcd"],
            "Near": [{"id": "n1", "src": "a", "dst": "b", "w": 1.0}],
            "Best": [{"id": "b1", "src": "c", "dst": "d"}],
        },
    )
    calm(made)
    return made


@pytest.fixture(autouse=True)
def tidy(graph: og.Graph) -> Iterator[None]:
    yield
    clean(graph)


def clean(graph: og.Graph) -> None:
    for branch in graph.branches.list():
        if branch != "main":
            graph.branches.delete(branch)


def branches(graph: og.Graph, *todo: Sequence[Step], from_: str = "main") -> list[str]:
    """A branch for each list of steps."""
    if from_ == "main" and len(graph.branches.list()) > 20:
        clean(graph)
    names = []
    for one in todo:
        name = f"b{next(NUMBER)}"
        graph.branches.create(name, from_=from_)
        run(graph, name, one)
        names.append(name)
    return names


lawful = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@lawful
@given(one=steps(), other=steps())
def test_a_diff_applied_to_one_state_gives_the_other(graph: og.Graph, one: list[Step], other: list[Step]) -> None:
    left, right = branches(graph, one, other)
    for before, after in ((left, right), (right, left), ("main", left), (left, "main")):
        diff = graph.diff(before, after)
        assert applied(contents(graph, before), iter(diff)) == contents(graph, after)
        assert {(c.type, c.id) for c in diff} == {(c.type, c.id) for c in graph.diff(after, before)}
    assert len(graph.diff(left, left)) == 0


@lawful
@given(first=steps(), then=steps())
def test_merging_an_ancestor_changes_nothing(graph: og.Graph, first: list[Step], then: list[Step]) -> None:
    (older,) = branches(graph, first)
    (younger,) = branches(graph, then, from_=older)
    before, head = contents(graph, younger), graph._view(younger).snapshot.commit
    for source in (older, "main"):
        assert graph.merge(source, into=younger).outcome == "already_up_to_date"
    assert (contents(graph, younger), graph._view(younger).snapshot.commit) == (before, head)
    merged = graph.merge(younger, into=older)
    assert merged.outcome in ("fast_forward", "already_up_to_date")
    assert contents(graph, older) == before


@lawful
@given(one=steps(), other=steps(), strict=st.booleans())
def test_merging_in_either_order_gives_the_same(graph: og.Graph, one: list[Step], other: list[Step], strict: bool) -> None:
    left, right = branches(graph, one, other)
    into_right, into_left = (branches(graph, [], from_=b)[0] for b in (right, left))
    outcomes = []
    for source, target in ((left, into_right), (right, into_left)):
        preview = graph.merge(source, into=target, dry_run=True, strict=strict)
        before = contents(graph, target)
        if preview.conflicts:
            with pytest.raises(og.MergeConflict) as caught:
                graph.merge(source, into=target, strict=strict)
            assert [c.key for c in told(caught.value)] == [c.key for c in preview.conflicts]
            assert contents(graph, target) == before
        else:
            assert graph.merge(source, into=target, strict=strict).outcome == preview.outcome
            assert preview.changes is not None
            assert applied(before, iter(preview.changes)) == whole(graph, target)
        outcomes.append({c.kind for c in preview.conflicts})
    assert bool(outcomes[0]) == bool(outcomes[1]), "whether two sides agree does not depend on who is asked"
    if not outcomes[0]:
        assert whole(graph, into_right) == whole(graph, into_left)


@lawful
@given(one=steps(), other=steps(), side=st.sampled_from(["ours", "theirs"]), strict=st.booleans())
def test_a_side_settles_every_conflict(graph: og.Graph, one: list[Step], other: list[Step], side: str, strict: bool) -> None:
    """Whatever clashes, preferring a side gives a graph that breaks no rule, and the same one every time."""
    left, right = branches(graph, one, other)
    results = []
    for _ in range(2):
        (target,) = branches(graph, [], from_=right)
        merged = graph.merge(left, into=target, resolve=side, strict=strict)  # type: ignore[arg-type]
        assert merged.outcome != "conflicts"
        results.append(whole(graph, target))
    assert results[0] == results[1]
    mirrored = {"ours": "theirs", "theirs": "ours"}[side]
    (target,) = branches(graph, [], from_=left)
    graph.merge(right, into=target, resolve=mirrored, strict=strict)  # type: ignore[arg-type]
    assert whole(graph, target) == results[0], "ours of the one is theirs of the other"


@lawful
@given(first=steps(), then=steps(), limit=st.integers(1, 5))
def test_a_baseline_and_the_feed_give_the_head(graph: og.Graph, first: list[Step], then: list[Step], limit: int) -> None:
    (branch,) = branches(graph, first)
    baseline = graph.baseline(branch)
    state: Contents = {}
    for record in baseline.records():
        ends = {"src": record["from"], "dst": record["to"]} if "edge" in record else {}
        data = record["data"]
        state[record.get("type") or record["edge"], data["id"]] = {"id": data["id"], **ends, **data}
    assert state == contents(graph, branch)
    run(graph, branch, then)
    (side,) = branches(graph, first, from_=branch)
    graph.merge(side, into=branch, resolve="theirs")
    page = graph.changes(baseline.cursor, branch=branch, limit=limit)
    while True:
        state = applied(state, iter(page.changes))
        if page.caught_up:
            break
        page = graph.changes(page.next, branch=branch, limit=limit)
    assert state == contents(graph, branch)


@lawful
@given(first=steps(), then=steps())
def test_reverting_restores(graph: og.Graph, first: list[Step], then: list[Step]) -> None:
    (branch,) = branches(graph, first)
    before = contents(graph, branch)
    made = run(graph, branch, then)
    head = graph._view(branch).snapshot.commit
    done = [c.id for c in graph.commits(branch)][: graph.commits(branch)[0].seq - graph.commits("main")[0].seq]
    for commit in done:  # youngest first: back to where the branch began
        graph.revert(commit, branch=branch)
    assert whole(graph, branch) == contents(graph)
    if made:
        (again,) = branches(graph, [], from_=head)
        for commit in [c.id for c in graph.commits(again)]:
            if contents(graph, again) == before:
                break
            graph.revert(commit, branch=again)
        assert whole(graph, again) == before


@lawful
@given(todo=st.lists(st.tuples(st.booleans(), steps()), min_size=2, max_size=4))
def test_branches_that_keep_merging_each_other_end_up_equal(graph: og.Graph, todo: list[tuple[bool, list[Step]]]) -> None:
    """Criss-cross included: whatever is merged into the one and into the other, two last merges make them the same."""
    left, right = branches(graph, [], [])
    for into_left, some in todo:
        source, target = (right, left) if into_left else (left, right)
        run(graph, source, some)
        graph.merge(source, into=target, resolve="theirs")
        whole(graph, target)
    graph.merge(left, into=right, resolve="ours")
    assert graph.merge(right, into=left).outcome in ("fast_forward", "already_up_to_date")
    assert whole(graph, left) == whole(graph, right)
