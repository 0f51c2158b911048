"""Histories in which two branches change their schemas apart, compared with a model that knows things and no numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.history.apart import Apart, State, shown

import omnigraph as og
from omnigraph.engine.history.three_way import Side

HISTORIES = 24


def told(graph: og.Graph, before: str, after: str) -> set[tuple[str, str, str, tuple[str, ...]]]:
    return {(c.op, c.type, c.id, tuple(sorted(c.properties)) if c.op == "update" else ()) for c in graph.diff(before, after)}


def check_revert(apart: Apart, number: int, branch: str, of: str) -> None:
    """One commit of one branch undone on another, on a branch made for it."""
    graph, step = apart.graph, apart.steps[of][number]
    ours = apart.states[branch]
    name = f"try-{branch}-{of}-{number}"
    graph.branches.create(name, from_=branch)
    if step.is_schema:
        with pytest.raises(og.SchemaBoundary, match="changed the schema"):
            graph.revert(step.commit, branch=name)
        return
    parted = step.after if branch == of else apart.parted
    wanted = apart.combined(step.after, ours, step.before, parted)
    try:
        done = graph.revert(step.commit, branch=name)
    except og.MergeConflict:
        assert wanted is None or apart.orphans(wanted)
        assert shown(graph, name) == ours.contents()
        prefer: Side = "theirs" if number % 3 else "ours"
        wanted = apart.combined(step.after, ours, step.before, parted, prefer)
        assert wanted is not None
        if apart.orphans(wanted):
            return
        done = graph.revert(step.commit, branch=name, resolve=prefer)
    assert wanted is not None, (done, step)
    assert shown(graph, name) == wanted.contents()
    assert done.outcome == ("nothing_to_revert" if wanted.contents() == ours.contents() else "reverted")


def check_merge(apart: Apart, *, one_schema: bool) -> None:
    graph = apart.graph
    ours, theirs = apart.states["main"], apart.states["x"]
    graph.branches.create("into", from_="main")
    alone = not apart.steps["main"]
    prefer: Side | None = None
    try:
        graph.merge("x", into="into")
    except og.SchemaBoundary:
        assert not one_schema
        assert not alone
        return
    except og.MergeConflict:
        assert not alone
        prefer = "theirs"
        wanted = apart.combined(base_of(apart), ours, theirs.as_of(ours), apart.parted, prefer)
        assert wanted is not None
        if apart.orphans(wanted):
            return
        graph.merge("x", into="into", resolve=prefer)
    if alone:
        assert shown(graph, "into") == theirs.contents()
    elif not apart.steps["x"]:
        assert shown(graph, "into") == ours.contents()
    elif one_schema:
        wanted = apart.combined(base_of(apart), ours, theirs.as_of(ours), apart.parted, prefer)
        assert wanted is not None
        assert shown(graph, "into") == wanted.contents()


def base_of(apart: Apart) -> State:
    """The state where they parted, in the types and properties that both have by now."""
    base, now = apart.parted.copy(), apart.states["main"]
    rows = {kind: base.rows.get(kind, {}) for kind in now.names}
    return State(dict(now.names), now.props, {k: {i: dict(r) for i, r in rs.items()} for k, rs in rows.items()})


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_branches_that_change_their_schemas_apart_are_what_the_model_says(tmp_path: Path, seed: int) -> None:
    apart = Apart(tmp_path / "g", seed)
    together = seed % 4 == 0
    for reshapings, writes in ((2, 3), (1, 2)):
        for branch in ("main", "x"):
            for _ in range(reshapings):
                apart.reshape(("main", "x") if together else (branch,))
        for branch in ("main", "x") * writes:
            apart.write(branch)
    graph = apart.graph
    for branch, state in apart.states.items():
        assert shown(graph, branch) == state.contents()
        for step in apart.steps[branch]:
            assert shown(graph, at=step.commit) == step.after.contents()
    heads = apart.states
    for before, after in (("main", "x"), ("x", "main")):
        assert told(graph, before, after) == apart.difference(heads[before], heads[after], apart.parted)
    for branch, steps in apart.steps.items():
        other = "x" if branch == "main" else "main"
        for step in steps[:3]:
            assert told(graph, step.commit, other) == apart.difference(step.after, heads[other], apart.parted)
            assert told(graph, branch, step.commit) == apart.difference(heads[branch], step.after, step.after)
            assert told(graph, step.commit, branch) == apart.difference(step.after, heads[branch], step.after)
        plain = [number for number, step in enumerate(steps) if not step.is_schema]
        for number in [*plain, *(n for n in range(len(steps)) if n not in plain)][: len(plain) + 1]:
            for on in ("main", "x"):
                check_revert(apart, number, on, branch)
    check_merge(apart, one_schema=together)


# ── one thing at a time ──────────────────────────────────────────────────────────────────────────────────────────────────────

BASE = "node P { k: String @key  n: I32? }\nedge R: P -> P"


def with_property(text: str) -> str:
    return BASE.replace("n: I32?", f"n: I32?  {text}")


def parted(folder: Path, main: str, x: str) -> og.Graph:
    graph = og.init(folder / "g", BASE, durability="os")
    graph.load([{"type": "P", "data": {"k": "a", "n": 1}}])
    graph.branches.create("x")
    graph.apply_schema(main)
    graph.apply_schema(x, branch="x")
    return graph


def test_a_commit_of_another_branch_is_undone_in_the_properties_it_changed(tmp_path: Path) -> None:
    """Both added a property, which have one number: `shoe` of the one is not `height` of the other."""
    graph = parted(tmp_path, with_property("height: I32?"), with_property("shoe: I32?"))
    graph.mutate('query q() { update P set { height: 43 } where k = "a" }')
    done = graph.mutate('query q() { update P set { shoe: 43 } where k = "a" }', branch="x").commit
    assert done is not None
    assert graph.revert(done.id).outcome == "nothing_to_revert"
    assert shown(graph)["P", "a"] == {"n": 1, "height": 43}
    both = graph.mutate('query q() { update P set { shoe: 44, n: 2 } where k = "a" }', branch="x").commit
    assert both is not None
    graph.mutate('query q() { update P set { n: 2 } where k = "a" }')
    assert graph.revert(both.id).outcome == "reverted"
    assert shown(graph)["P", "a"] == {"n": 1, "height": 43}


def test_a_commit_of_another_branch_is_undone_in_the_types_it_changed(tmp_path: Path) -> None:
    cat, dog = "\nnode Cat { k: String @key }", "\nnode Dog { k: String @key }"
    graph = parted(tmp_path, BASE + cat, BASE + dog)
    graph.load([{"type": "Cat", "data": {"k": "tom"}}])
    done = graph.load([{"type": "Dog", "data": {"k": "tom"}}], branch="x").commit
    assert done is not None
    assert graph.revert(done.id).outcome == "nothing_to_revert"
    graph.apply_schema(BASE + cat + dog)
    graph.load([{"type": "Dog", "data": {"k": "tom"}}])
    assert graph.revert(done.id).outcome == "reverted"
    assert {key for key in shown(graph) if key[0] != "P"} == {("Cat", "tom")}


@pytest.mark.parametrize(
    ("main", "x"),
    [
        ("\nnode Cat { k: String @key }", "\nnode Cat { tag: String @key }"),
        ("\nedge Owns: P -> P", "\nnode Q { k: String @key }\nedge Owns: P -> Q"),
    ],
    ids=["other keys", "other ends"],
)
def test_types_of_one_name_that_cannot_hold_the_same_entities_are_two(tmp_path: Path, main: str, x: str) -> None:
    graph = parted(tmp_path, BASE + main, BASE + x)
    if "Cat" in main:
        graph.load([{"type": "Cat", "data": {"k": "tom"}}])
        done = graph.load([{"type": "Cat", "data": {"tag": "tom"}}], branch="x").commit
    else:
        graph.load([{"edge": "Owns", "from": "a", "to": "a", "data": {"id": "o"}}])
        graph.load([{"type": "Q", "data": {"k": "a"}}], branch="x")
        done = graph.load([{"edge": "Owns", "from": "a", "to": "a", "data": {"id": "o"}}], branch="x").commit
    assert done is not None
    before = shown(graph)
    assert {c[0] for c in told(graph, "main", "x")} == {"insert", "delete"}
    assert graph.revert(done.id).outcome == "nothing_to_revert"
    assert shown(graph) == before


def test_names_swapped_one_at_a_time_take_their_values_along(tmp_path: Path) -> None:
    """Time travel, diff, revert and merge go by what things are, whatever they are called by now."""
    graph = og.init(tmp_path / "g", "node P { k: String @key  a: I32?  b: I32? }", durability="os")
    graph.load([{"type": "P", "data": {"k": "x", "a": 1, "b": 2}}])
    graph.branches.create("x")
    done = graph.mutate('query q() { update P set { a: 10 } where k = "x" }', branch="x").commit
    assert done is not None
    for text in (
        'c: I32? @rename_from("a")  b: I32?',
        'c: I32?  a: I32? @rename_from("b")',
        'b: I32? @rename_from("c")  a: I32?',
    ):
        graph.apply_schema(f"node P {{ k: String @key  {text} }}", branch="x")
    assert shown(graph, "x")["P", "x"] == {"a": 2, "b": 10}
    assert shown(graph, at=done.id)["P", "x"] == {"a": 10, "b": 2}
    assert told(graph, "main", "x") == {("update", "P", "x", ("b",))}
    assert told(graph, "x", "main") == {("update", "P", "x", ("a",))}
    assert graph.revert(done.id, branch="x").outcome == "reverted"
    assert shown(graph, "x")["P", "x"] == {"a": 2, "b": 1}
    assert graph.merge("x").outcome == "fast_forward"
    assert shown(graph)["P", "x"] == {"a": 2, "b": 1}
    with pytest.raises(og.SchemaIdentityError, match="names cannot be swapped in one change"):
        graph.apply_schema('node P { k: String @key  a: I32? @rename_from("b")  b: I32? @rename_from("a") }')
    assert shown(graph)["P", "x"] == {"a": 2, "b": 1}
