"""The nodes of a type that are nearest to a vector: choosing how to find them.

    the column fits into memory     measure all of them, roughly and then exactly (`vectors`); where it is large, roughly in
                                    eight bits per number, and then exactly those that are left, which are fetched
    few candidates                  fetch their vectors and measure those
    an index                        ask it for more of the candidates than are wanted, and measure what it gives again
    otherwise                       measure every vector as it is read, and keep none: also where eight bits tell too few apart

All but the index give exactly the nearest. An index of the inverted-file kind looks into the partitions that are closest only; we
ask for many of them, and for several times as many neighbours as are wanted. It is told which nodes are candidates and goes on
looking until it has enough of them: a condition never leaves too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from omnigraph.engine.arrays.column import Array, Column
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.arrays.quantized import WIDEST, Matrix, matrix, quantized_bytes
from omnigraph.engine.search.vectors import Vectors, exact, near_quantized, passing
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.engine.snapshot.quantized_vectors import has_quantized, quantized_vectors
from omnigraph.storage.rewriting.indexes import PARTITION_ROWS
from omnigraph.storage.tables.search import Metric, nearest

if TYPE_CHECKING:
    from omnigraph.engine.execution.run import Run

BUDGET_SHARE: Final = 2
"""A vector column is kept in memory if it takes no more than one in so many bytes of the budget."""

LEAST_QUANTIZED: Final = 64 << 20
"""From so many bytes on, vectors are kept in eight bits per number. Of fewer, fetching those that are left takes too long."""

MEASURED_SHARE: Final = 64
"""Of quantized vectors no more than one in so many is fetched to be measured exactly. Where more are left, they do not help."""

FEW: Final = 4_096
"""Candidates whose vectors are fetched one by one, if the column is not in memory."""

PROBED_SHARE: Final = 4
"""One in so many partitions of an index is looked into."""

LEAST_PROBES: Final = 32
REFINE: Final = 4

_BATCH_ROWS = 1 << 14
_BYTES_PER_ROW = 8
"""Bytes of vectors that are read in the time it takes to read a row of anything else."""

T = TypeVar("T")
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
    budget = run.view.workspace.memory.budget
    in_memory = size * BUDGET_SHARE <= budget
    quantizes = len(query) <= WIDEST and quantized_bytes(stored.rows, len(query)) * BUDGET_SHARE <= budget
    if size >= LEAST_QUANTIZED and quantizes and not (in_memory and stored.has(name)):
        found = _by_quantized(run, nodes, name, query, wanted, among)
        if found is not None:
            return found
    if in_memory:
        if among is not None and len(among) <= FEW and not stored.has(name) and stored.prefers_fetching(name, len(among)):
            return _measured(nodes, name, query, among)
        rows = None if among is None else nodes.load().of(among)
        column = _read(run, stored.has(name), lambda: stored.column(name), size)
        near, distances = _vectors(column).near(query, wanted, rows)
        return nodes.all()[near], distances
    if among is not None and len(among) <= FEW:
        return _measured(nodes, name, query, among)
    candidates = stored.rows if among is None else len(among)
    indexed = not quantizes and any(i.column == name and i.covered for i in stored.state.indexes)
    if indexed and wanted * REFINE * PROBED_SHARE <= candidates:
        if run.trace is not None:
            run.trace.note("vector index")
        return _proposed(nodes, name, query, wanted, among)
    if run.trace is not None:
        run.trace.note("vectors read through")
    return passing(_batches(run, nodes, name, among), query, wanted, nodes.ids)


def _by_quantized(
    run: Run, nodes: Nodes, name: str, query: Array, wanted: int, among: Numbers | None
) -> tuple[Numbers, Array] | None:
    """The same by vectors in eight bits per number; None where those do not leave out enough."""
    stored, workspace = nodes.stored, run.view.workspace
    memory, coarse = workspace.memory, f"too coarse: {name}"
    most = max(FEW, stored.rows // MEASURED_SHARE)
    if wanted > most or coarse in stored.derived:
        return None
    if (
        among is not None
        and len(among) <= FEW
        and stored.prefers_fetching(name, len(among))
        and not has_quantized(stored, name, memory)
    ):
        return _measured(nodes, name, query, among)
    vectors = _read(
        run,
        has_quantized(stored, name, memory),
        lambda: quantized_vectors(stored, name, memory, workspace.saved),
        stored.rows * len(query) * 4,
    )
    rows = near_quantized(vectors, query, wanted, None if among is None else nodes.load().of(among))
    if len(rows) > most:
        stored.derived[coarse] = True
        return None
    if run.trace is not None:
        run.trace.note("quantized vectors")
    near = matrix(stored.fetched(name, rows))
    distances = exact(near, query.astype(np.float32).astype(np.float64))
    known = ~np.isnan(distances)
    return nodes.all()[rows[known]], distances[known]


def _read(run: Run, there: bool, read: Callable[[], T], size: int) -> T:
    """Vectors that are in memory, or are read now, which is kept even if nobody can wait for it."""
    return read() if there else run.budget.aside(read, size // _BYTES_PER_ROW, "reading vectors")


def _vectors(column: Column) -> Vectors:
    with _LOCK:
        found = _KNOWN.get(column)
        if found is None:
            found = _KNOWN[column] = Vectors(column.arrow)
        return found


def _measured(nodes: Nodes, name: str, query: Array, among: Numbers) -> tuple[Numbers, Array]:
    rows = None if nodes.stored.has(name) else nodes.rows_of(among)
    vectors = nodes.values(among, name).to_arrow() if rows is None else nodes.stored.fetched(name, rows)
    there = vectors.is_valid().to_numpy(zero_copy_only=False)
    distances = exact(matrix(vectors), query.astype(np.float32).astype(np.float64))
    return among[there], distances[there]


def _proposed(nodes: Nodes, name: str, query: Array, best: int, among: Numbers | None) -> tuple[Numbers, Array]:
    stored = nodes.stored
    rows = None if among is None else stored.addresses(nodes.load().of(among))
    probes = max(LEAST_PROBES, stored.rows // PARTITION_ROWS // PROBED_SHARE)
    found = nearest(
        stored.table,
        name,
        query.tolist(),
        best * REFINE,
        Metric.L2,
        refine=REFINE,
        probes=probes,
        among=rows,
        columns=["id", name],
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
