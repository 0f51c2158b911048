"""What a write of one row asks for: it follows the row, and what others wrote since, and not the graph."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance.dataset import LanceScanner
from lance.fragment import LanceFragment

import omnigraph as og
from omnigraph.storage.files.effects import Call

SCHEMA = """
node Person { name: String @key  mail: String? @unique  age: I32? }
edge Knows: Person -> Person
edge Leads: Person -> Person @card(0..1)
"""
INSERT = "query q($n: String) { insert Person { name: $n, age: 1 } }"
MAILED = "query q($n: String) { insert Person { name: $n, mail: $n } }"
UPDATE = "query q($n: String, $v: I32) { update Person set { age: $v } where name = $n }"
DELETE = "query q($n: String) { delete Person where name = $n }"
KNOWS = "query q($n: String, $m: String) { insert Knows { from: $n, to: $m } }"
LEADS = "query q($n: String, $m: String) { insert Leads { from: $n, to: $m } }"
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"


@dataclass
class Work:
    """What was asked of storage."""

    opened: int = 0
    moved: int = 0
    scans: int = 0
    rows: int = 0
    """Rows that scans gave."""
    manifests: int = 0
    durable: Counter[Call] = field(default_factory=Counter)


def graph(folder: Path, people: int) -> og.Graph:
    made = og.init(folder / f"g{people}", SCHEMA, durability="os")
    names = [f"p{n:06d}" for n in range(people)]
    ring = pa.table({"from": names[people // 2 : -1], "to": names[people // 2 + 1 :]})
    made.load({"Person": pa.table({"name": names, "mail": names}), "Knows": ring, "Leads": ring})
    made.optimize()
    made._reconciler.start = lambda *_: None  # type: ignore[method-assign]
    return made


@contextmanager
def counted(made: og.Graph, monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    work, tables = Work(), made._store.tables
    opened, moved = tables.opened, tables.moved
    manifest = made._store.manifest(made._store.ref("main"))
    scans, to_table, take = manifest.scans, LanceScanner.to_table, LanceFragment.take

    def scanned(self: LanceScanner) -> pa.Table:
        found = to_table(self)
        work.scans, work.rows = work.scans + 1, work.rows + found.num_rows
        return found

    def taken(self: LanceFragment, *args: Any, **kwargs: Any) -> pa.Table:
        found = take(self, *args, **kwargs)
        work.rows += found.num_rows
        return found

    effects = made._store.place.effects
    with monkeypatch.context() as patched:
        patched.setattr(LanceScanner, "to_table", scanned)
        patched.setattr(LanceFragment, "take", taken)
        patched.setattr(effects, "after", lambda call: work.durable.update([call]))
        yield work
    work.opened, work.moved = tables.opened - opened, tables.moved - moved
    work.manifests = manifest.scans - scans


def writes(made: og.Graph, tag: str) -> dict[str, Callable[[], object]]:
    """One of each kind, on rows that have no edges."""
    return {
        "insert": lambda: made.mutate(INSERT, {"n": f"new {tag}"}),
        "edge": lambda: made.mutate(KNOWS, {"n": "p000100", "m": "p000007"}),
        "update": lambda: made.mutate(UPDATE, {"n": "p000101", "v": len(tag)}),
        "delete": lambda: made.mutate(DELETE, {"n": f"p000{210 + len(tag)}"}),
        "unique": lambda: made.mutate(MAILED, {"n": f"mail {tag}"}),
        "at most one": lambda: made.mutate(LEADS, {"n": f"p000{330 + len(tag)}", "m": "p000007"}),
    }


def test_a_write_of_one_row_costs_the_same_in_a_hundred_times_as_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[int, dict[str, Work]] = {}
    for people in (1_000, 100_000):
        made = graph(tmp_path, people)
        for tag in ("x", "xx"):
            for write in writes(made, tag).values():
                write()
            for _ in range(8):  # what is asked for again and again is worth having in memory
                made.mutate(KNOWS, {"n": "p000100", "m": "p000008"})
                made.mutate(DELETE, {"n": "nobody"})
        found[people] = {}
        for name, write in writes(made, "xxx").items():
            with counted(made, monkeypatch) as found[people][name]:
                write()
    assert found[1_000] == found[100_000]
    for name, work in found[100_000].items():
        assert (work.opened, work.manifests) == (0, 0), name
        asks_once = name in ("update", "unique", "at most one")  # who has its unique value, or how many it leads
        assert work.scans <= (1 if asks_once else 0), name
        assert work.rows <= 2, name


@pytest.mark.parametrize("others", [1, 6])
def test_after_a_commit_of_somebody_else_a_process_reads_what_that_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    made = graph(tmp_path, 1_000)
    other = og.open(made.uri)
    other._reconciler.start = lambda *_: None  # type: ignore[method-assign]
    made.mutate(INSERT, {"n": "first"})
    assert made.query(COUNT).rows == [{"n": 1_001}]
    for number in range(others):
        other.mutate(INSERT, {"n": f"other {number}"})
    with counted(made, monkeypatch) as work:
        made.mutate(INSERT, {"n": "second"})
    tail = 4 + len(made.commits(limit=100))
    assert (work.opened, work.manifests, work.scans) == (0, 1, 0), "the tail of the manifest, which is one file"
    assert work.rows <= tail + 4
    for number in range(others):
        other.mutate(UPDATE, {"n": f"p{number:06d}", "v": 5})
    with counted(made, monkeypatch) as work:
        assert made.query(COUNT).rows == [{"n": 1_002 + others}]
        assert made.query("query q() { match { $p: Person } return { count($p.age) as n } }").rows
    assert work.opened == 0
    assert work.rows <= 1_100 + tail, "a column that nobody had read is read once"
    with counted(made, monkeypatch) as work:
        other.mutate(UPDATE, {"n": "p000500", "v": 6})
        assert made.query("query q() { match { $p: Person } return { count($p.age) as n } }").rows
    assert work.rows <= 100, "and then extended"


def test_threads_that_write_different_rows_share_swaps(tmp_path: Path) -> None:
    made = graph(tmp_path, 1_000)
    swaps = Counter[Call]()
    made._store.place.effects.after = lambda call: swaps.update([call])  # type: ignore[method-assign]
    failures: list[Exception] = []
    before = len(made.commits(limit=1_000))

    def work(number: int) -> None:
        try:
            for at in range(6):
                made.mutate(INSERT, {"n": f"t{number}.{at}"})
                made.mutate(UPDATE, {"n": f"p{number * 10 + at:06d}", "v": at})
                made.mutate(DELETE, {"n": f"p{300 + number * 10 + at:06d}"})
                made.mutate(MAILED, {"n": f"m{number}.{at}"})
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(made.commits(limit=1_000)) == before + 8 * 24
    assert swaps[Call.PUBLISH] < 8 * 24 / 2
    assert made.query(COUNT).rows == [{"n": 1_000 + 8 * 6}]
    assert made.verify(deep=True).ok
