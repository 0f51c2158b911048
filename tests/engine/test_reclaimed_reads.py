"""Whoever holds a view of a commit that cleanup takes is told that it was reclaimed, or answered from memory: never that a file is missing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.reclaiming.reclaim import reclaim

SCHEMA = """
node P { k: String @key  n: I64 @index  text: String? @index  vec: Vector(2)?  photo: Blob? }
edge E: P -> P
"""


def people(*numbers: int) -> list[dict[str, object]]:
    return [
        {"type": "P", "data": {"k": f"k{n}", "n": n, "text": f"word{n % 7} x", "vec": [n, 1.0], "photo": "base64:YQ=="}}
        for n in numbers
    ]


READS: dict[str, Callable[[og.Graph, str], object]] = {
    "another column": lambda g, at: g.query("query q() { match { $p: P } return { $p.text } }", at=at).rows,
    "by value": lambda g, at: g.query("query q() { match { $p: P { n: 7 } } return { $p.text } }", at=at).rows,
    "by id": lambda g, at: g.query('query q() { match { $p: P { k: "k7" } } return { $p.text } }', at=at).rows,
    "words": lambda g, at: g.query('query q() { match { $p: P  search($p.text, "word3") } return { $p.k } }', at=at).rows,
    "near": lambda g, at: (
        g.query(
            "query q($v: Vector(2)) { match { $p: P } return { $p.k } order { nearest($p.vec, $v) } limit 3 }",
            params={"v": [1.0, 2.0]},
            at=at,
        ).rows
    ),
    "hops": lambda g, at: g.query("query q() { match { $a: P  $a e $b } return { $a.k, $b.text } }", at=at).rows,
    "diff": lambda g, at: list(g.diff(at, "main").changes),
}


@pytest.mark.parametrize("name", READS)
def test_a_kept_view_of_a_reclaimed_commit_says_so(tmp_path: Path, name: str) -> None:
    with og.init(tmp_path / "g", SCHEMA, durability="os") as graph:
        graph.load(people(*range(300)))
        graph.load([{"edge": "E", "from": f"k{n}", "to": f"k{n + 1}", "data": {}} for n in range(200)])
        graph.mutate("query m() { delete P where n > 290 }")
        old = graph.commits()[0].id
        graph.load([*people(*range(20)), {"edge": "E", "from": "k1", "to": "k2", "data": {}}], mode="overwrite")
        graph.optimize()
        held = og.open(tmp_path / "g", read_only=True)
        held.query("query q() { match { $p: P } return { $p.k } }", at=old)
        right = _outcome(READS[name], og.open(tmp_path / "g", read_only=True), old)
        reclaim(graph._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)
        assert _outcome(READS[name], held, old) in (right, "reclaimed")
        assert _outcome(READS[name], og.open(tmp_path / "g", read_only=True), old) == "reclaimed"


def _outcome(read: Callable[[og.Graph, str], object], graph: og.Graph, at: str) -> str:
    try:
        return str(read(graph, at))
    except og.HistoryReclaimed:
        return "reclaimed"


def test_a_handle_goes_on_writing_after_a_cleanup(tmp_path: Path) -> None:
    """What it knows of earlier commits may be gone: the newest one says the same."""
    made = og.init(tmp_path / "g", "node P { name: String @key  age: I32? }  edge K: P -> P { w: I32? }")
    nodes = [{"type": "P", "data": {"name": f"n{n}"}} for n in range(300)]
    made.load([*nodes, *({"edge": "K", "from": f"n{n}", "to": "n1", "data": {"w": n}} for n in range(300))])
    made.mutate("query q() { delete K where w in [10, 20] }")
    made.mutate('query q() { delete P where name = "n30" }')
    stays = og.open(made.uri)
    stays.query("query q() { match { $a: P  $a k $b } return { count($b) as c, max($a.age) as m } }")
    made.mutate("query q() { delete K where w in [11, 21] }")
    made.mutate('query q() { delete P where name = "n31" }')
    reclaim(og.open(made.uri)._store, keep=1, older_than=timedelta(0), grace=timedelta(0), dry_run=False)
    done = [
        stays.mutate(f"query q() {{ {statement} }}")
        for statement in (
            'insert K { from: "n5", to: "n6" }',
            'update K set { w: 1 } where from = "n5"',
            'delete K where from = "n7"',
            'update P set { age: 1 } where name = "n50"',
            'delete P where name = "n51"',
        )
    ]
    assert [(r.affected_nodes, r.affected_edges) for r in done] == [(0, 1), (0, 2), (0, 1), (1, 0), (1, 1)]
    assert og.open(made.uri).query('query q() { match { $p: P { name: "n50" } } return { $p.age as a } }').one() == {"a": 1}
