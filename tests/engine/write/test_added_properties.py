"""A type that was given properties later takes every kind of write as one that was made with them: columns are matched by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

import omnigraph as og

Mode = Literal["merge", "append", "overwrite"]

FIRST = "node P { k: String @key  p: I32? }\nnode Q { z: String }\nedge E: P -> P { p: I32? }"
LATER = """
node P { a: [I32]?  k: String @key  b: Blob?  p: I32?  c: I32? @range(c, 0..5)  v: Vector(2)? }
node Q { y: F64?  z: String }
edge E: P -> P { a: String?  p: I32?  c: I32? }
"""


def p(key: str, **data: object) -> dict[str, object]:
    return {"type": "P", "data": {"k": key, **data}}


def q(id_: str, **data: object) -> dict[str, object]:
    return {"type": "Q", "data": {"id": id_, **data}}


def e(id_: str, start: str, end: str, **data: object) -> dict[str, object]:
    return {"edge": "E", "from": start, "to": end, "data": {"id": id_, **data}}


def ids_twice(graph: og.Graph, _: Path) -> None:
    graph.load([q("1", z="old", y=1.5), q("1", z="new", y=2.5), e("e1", "a", "b", c=1), e("e1", "a", "b", c=2, a="x")])


def quarantined(graph: og.Graph, folder: Path) -> None:
    bad = [p("a", p=1, c=2, a=[1]), p("b", c=9), e("e1", "a", "nobody"), e("e2", "a", "a", c=3), p("n", c=1, b="base64:aGk=")]
    graph.load(bad, quarantine=str(folder / "bad"), max_bad=0.9)


def loaded(mode: Mode) -> Callable[[og.Graph, Path], None]:
    def write(graph: og.Graph, _: Path) -> None:
        new = [p("c", c=4, v=[1.0, 2.0]), q("9", z="t", y=3.0), e("e5", "c", "c", c=1)]
        graph.load(new if mode != "overwrite" else [*new, p("a", p=7)], mode=mode)

    return write


def mutated(graph: og.Graph, _: Path) -> None:
    for number in range(40):  # enough to be folded
        graph.mutate(f'query q() {{ insert P {{ k: "n{number}", c: {number % 5}, p: {number} }} }}')
    graph.mutate('query q() { update P set { c: 3 } where k = "a" }')
    graph.mutate('query q() { delete P where k = "b" }')


def merged(graph: og.Graph, _: Path) -> None:
    graph.branches.create("work")
    graph.mutate('query q() { update P set { c: 3 } where k = "a" }', branch="work")
    graph.load([p("new", c=1)], branch="work")
    graph.mutate('query q() { update P set { p: 9 } where k = "a" }')
    graph.merge("work")


def reverted(graph: og.Graph, _: Path) -> None:
    graph.mutate('query q() { update P set { c: 3, p: 4 } where k = "a" }')
    done = graph.commits(limit=1)[0].id
    graph.mutate('query q() { update P set { c: 3 } where k = "b" }')
    graph.revert(done)


WRITES: dict[str, Callable[[og.Graph, Path], None]] = {
    "ids given twice": ids_twice,
    "quarantine": quarantined,
    "merge": loaded("merge"),
    "append": loaded("append"),
    "overwrite": loaded("overwrite"),
    "mutations": mutated,
    "a merge of branches": merged,
    "a revert": reverted,
}


def begun(folder: Path, *, later: bool) -> og.Graph:
    graph = og.init(folder / "g", schema=FIRST if later else LATER)
    graph.load([p("a", p=1), p("b", p=2), q("0", z="o"), e("e0", "a", "b", p=1)])
    if later:
        graph.apply_schema(LATER)
    return graph


def contents(graph: og.Graph, folder: Path) -> list[str]:
    graph.export(str(folder / "out.jsonl"))
    return sorted((folder / "out.jsonl").read_text().splitlines())


@pytest.mark.parametrize("name", WRITES)
def test_a_type_that_grew_is_written_to_as_one_that_did_not(tmp_path: Path, name: str) -> None:
    found = []
    for later in (True, False):
        folder = tmp_path / str(later)
        folder.mkdir()
        graph = begun(folder, later=later)
        WRITES[name](graph, folder)
        found.append(contents(graph, folder))
        graph.optimize()
        assert contents(graph, folder) == found[-1]
        assert graph.verify(content=True).ok
    assert found[0] == found[1]
