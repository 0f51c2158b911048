"""Schemas that two branches changed apart: what is compared with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

BASE = "node P { k: String @key  n: I32? }\nedge R: P -> P"


def parted(folder: Path, *, main: tuple[str, ...], x: tuple[str, ...]) -> og.Graph:
    """A graph whose branches `main` and `x` each went through some schemas."""
    g = og.init(folder / "g", schema=BASE)
    g.load([{"type": "P", "data": {"k": "a", "n": 1}}])
    g.branches.create("x")
    for branch, schemas in (("main", main), ("x", x)):
        for schema in schemas:
            g.apply_schema(schema, branch=branch)
    return g


def told(g: og.Graph, before: str = "main", after: str = "x", **chosen: Any) -> list[tuple[Any, ...]]:
    return [(c.op, c.type, c.id, c.properties) for c in g.diff(before, after, **chosen).changes]


def with_property(text: str) -> str:
    return BASE.replace("n: I32?", f"n: I32?  {text}")


def test_properties_added_apart_are_two_though_they_have_one_number(tmp_path: Path) -> None:
    g = parted(tmp_path, main=(with_property("height: I32?"),), x=(with_property("shoe: I32?"),))
    g.mutate('query q() { update P set { height: 180 } where k = "a" }')
    g.mutate('query q() { update P set { shoe: 180 } where k = "a" }', branch="x")
    assert told(g) == [("update", "P", "a", ("shoe",))]
    assert told(g, "x", "main") == [("update", "P", "a", ("height",))]
    (change,) = g.diff("main", "x").changes
    assert change.before is not None
    assert change.before.properties["shoe"] is None


def test_properties_of_one_name_added_apart_are_compared_whatever_their_numbers(tmp_path: Path) -> None:
    both = with_property("height: I32?  shoe: I32?")
    g = parted(tmp_path, main=(with_property("height: I32?"), both), x=(with_property("shoe: I32?"), both))
    for branch in ("main", "x"):
        g.mutate('query q() { update P set { height: 180, shoe: 43 } where k = "a" }', branch=branch)
    assert told(g) == []
    g.mutate('query q() { update P set { shoe: 44 } where k = "a" }', branch="x")
    assert told(g) == [("update", "P", "a", ("shoe",))]


def test_a_name_that_both_added_with_other_values_is_two_properties(tmp_path: Path) -> None:
    g = parted(tmp_path, main=(with_property("born: I32?"),), x=(with_property("born: Date?"),))
    g.mutate('query q() { update P set { born: 5 } where k = "a" }')
    g.mutate('query q() { update P set { born: date("2024-01-01") } where k = "a" }', branch="x")
    assert told(g) == [("update", "P", "a", ("born",))]
    assert told(g, "x", "main") == [("update", "P", "a", ("born",))]


def test_types_added_apart_are_matched_by_name(tmp_path: Path) -> None:
    cat, dog = "\nnode Cat { n: String @key }", "\nnode Dog { n: String @key }"
    g = parted(tmp_path, main=(BASE + cat, BASE + cat + dog), x=(BASE + dog, BASE + cat + dog))
    g.mutate('query q() { insert Cat { n: "tom" } }')
    g.mutate('query q() { insert Dog { n: "tom" } }', branch="x")
    assert sorted(told(g)) == [("delete", "Cat", "tom", ()), ("insert", "Dog", "tom", ())]
    assert told(g, types="Dog") == [("insert", "Dog", "tom", ())]
    g.mutate('query q() { insert Cat { n: "tom" } }', branch="x")
    assert told(g) == [("insert", "Dog", "tom", ())]


def test_what_was_there_before_they_parted_is_matched_by_identity(tmp_path: Path) -> None:
    renamed = BASE.replace("node P", 'node Person @rename_from("P")').replace("P -> P", "Person -> Person")
    g = parted(tmp_path, main=(with_property("height: I32?"),), x=(renamed,))
    g.mutate('query q() { update Person set { n: 2 } where k = "a" }', branch="x")
    assert told(g) == [("update", "Person", "a", ("n",))]


def test_the_same_change_on_both_sides_can_be_merged(tmp_path: Path) -> None:
    g = parted(tmp_path, main=(with_property("height: I32?"),), x=(with_property("height: I32?"),))
    g.mutate('query q() { update P set { height: 180 } where k = "a" }', branch="x")
    assert g.merge("x", into="main").commit is not None
    assert told(g) == []


def test_schemas_that_went_apart_cannot_be_merged_and_the_error_says_so(tmp_path: Path) -> None:
    g = parted(tmp_path, main=(with_property("height: I32?"),), x=(with_property("shoe: I32?"),))
    with pytest.raises(og.SchemaBoundary, match="have both changed since they diverged"):
        g.merge("x", into="main")
