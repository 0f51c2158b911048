"""The ledger: its laws, and that nobody pays for lookups what building costs, and then builds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.engine.cost import ledger
from omnigraph.engine.cost.ledger import Account, EdgeFacts

counts = st.integers(0, 50_000_000)
facts = st.builds(
    EdgeFacts, counts, counts, unread_ids=counts, indexed=st.booleans(), numbered=st.booleans(), ways=st.sampled_from((1, 2))
)
amounts = st.floats(0, 1e4)


@given(facts, st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_more_nodes_never_cost_less(about: EdgeFacts, some: int, others: int) -> None:
    few, many = sorted((some, others))
    assert ledger.lookup_seconds(about, few) <= ledger.lookup_seconds(about, many)


@given(facts, counts)
def test_more_edges_never_cost_less(about: EdgeFacts, edges: int) -> None:
    more = replace(about, edges=about.edges + edges)
    assert ledger.building_seconds(about) <= ledger.building_seconds(more)
    assert ledger.lookup_seconds(about, 100) <= ledger.lookup_seconds(more, 100)


@given(facts, st.integers(1, 1_000_000))
def test_an_index_and_what_is_in_memory_never_cost_more(about: EdgeFacts, nodes: int) -> None:
    with_index = replace(about, indexed=True)
    assert ledger.lookup_seconds(with_index, nodes) <= ledger.lookup_seconds(replace(about, indexed=False), nodes)
    assert ledger.building_seconds(replace(about, numbered=True)) <= ledger.building_seconds(replace(about, numbered=False))
    assert ledger.building_seconds(replace(about, unread_ids=0)) <= ledger.building_seconds(about)


@given(facts, amounts, amounts)
def test_the_switch_is_where_lookups_cost_as_much_as_building(about: EdgeFacts, spent: float, ahead: float) -> None:
    chosen = ledger.choose(about, Account(spent), ahead)
    assert chosen.lookup == (about.edges > ledger.SMALL and spent + ahead < ledger.building_seconds(about))


@given(facts, amounts, amounts, amounts)
def test_who_spent_more_never_goes_back_to_lookups(about: EdgeFacts, spent: float, more: float, ahead: float) -> None:
    if not ledger.choose(about, Account(spent), ahead).lookup:
        assert not ledger.choose(about, Account(spent + more), ahead).lookup


@given(facts, st.lists(st.floats(1e-4, 1.0), max_size=200))
def test_nobody_pays_more_for_lookups_than_for_building_before_it_is_built(about: EdgeFacts, taken: list[float]) -> None:
    """Whatever lookups really take: only the last of them may go beyond, and it was not known to."""
    account = Account()
    for seconds in taken:
        if not ledger.choose(about, account, 0.0).lookup:
            break
        before = account.spent
        account.charge(seconds)
        assert before < ledger.building_seconds(about)


def test_time_that_is_taken_is_charged_even_if_it_fails() -> None:
    account = Account()
    with pytest.raises(ValueError, match="no disk"), account.timed():
        raise ValueError("no disk")
    assert account.spent > 0
    assert account.lookups == 1


def test_a_choice_says_why() -> None:
    about = EdgeFacts(5_000_000, 1_000_000, unread_ids=1_000_000, indexed=True)
    assert "<" in str(ledger.choose(about, Account(), ledger.lookup_seconds(about, 1)))
    assert "spent" in str(ledger.choose(about, Account(1.0), 0.0))
    assert "≥" in str(ledger.choose(about, Account(), ledger.lookup_seconds(about, 1_000_000)))


# ── a graph of which nothing is in memory ────────────────────────────────────────────────────────────────────────────────────

NODES, EDGES = 40_000, 200_000
SCHEMA = "node P { name: String @key  group: I32 }  edge Knows: P -> P"
HOP_OVER_ALL = "query q() { match { $a: P $a knows $b } return { $b.group, count($a) as n } }"
HOP_FROM_ONE = "query q($n: String) { match { $a: P { name: $n } $a knows $b } return { $b.name } }"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ledger") / "graph"
    random = np.random.default_rng(3)
    names = pa.array([f"p{n:05d}" for n in range(NODES)])
    ends = [names.take(pa.array(random.integers(0, NODES, EDGES))) for _ in range(2)]
    with og.init(place, schema=SCHEMA, durability="os", save_from=None) as g:
        g.load({"P": pa.table({"name": names, "group": pa.array(np.arange(NODES) % 7, pa.int32())})}, mode="append")
        g.load({"Knows": pa.table({"src": ends[0], "dst": ends[1]})}, mode="append")
        g.optimize()
    return place


@pytest.fixture
def cold(path: Path) -> Iterator[og.Graph]:
    with og.open(path, save_from=None) as g:
        yield g


def _edges(g: og.Graph) -> Any:
    return g._view().edges("Knows")


def test_a_hop_over_all_nodes_builds_without_lookups(cold: og.Graph) -> None:
    assert sum(row["n"] for row in cold.query(HOP_OVER_ALL).rows) == EDGES - _parallel(cold)
    assert _edges(cold).account.lookups == 0


def test_a_hop_from_one_node_builds_nothing(cold: og.Graph) -> None:
    cold.query(HOP_FROM_ONE, {"n": "p00017"})
    assert _edges(cold).built == 0
    assert _edges(cold).account.lookups == 1


def test_whoever_asks_again_and_again_builds_at_the_break_even(cold: og.Graph) -> None:
    edges = _edges(cold)
    for number in range(2_000):
        before = edges.account.spent
        cold.query(HOP_FROM_ONE, {"n": f"p{number:05d}"})
        if edges.built:
            break
        assert before < ledger.building_seconds(replace(edges.facts(_out()), unread_ids=NODES))
    assert edges.built == 1


def test_a_lookup_that_takes_longer_than_building_is_ended(cold: og.Graph) -> None:
    """Estimates may be wrong: what was taken counts."""
    edges = _edges(cold)
    edges.source.load()
    asked: list[float] = []

    def go_on(done: float) -> bool:
        asked.append(done)
        return False

    nodes = np.arange(3 * ledger.LOOKUP_NODES, dtype=np.int64)
    assert edges.look_up(nodes, _out(), positions=False, go_on=go_on) is None
    assert len(asked) == 1
    assert edges.account.lookups == 1


@pytest.mark.parametrize("budget", [1 << 16, 1 << 30], ids=["64 kB", "1 GB"])
def test_a_query_builds_at_most_once_however_little_is_kept(path: Path, budget: int) -> None:
    with og.open(path, memory=budget, save_from=None) as g:
        rows = g.query(HOP_OVER_ALL, memory_limit=1 << 28).rows
        assert _edges(g).built <= 1
        assert rows == g.query(HOP_OVER_ALL, traversal="csr").rows


def test_explain_says_which_way_was_taken_and_why(cold: og.Graph) -> None:
    lookups = cold.explain(HOP_FROM_ONE, {"n": "p00003"}, analyze=True)
    assert any("<" in note and "building" in note for line in lookups.lines for note in line.notes)
    two_hops = "query q() { match { $a: P { group: 3 } $a knows $b $b knows $c } return { count(distinct $c) as n } }"
    adjacency = cold.explain(two_hops, analyze=True)
    assert any("≥" in note and "building" in note for line in adjacency.lines for note in line.notes)


def test_what_a_load_has_written_is_not_read_again(tmp_path: Path) -> None:
    names = pa.array([f"n{n}" for n in range(5_000)])
    with og.init(tmp_path / "graph", schema="node P { name: String @key }  edge Knows: P -> P", save_from=None) as g:
        knows = pa.table({"src": names, "dst": names.take(pa.array(np.arange(5_000)[::-1].copy()))})
        g.load({"P": pa.table({"name": names}), "Knows": knows}, mode="append")
        g._reconciler.wait()
        for file in [*(tmp_path / "graph").glob("nodes/*/data/*"), *(tmp_path / "graph").glob("edges/*/data/*")]:
            file.unlink()
        rows = g.query("query q() { match { $a: P $a knows $b } return { $a.name, $b.name as other } }").rows
        assert {(row["a.name"], row["other"]) for row in rows} == {(f"n{n}", f"n{4_999 - n}") for n in range(5_000)}


def test_what_is_on_disk_and_what_was_just_written_go_together(tmp_path: Path) -> None:
    names = pa.array([f"n{n}" for n in range(6)])
    ask = "query q() { match { $a: P $a knows $b } return { $a.name, $b.name as other } order { $a.name } }"

    def knows(*ends: int) -> pa.Table:
        return pa.table({"src": names.take(pa.array(ends)), "dst": names.take(pa.array([end - 1 for end in ends]))})

    with og.init(tmp_path / "graph", schema="node P { name: String @key }  edge Knows: P -> P", save_from=None) as g:
        g.load({"P": pa.table({"name": names}), "Knows": knows(1, 2)}, mode="append")
    with og.open(tmp_path / "graph", save_from=None) as g:
        g.load({"Knows": knows(3)}, mode="append")
        g.load({"P": pa.table({"name": ["m"]}), "Knows": pa.table({"src": ["m"], "dst": ["n5"]})}, mode="merge")
        expected = [("m", "n5"), ("n1", "n0"), ("n2", "n1"), ("n3", "n2")]
        assert [(row["a.name"], row["other"]) for row in g.query(ask).rows] == expected
        g.load({"Knows": knows(4)}, mode="overwrite")
        assert [(row["a.name"], row["other"]) for row in g.query(ask).rows] == [("n4", "n3")]


def _out() -> Any:
    from omnigraph.catalog.logical import HopDirection

    return HopDirection.OUT


def _parallel(g: og.Graph) -> int:
    """Edges that are there twice: a hop leads to their target once."""
    ends = _edges(g).ends()
    return EDGES - len(np.unique(ends.sources.astype(np.int64) << 32 | ends.targets))
