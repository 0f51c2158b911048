"""Measures computed in memory: the network of a view, numpy, and one row per node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.analytics import measures
from omnigraph.engine.analytics.algorithms import (
    Algorithm,
    Components,
    Degree,
    LabelPropagation,
    PageRank,
    Reach,
    Triangles,
    columns_of,
)
from omnigraph.engine.analytics.front import Asked
from omnigraph.engine.analytics.network import Network, network_of
from omnigraph.engine.analytics.written import write_back
from omnigraph.engine.arrays.chunked import whole
from omnigraph.engine.arrays.column import Array, Vec
from omnigraph.engine.calls.arguments import whole as at_least
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.result import Result
from omnigraph.engine.snapshot.view import Workspace
from omnigraph.storage.commits.lineage import Commit
from omnigraph.storage.graph_store import MAIN


class Measured(Result):
    """One row per node, in the order of (type, id): `type`, `id`, and the value."""

    def __init__(self, table: pa.Table, asked: Asked, rounds: int | None = None, settled: bool = True) -> None:
        branch = None if asked.at is not None else asked.branch or MAIN
        super().__init__(
            table.column_names,
            table.schema.types,
            [[Vec.of(whole(column)) for column in table.columns]],
            query_name=asked.algorithm.name,
            graph_commit_id=asked.view.snapshot.commit,
            branch=branch,
            snapshot=asked.at,
        )
        self.rounds = rounds
        """Rounds it took, where there are rounds."""
        self.settled = settled
        """Whether more rounds would have changed nothing."""
        self.commit: Commit | None = None
        """The commit that wrote the values; None when nothing was to be written, or every node had its value already."""

    @guarded(count=at_least())
    def top(self, count: int = 10) -> list[dict[str, object]]:
        """The nodes with the highest values; among equals the least (type, id) first."""
        table = self.to_arrow()
        values = whole(table[2]).to_numpy()
        order = np.argsort(-values, kind="stable")[:count]
        return table.take(pa.array(order)).to_pylist()  # type: ignore[no-any-return]


class Local:
    """Computes measures in this process."""

    def __init__(self, workspace: Workspace, after_write: Callable[[str, Catalog], None]) -> None:
        self._workspace = workspace
        self._after_write = after_write

    def run(self, asked: Asked) -> Measured:
        """Measure, and write the values if that is asked for."""
        measured = measure(network_of(asked.view, asked.scope), asked)
        if asked.target is not None:
            measured.commit = write_back(self._workspace, asked.target, measured.to_arrow(), asked.algorithm)
            if measured.commit is not None:
                self._after_write(asked.target.branch, asked.target.view.catalog)
        return measured


def measure(network: Network, asked: Asked) -> Measured:
    """The rows of a measure."""
    algorithm = asked.algorithm
    if isinstance(algorithm, Reach):
        return Measured(_reached(network, algorithm), asked)
    values, rounds, settled = _values(network, algorithm)
    columns = [network.type_names(), network.ids(), pa.array(values, algorithm.type)]
    return Measured(pa.Table.from_arrays(columns, schema=columns_of(algorithm)), asked, rounds, settled)


def _values(network: Network, algorithm: Algorithm) -> tuple[Array, int | None, bool]:
    match algorithm:
        case Degree(direction):
            return measures.degree(network, direction), None, True
        case Triangles():
            return measures.triangles(network), None, True
        case PageRank(damping, rounds, tolerance):
            found = measures.pagerank(network, damping, rounds, tolerance)
        case Components():
            found = measures.components(network)
        case LabelPropagation(rounds):
            found = measures.label_propagation(network, rounds)
        case _:
            raise AssertionError(algorithm)
    return found.values, found.rounds, found.settled


def _reached(network: Network, algorithm: Reach) -> pa.Table:
    found = measures.reach(network.adjacency(algorithm.direction), network.numbers(algorithm.sources), algorithm.most)
    there = np.flatnonzero(found.hops >= 0)
    types, ids = network.type_names(), network.ids()
    columns = [types.take(pa.array(there)), ids.take(pa.array(there)), pa.array(found.hops[there], pa.int64())]
    if algorithm.paths:
        before = found.previous[there]
        places = pa.array(before, mask=before < 0)
        columns += [types.take(places), ids.take(places)]
    return pa.Table.from_arrays(columns, schema=columns_of(algorithm))
