"""What a mutation of one row costs, beside the bare commit: the same change, given to storage as it is.

The bare commit writes the rows, makes the new versions of the tables and publishes them. The mutation binds parameters, finds
what it is about, validates, and then does the same. Both graphs are the one of the history benchmark, small and large; each kind
of mutation and its bare commit take turns, on rows all over the table.

An update or delete of one edge, found by its ends among a million, is measured beside the insert of one, with commits that are on
disk before they are acknowledged, as they are by default.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import pyarrow as pa

import omnigraph as og
from benchmarks.history import LARGE, graph, name_of
from benchmarks.measuring import Measurement, scratch_folder
from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.columns import columns_of
from omnigraph.engine.snapshot.view import table_key
from omnigraph.storage.commits.lineage import OpClass
from omnigraph.storage.commits.plan import PlannedChange, PublishPlan
from omnigraph.storage.tables.changes import Append, Change, Delete, Upsert

SIZES = (1_000, 100_000)
ROUNDS = 60
MOST = 2.0
"""How many times as long as the bare commit a mutation may take."""

_TEXTS = {
    "insert": "query q($n: String) { insert Person { name: $n, age: 1 } }",
    "replace": "query q($n: String) { insert Person { name: $n, age: 1 } }",
    "update": "query q($n: String) { update Person set { age: 1 } where name = $n }",
    "edge": 'query q($n: String) { insert Knows { from: $n, to: "p0000002" } }',
    "delete with edges": "query q($n: String) { delete Person where name = $n }",
}

_BY_ENDS = {
    "insert": "query q($a: String, $b: String) { insert Knows { from: $a, to: $b } }",
    "update": 'query q($a: String, $b: String) { update Knows set { since: date("2024-05-01") } where from = $a and to = $b }',
    "delete": "query q($a: String, $b: String) { delete Knows where from = $a and to = $b }",
}


class _Bare:
    """The same changes without the engine."""

    def __init__(self, made: og.Graph, size: int) -> None:
        self._store = made._store
        self._size = size
        catalog = made._view().catalog
        self._node, self._edge = catalog.nodes["Person"], catalog.edges["Knows"]

    def run(self, kind: str, number: int, fresh: str) -> None:
        name = name_of(number)
        if kind == "insert":
            self._publish((self._node, self._person(fresh), lambda written: Append(written, (fresh,))))
        elif kind in ("replace", "update"):
            self._publish((self._node, self._person(name), lambda written: Upsert(written, (name,))))
        elif kind == "edge":
            rows = {"id": [fresh], "src": [name], "dst": ["p0000002"], "since": pa.nulls(1, pa.date32())}
            self._publish((self._edge, pa.table(rows, schema=columns_of(self._edge)), Append))
        else:
            edges = (f"e{number:07d}", f"e{(number - 1) % self._size:07d}")
            self._publish((self._node, None, lambda _: Delete((name,))), (self._edge, None, lambda _: Delete(edges)))

    def _person(self, name: str) -> pa.Table:
        row = {"id": [name], "age": pa.array([1], pa.int32()), "name": [name], "nick": pa.nulls(1, pa.string())}
        return pa.table(row, schema=columns_of(self._node))

    def _publish(self, *wanted: tuple[EntityType, pa.Table | None, Callable[..., Change]]) -> None:
        snapshot = self._store.snapshot("main")
        changes = []
        for type_, rows, change in wanted:
            key = table_key(type_)
            table = self._store.tables.open(snapshot.tables[key])
            changes.append(PlannedChange(key, change(None if rows is None else table.write(rows))))
        self._store.publish("main", PublishPlan(OpClass.LOGICAL, "mutate", snapshot.commit, tuple(changes)))


def _compared(made: og.Graph, size: int, kind: str) -> tuple[float, float]:
    """Medians in milliseconds: the mutation, the bare commit."""
    bare, rng = _Bare(made, size), random.Random(f"{kind} {size}")
    numbers = rng.sample(range(size), 2 * (ROUNDS + 5))
    times: tuple[list[float], list[float]] = ([], [])
    for at in range(ROUNDS + 5):
        one, other = numbers[2 * at], numbers[2 * at + 1]
        fresh = f"{kind}-{at}"
        named = fresh if kind == "insert" else name_of(one)
        begun = time.perf_counter()
        made.mutate(_TEXTS[kind], {"n": named})
        between = time.perf_counter()
        bare.run(kind, other, f"bare {fresh}")
        ended = time.perf_counter()
        if at >= 5:
            times[0].append((between - begun) * 1000)
            times[1].append((ended - between) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


def _by_ends(made: og.Graph, size: int) -> dict[str, float]:
    """Medians in milliseconds for one edge of many, taking turns."""
    rng = random.Random(size)
    numbers = iter(rng.sample(range(size), len(_BY_ENDS) * (ROUNDS + 5)))
    times: dict[str, list[float]] = {kind: [] for kind in _BY_ENDS}
    for at in range(ROUNDS + 5):
        for kind, text in _BY_ENDS.items():
            number = next(numbers)
            begun = time.perf_counter()
            made.mutate(text, {"a": name_of(number), "b": name_of((number + 1) % size)})
            if at >= 5:
                times[kind].append((time.perf_counter() - begun) * 1000)
    return {kind: statistics.median(found) for kind, found in times.items()}


def measure() -> list[Measurement]:
    """Time every kind of mutation on both graphs."""
    folder = scratch_folder()
    found = []
    for size in SIZES:
        made = graph(folder, size)
        made._reconciler.start = lambda *_: None  # type: ignore[method-assign]  # nobody else works meanwhile
        for kind in _TEXTS:
            mutation, bare = _compared(made, size, kind)
            found.append(Measurement(f"{kind} of one row, {size:,} rows", mutation, "bare commit", bare, MOST * bare))
        made.close()
    graph(folder, LARGE).close()
    made = og.open(folder / str(LARGE))
    made._reconciler.start = lambda *_: None  # type: ignore[method-assign]
    medians = _by_ends(made, LARGE)
    for kind in ("update", "delete"):
        what = f"{kind} of one edge by its ends, {LARGE:,} rows"
        found.append(Measurement(what, medians[kind], "insert of one", medians["insert"], MOST * medians["insert"]))
    made.close()
    return found
