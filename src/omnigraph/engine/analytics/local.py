"""Graph algorithms in memory: the network of a view, numpy, and one row per node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from omnigraph.catalog.catalog import Catalog
from omnigraph.engine.analytics import kernels
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
from omnigraph.engine.analytics.front import Request
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


class AnalyticsResult(Result):
    """One row per node, in the order of (type, id): `type`, `id`, and the value."""

    def __init__(self, table: pa.Table, request: Request, rounds: int | None = None, settled: bool = True) -> None:
        branch = None if request.at is not None else request.branch or MAIN
        super().__init__(
            table.column_names,
            table.schema.types,
            [[Vec.of(whole(column)) for column in table.columns]],
            query_name=request.algorithm.name,
            graph_commit_id=request.view.snapshot.commit,
            branch=branch,
            snapshot=request.at,
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
    """Runs algorithms in this process."""

    def __init__(self, workspace: Workspace, after_write: Callable[[str, Catalog], None]) -> None:
        self._workspace = workspace
        self._after_write = after_write

    def run(self, request: Request) -> AnalyticsResult:
        """Compute, and write the values if requested."""
        computed = compute(network_of(request.view, request.scope), request)
        if request.target is not None:
            computed.commit = write_back(self._workspace, request.target, computed.to_arrow(), request.algorithm)
            if computed.commit is not None:
                self._after_write(request.target.branch, request.target.view.catalog)
        return computed


def compute(network: Network, request: Request) -> AnalyticsResult:
    """The rows of a result."""
    algorithm = request.algorithm
    if isinstance(algorithm, Reach):
        return AnalyticsResult(_reached(network, algorithm), request)
    values, rounds, settled = _values(network, algorithm)
    columns = [network.type_names(), network.ids(), pa.array(values, algorithm.type)]
    return AnalyticsResult(pa.Table.from_arrays(columns, schema=columns_of(algorithm)), request, rounds, settled)


def _values(network: Network, algorithm: Algorithm) -> tuple[Array, int | None, bool]:
    match algorithm:
        case Degree(direction):
            return kernels.degree(network, direction), None, True
        case Triangles():
            return kernels.triangles(network), None, True
        case PageRank(damping, rounds, tolerance):
            found = kernels.pagerank(network, damping, rounds, tolerance)
        case Components():
            found = kernels.components(network)
        case LabelPropagation(rounds):
            found = kernels.label_propagation(network, rounds)
        case _:
            raise AssertionError(algorithm)
    return found.values, found.rounds, found.settled


def _reached(network: Network, algorithm: Reach) -> pa.Table:
    found = kernels.reach(network.adjacency(algorithm.direction), network.numbers(algorithm.sources), algorithm.most)
    there = np.flatnonzero(found.hops >= 0)
    types, ids = network.type_names(), network.ids()
    columns = [types.take(pa.array(there)), ids.take(pa.array(there)), pa.array(found.hops[there], pa.int64())]
    if algorithm.paths:
        before = found.previous[there]
        places = pa.array(before, mask=before < 0)
        columns += [types.take(places), ids.take(places)]
    return pa.Table.from_arrays(columns, schema=columns_of(algorithm))
