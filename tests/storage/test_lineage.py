"""The graph that commits form: ancestors and merge bases, without storage."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage.commits.lineage import (
    ParentsOf,
    ancestors,
    first_parents,
    is_ancestor,
    merge_base,
    merge_bases,
    nearest_ancestor,
    only_of,
)

Dag = Mapping[str, tuple[str, ...]]
"""Parents by commit. A name that sorts after another is younger, as ULIDs do."""


def read(text: str) -> Dag:
    """`a b<a c<a,b` as a graph."""
    parts = (word.partition("<") for word in text.split())
    return {name: tuple(parents.split(",")) if parents else () for name, _, parents in parts}


def looking_up(dag: Dag) -> ParentsOf:
    return lambda name: dag[name]


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("dag", "first", "second", "base"),
    [
        pytest.param("a", "a", "a", "a", id="a commit and itself"),
        pytest.param("a b<a c<b", "a", "c", "a", id="an ancestor and its descendant"),
        pytest.param("a b<a c<a", "b", "c", "a", id="two children"),
        pytest.param("a b<a c<b d<b e<d", "c", "e", "b", id="branches of different length"),
        pytest.param("a b", "a", "b", None, id="nothing in common"),
        pytest.param("a b<a c<b e<c d<b f<d,e g<e", "f", "g", "e", id="the example of the module: a merged branch that went on"),
        pytest.param("a b<a c<a d<b,c e<d", "e", "c", "c", id="the side that was merged is the base"),
        pytest.param("a b<a c<a d<b,c e<c f<d g<e", "f", "g", "c", id="after one merge the base is what was merged"),
        pytest.param("a b<a c<a d<b,c e<c,b", "d", "e", "c", id="criss-cross: of two equally near the younger"),
        pytest.param("a b<a c<a d<b,c e<c,b f<d g<e", "g", "f", "c", id="criss-cross further on, other way round"),
        pytest.param("a b<a c<a d<b,c e<c,b x<d,e y<e,d", "x", "y", "e", id="criss-cross of a criss-cross"),
        pytest.param(
            "a b<a c<b d<c e<d f<a,e g<e", "f", "g", "e", id="a short cut through the merge, a long way by first parents"
        ),
        pytest.param("a b<a c<a d<b,c f<d e<c,b g<f,e", "g", "d", "d", id="an ancestor through the first parent"),
        pytest.param(
            "b c<b x<c m<b n<b p<x q<p r<q s<x t<s u<t v<r,m w<u,n",
            "v",
            "w",
            "x",
            id="one that descends from a nearer one",
        ),
    ],
)
def test_examples_of_merge_bases(dag: str, first: str, second: str, base: str | None) -> None:
    parents_of = looking_up(read(dag))
    assert merge_base(first, second, parents_of) == base
    assert merge_base(second, first, parents_of) == base


def test_distances_are_the_least() -> None:
    assert ancestors("e", looking_up(read("a b<a c<b d<c e<d,a"))) == {"e": 0, "d": 1, "a": 1, "c": 2, "b": 3}


def test_first_parents_follow_one_line() -> None:
    assert list(first_parents("d", looking_up(read("a b<a c<a d<b,c")))) == ["d", "b", "a"]


def test_a_long_line_needs_no_recursion() -> None:
    line = {f"{n:06d}": (f"{n - 1:06d}",) if n else () for n in range(20_000)}
    assert is_ancestor("000000", "019999", looking_up(line))
    assert merge_base("010000", "019999", looking_up(line)) == "010000"


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    """Commits with at most two parents, each older than its child; mostly near ones, so that merges cross."""
    dag: dict[str, tuple[str, ...]] = {}
    for number in range(draw(st.integers(1, 14))):
        older = list(dag)[-5:]
        parents = draw(st.lists(st.sampled_from(older), max_size=2, unique=True)) if older else []
        dag[f"c{number:02d}"] = tuple(parents)
    return dag


@st.composite
def dags_with_two_commits(draw: st.DrawFn) -> tuple[Dag, str, str]:
    dag = draw(dags())
    return dag, draw(st.sampled_from(sorted(dag))), draw(st.sampled_from(sorted(dag)))


def distances(dag: Dag, start: str) -> dict[str, int]:
    """Least distances by relaxing every edge until nothing changes: slow, and another way than the one under test."""
    found = {start: 0}
    while True:
        closer = {
            parent: found[child] + 1
            for child in found
            for parent in dag[child]
            if found.get(parent, len(dag) + 1) > found[child] + 1
        }
        if not closer:
            return found
        found.update(closer)


@given(dags_with_two_commits())
def test_ancestors_are_what_can_be_reached(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    assert ancestors(first, looking_up(dag)) == distances(dag, first)
    assert is_ancestor(second, first, looking_up(dag)) == (second in distances(dag, first))


@given(dags_with_two_commits())
def test_the_nearest_common_ancestor_and_of_those_the_youngest(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    near, far = distances(dag, first), distances(dag, second)
    expected = None
    for name in sorted(near.keys() & far.keys()):
        if expected is None or near[name] + far[name] <= near[expected] + far[expected]:
            expected = name
    assert nearest_ancestor(first, second, looking_up(dag)) == expected


def test_a_shorter_way_to_an_older_ancestor_does_not_count() -> None:
    dag = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",), "e": ("d",), "x": ("a",), "z": ("e", "x")}
    assert nearest_ancestor("b", "z", dag.__getitem__) == "a"
    assert merge_base("b", "z", dag.__getitem__) == "b"


@given(dags_with_two_commits())
def test_a_merge_base_does_not_depend_on_the_order(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    assert merge_base(first, second, looking_up(dag)) == merge_base(second, first, looking_up(dag))


@given(dags_with_two_commits())
def test_a_merge_base_is_an_ancestor_of_both_and_its_own_base_with_each(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    parents_of = looking_up(dag)
    base = merge_base(first, second, parents_of)
    if base is None:
        assert not ancestors(first, parents_of).keys() & ancestors(second, parents_of).keys()
        return
    for side in (first, second):
        assert is_ancestor(base, side, parents_of)
        assert merge_base(base, side, parents_of) == base


@given(dags_with_two_commits())
def test_a_merge_base_is_one_of_the_two_exactly_when_that_one_is_an_ancestor_of_the_other(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    parents_of = looking_up(dag)
    base = merge_base(first, second, parents_of)
    if is_ancestor(first, second, parents_of):
        assert base == first
    elif is_ancestor(second, first, parents_of):
        assert base == second
    else:
        assert base not in (first, second)


# ── every merge base ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_criss_cross_has_two_bases() -> None:
    dag = looking_up(read("a b<a c<a d<b,c e<c,b f<d g<e"))
    assert merge_bases("f", "g", dag) == ("c", "b")
    assert merge_bases("f", "d", dag) == ("d",)
    assert merge_bases("a", "a", dag) == ("a",)


def maximal(dag: Dag, first: str, second: str) -> set[str]:
    common = distances(dag, first).keys() & distances(dag, second).keys()
    return {name for name in common if not any(name in distances(dag, other) for other in common - {name})}


@given(dags_with_two_commits())
def test_all_merge_bases_are_the_common_ancestors_nothing_common_descends_from(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    assert set(merge_bases(first, second, looking_up(dag))) == maximal(dag, first, second)


@given(dags_with_two_commits(), st.randoms())
def test_wrong_clocks_cost_no_merge_base(given_: tuple[Dag, str, str], random: Random) -> None:
    dag, first, second = given_
    other = dict(zip(dag, random.sample(sorted(dag), len(dag)), strict=True))
    renamed = {other[name]: tuple(other[p] for p in parents) for name, parents in dag.items()}
    found = set(merge_bases(other[first], other[second], looking_up(renamed)))
    common = distances(renamed, other[first]).keys() & distances(renamed, other[second]).keys()
    assert maximal(renamed, other[first], other[second]) <= found <= common


@given(dags_with_two_commits())
def test_what_only_one_of_two_commits_descends_from(given_: tuple[Dag, str, str]) -> None:
    dag, first, second = given_
    assert only_of(first, second, looking_up(dag)) == distances(dag, first).keys() - distances(dag, second).keys()


def test_looking_for_bases_stays_near() -> None:
    """What it costs follows how far two commits have grown apart, not how long their history is."""
    line = {f"{n:06d}": (f"{n - 1:06d}",) if n else () for n in range(5_000)}
    line |= {"x1": ("004990",), "x2": ("x1",)}
    asked: list[str] = []

    def parents_of(name: str) -> tuple[str, ...]:
        asked.append(name)
        return line[name]

    assert merge_base("x2", "004999", parents_of) == "004990"
    assert merge_bases("x2", "004999", parents_of) == ("004990",)
    assert len(asked) < 60
