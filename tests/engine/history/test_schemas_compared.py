"""Whoever reviews a branch sees what it does to the schema: in a diff, in the preview of a merge, and in what came of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = "node P { k: String @key  n: I32? }"


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    graph.load([{"type": "P", "data": {"k": "a", "n": 1}}])
    graph.branches.create("work")
    return graph


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("node P { k: String @key }", "dropped n"),
        ("node P { k: String @key  n: I32?  city: String? }", "added city"),
        ('node P { k: String @key  m: I32? @rename_from("n") }', "renamed n to m"),
        (SCHEMA + " node Q { k: String @key }", "Insert of node type Q"),
    ],
)
def test_what_a_branch_does_to_the_schema_is_shown(g: og.Graph, schema: str, told: str) -> None:
    g.apply_schema(schema, branch="work")
    diff = g.diff("main", "work")
    assert diff.schema is not None
    assert told in repr(diff)
    assert told in diff._repr_html_()
    assert diff.to_dict()["schema"]["types"]
    preview = g.merge("work", dry_run=True)
    assert preview.schema is not None
    assert told in repr(preview)
    assert preview.to_dict()["schema"] == diff.to_dict()["schema"]
    done = g.merge("work")
    assert done.schema == preview.schema
    assert g.diff("main", "work").schema is None


def test_a_drop_in_one_direction_is_an_addition_in_the_other(g: og.Graph) -> None:
    g.apply_schema("node P { k: String @key }", branch="work")
    there, back = g.diff("main", "work").schema, g.diff("work", "main").schema
    assert there is not None
    assert back is not None
    assert (there.types[0].dropped, back.types[0].added) == (("n",), ("n",))


def test_one_schema_says_nothing(g: og.Graph) -> None:
    g.mutate('query q() { insert P { k: "b" } }', branch="work")
    assert g.diff("main", "work").schema is None
    assert "schema" not in g.diff("main", "work").to_dict()
    assert g.merge("work", dry_run=True).schema is None
