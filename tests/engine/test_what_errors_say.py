"""What errors of reading, merging and damage tell people: what is wrong, and something to do that the message has not said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.reclaiming.reclaim import reclaim
from omnigraph.surfaces.cli.change_text import conflict_lines

SCHEMA = "node A { k: String @key  n: I32?  @range(n, 0..100) }\nedge E: A -> A"
NUMBERED = "query q($n: I32) { match { $a: A { n: $n } } return { $a } }"
ALL = "query q() { match { $a: A } return { $a } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g.omni", schema=SCHEMA)
    graph.load([{"type": "A", "data": {"k": "a", "n": 1}}, {"edge": "E", "from": "a", "to": "a"}])
    return graph


def test_a_resolution_that_breaks_a_rule_is_told_which(graph: og.Graph) -> None:
    graph.branches.create("work")
    for branch, number in (("work", 10), ("main", 20)):
        graph.mutate(f'query m() {{ update A set {{ n: {number} }} where k = "a" }}', branch=branch)
    key = "divergent_update:node:A:a"
    with pytest.raises(og.MergeConflict, match=r"`n` is 500, outside 0\.\.100") as raised:
        graph.merge("work", resolve={key: {"n": 500}})
    (conflict,) = raised.value.conflicts
    assert isinstance(conflict, og.Conflict)
    assert [line for line in conflict_lines(conflict) if "is 500, outside 0..100" in line]
    with pytest.raises(og.MergeConflict, match="there is no conflict divergent_update:node:A:zz"):
        graph.merge("work", resolve={"divergent_update:node:A:zz": "ours"})
    with pytest.raises(og.UsageError, match="there is no conflict divergent_update:node:A:zz"):
        graph.merge("work", resolve={key: "ours", "divergent_update:node:A:zz": "ours"})


HINTS: dict[str, tuple[Callable[[og.Graph], object], str]] = {
    "parameter": (lambda g: g.query(NUMBERED, {"n": "x"}), "Give a number without a fraction, as 5."),
    "no parameter": (lambda g: g.query(NUMBERED), 'It is I32. Give it among the parameters: params={"n": "…"}.'),
    "quotes": (lambda g: g.query(ALL, timeout="5"), "Leave out the quotes: 5."),  # type: ignore[arg-type]
    "types": (lambda g: g.export("x.jsonl", types=["Nope"]), "There are `A`, `E`."),
}


@pytest.mark.parametrize("name", HINTS)
def test_hints_say_something_new(graph: og.Graph, name: str) -> None:
    ask, hint = HINTS[name]
    with pytest.raises(og.GraphError) as raised:
        ask(graph)
    assert raised.value.hint == hint


def test_small_amounts_of_memory_are_not_nothing(graph: og.Graph) -> None:
    with (
        og.open(graph.uri, memory=100) as small,
        pytest.raises(og.ResourceLimit, match="about 152 bytes, but only 100 bytes may be used"),
    ):
        small.analytics.pagerank()


@pytest.mark.parametrize("cleaned", [False, True])
def test_what_is_lost_was_not_reclaimed(graph: og.Graph, tmp_path: Path, cleaned: bool) -> None:
    """Only a cleanup reclaims, and never what the newest state of a branch rests on."""
    graph.load([{"type": "A", "data": {"k": "b"}}])
    if cleaned:
        nothing = timedelta(0)
        assert reclaim(graph._store, keep=1, older_than=nothing, grace=nothing, dry_run=False).commits_reclaimed
    graph.close()
    for version in (tmp_path / "g.omni" / "nodes").glob("*/_versions/d*"):
        version.unlink()
    with og.open(graph.uri) as fresh, pytest.raises(og.NotFound, match="cannot open nodes") as raised:
        fresh.query(ALL)
    assert "verify" in raised.value.hint


def test_a_manifest_of_nothing_but_zeros_is_damaged(graph: og.Graph, tmp_path: Path) -> None:
    graph.close()
    for version in (tmp_path / "g.omni" / "__manifest").glob("*/_versions/*.manifest"):
        version.write_bytes(bytes(version.stat().st_size))
    with pytest.raises(og.DamagedRecord, match="is damaged"):
        og.open(graph.uri).commits()  # opening alone succeeds, so that verify can look
    assert not og.open(graph.uri).verify().ok
