"""Files of a graph that are lost or hold something else: what they said is named as missing, and nothing else is answered in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.graph import Graph

SCHEMA = "node P { k: String @key }"


@pytest.fixture
def g(tmp_path: Path) -> Graph:
    graph = og.init(tmp_path / "g", SCHEMA, durability="os", save_from=None)
    for number in range(4):
        add(graph, f"k{number}")
    return graph


def add(graph: Graph, key: str, branch: str = "main") -> None:
    graph.mutate("query q($k: String) { insert P { k: $k } }", {"k": key}, branch=branch)


@pytest.mark.parametrize(
    "damage",
    [lambda said: bytes(len(said)), lambda said: b"", lambda said: said + b"more", lambda said: said[:-9]],
    ids=["zeros", "empty", "more", "cut"],
)
def test_the_damaged_record_of_a_deleted_tag_is_named_and_hides_no_other(
    g: Graph, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    for name in ("a", "b", "c"):
        g.tags.create(name, "main")
        g.tags.delete(name, actor="ada")
    path = tmp_path / "g" / "__deleted_tags" / "b"
    path.write_bytes(damage(path.read_bytes()))
    shown = {deleted.tag.name: deleted for deleted in g.tags.deleted()}
    assert [(name, deleted.deleted_by) for name, deleted in shown.items()] == [("a", "ada"), ("b", None), ("c", "ada")]
    assert "__deleted_tags/b is damaged" in shown["b"].tag.commit
    assert "is damaged" in repr(shown["b"])
    assert [(p.kind.name, p.path) for p in g.verify().problems] == [("RECORD", "__deleted_tags/b")]
    g.tags.create("b", "main")
    g.tags.delete("b", actor="bob")
    assert g.verify().ok
    assert [deleted.deleted_by for deleted in g.tags.deleted()] == ["ada", "bob", "ada"]
