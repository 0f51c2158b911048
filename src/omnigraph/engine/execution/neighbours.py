"""The nodes of a type that are nearest to a vector: which way to take.

    the column fits into memory     measure all of them, roughly and then exactly (`vectors`)
    few candidates                  fetch their vectors and measure those
    an index, no candidates         ask it for more than are wanted, and measure what it gives again
    otherwise                       measure every vector as it is read, and keep none

All but the third give exactly the nearest. An index of the inverted-file kind looks into the partitions that are closest only; we
ask for many of them, and for several times as many neighbours as are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from omnigraph.engine.arrays.column import Array, Column
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.search.vectors import Matrix, Vectors, exact, matrix, passing
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.storage.rewriting.indexes import PARTITION_ROWS
from omnigraph.storage.tables.search import Metric, nearest

if TYPE_CHECKING:
    from omnigraph.engine.execution.run import Run

BUDGET_SHARE: Final = 2
"""A vector column is kept in memory if it takes no more than one in so many bytes of the budget."""

FEW: Final = 4_096
"""Candidates whose vectors are fetched one by one, if the column is not in memory."""

PROBED_SHARE: Final = 4
"""One in so many partitions of an index is looked into."""

LEAST_PROBES: Final = 32
REFINE: Final = 4

_BATCH_ROWS = 1 << 14
_KNOWN: WeakKeyDictionary[Column, Vectors] = WeakKeyDictionary()
"""Matrices of columns; they last as long as the columns are kept in memory."""
_LOCK = Lock()


def nearest_nodes(
    run: Run, nodes: Nodes, name: str, query: Array, best: int | None, among: Numbers | None
) -> tuple[Numbers, Array]:
    """Nodes that may be among the best (None: all), none that is missing, and their squared distances."""
    stored = nodes.stored
    run.budget.check("measuring distances")
    wanted = stored.rows if best is None else best
    size = stored.rows * len(query) * 4
    if size * BUDGET_SHARE <= run.view.workspace.memory.budget:
        if among is not None and len(among) <= FEW and not stored.has(name) and stored.prefers_fetching(len(among)):
            return _measured(nodes, name, query, among)
        rows = None if among is None else nodes.load().of(among)
        found, distances = _vectors(stored.column(name)).near(query, wanted, rows)
        return nodes.all()[found], distances
    if among is not None and len(among) <= FEW:
        return _measured(nodes, name, query, among)
    if among is None and any(i.column == name and i.covered for i in stored.state.indexes):
        if run.trace is not None:
            run.trace.note("vector index")
        return _proposed(nodes, name, query, wanted)
    if run.trace is not None:
        run.trace.note("vectors read through")
    return passing(_batches(run, nodes, name, among), query, wanted, nodes.ids)


def _vectors(column: Column) -> Vectors:
    with _LOCK:
        found = _KNOWN.get(column)
        if found is None:
            found = _KNOWN[column] = Vectors(column.arrow)
        return found


def _measured(nodes: Nodes, name: str, query: Array, among: Numbers) -> tuple[Numbers, Array]:
    vectors = nodes.values(among, name).to_arrow()
    there = vectors.is_valid().to_numpy(zero_copy_only=False)
    distances = exact(matrix(vectors), query.astype(np.float32).astype(np.float64))
    return among[there], distances[there]


def _proposed(nodes: Nodes, name: str, query: Array, best: int) -> tuple[Numbers, Array]:
    probes = max(LEAST_PROBES, nodes.count // PARTITION_ROWS // PROBED_SHARE)
    found = nearest(
        nodes.stored.table, name, query.tolist(), best * REFINE, Metric.L2, refine=REFINE, probes=probes, columns=["id", name]
    )
    vectors = found[name].combine_chunks()
    numbers = nodes.intern(found["id"].combine_chunks())
    return numbers, exact(matrix(vectors), query.astype(np.float32).astype(np.float64))


def _batches(run: Run, nodes: Nodes, name: str, among: Numbers | None) -> Iterator[tuple[Numbers, Matrix]]:
    for batch in nodes.stored.table.scan(["id", name], batch_rows=_BATCH_ROWS):
        run.budget.check("measuring distances")
        numbers = nodes.intern(batch.column(0))
        vectors = batch.column(1)
        kept = vectors.is_valid().to_numpy(zero_copy_only=False)
        if among is not None:
            kept = kept & np.isin(numbers, among)
        yield numbers[kept], matrix(vectors)[kept]
