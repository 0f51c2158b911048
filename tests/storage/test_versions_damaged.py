"""A file that says what a version of a table is made of became something else: nothing is read from it, by whatever handle."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og

ALL = "query q() { match { $p: P } return { $p.k, $p.n } order { $p.k } }"

Damage = Callable[[random.Random, bytearray], bytes]


def _zeros_inside(rng: random.Random, content: bytearray) -> bytes:
    start = rng.randrange(len(content))
    part = content[start : start + rng.randrange(1, 64)]
    return bytes(content[:start]) + bytes(len(part)) + bytes(content[start + len(part) :])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "g"
    graph = og.init(folder, schema="node P { k: String @key  n: I32? }", durability="os")
    graph.load({"P": [{"k": f"p{i}", "n": i} for i in range(300)]})
    graph.tags.create("t", "main")
    graph.put("P", {"k": "p1", "n": 1000})
    graph.mutate('query q() { delete P where k = "p9" }')
    graph.close()
    return folder


@pytest.mark.parametrize("first", [None, "t"])
@pytest.mark.parametrize(
    "damage",
    [lambda _, content: bytes(len(content)), lambda rng, content: bytes(content[: rng.randrange(len(content))]), _zeros_inside],
)
def test_what_is_read_is_right_or_refused(whole: Path, damage: Damage, first: str | None) -> None:
    expected = {state: og.open(whole).query(ALL, at=state).rows for state in (None, "t")}
    rng = random.Random(7)
    for path in sorted(whole.glob("nodes/*/_versions/*")):
        content = path.read_bytes()
        for _ in range(4):
            path.write_bytes(damage(rng, bytearray(content)))
            graph = og.open(whole)
            for state in dict.fromkeys((first, None)):
                try:
                    found = graph.query(ALL, at=state).rows
                except og.UnexpectedError:
                    raise
                except og.GraphError:
                    continue
                assert found == expected[state]
            graph.close()
            path.write_bytes(content)


def test_a_type_does_not_look_empty_to_who_has_read_it_before(whole: Path) -> None:
    og.open(whole).put("P", {"k": "p2", "n": 1})
    newest = max(whole.glob("nodes/*/_versions/d*"), key=lambda path: path.stat().st_mtime_ns)
    content = newest.read_bytes()
    newest.write_bytes(bytes(len(content)))
    try:
        graph = og.open(whole)
        assert len(graph.query(ALL, at="t").rows) == 300
        for ask in (lambda: graph.query(ALL), lambda: graph.get("P", "p1"), lambda: graph.diff("t", "main").changes):
            with pytest.raises(og.StorageError, match="it says it is version 0"):
                ask()
    finally:
        newest.write_bytes(content)
