"""Shortest paths that a query has found, one after the other: how long each is, and the numbers of its nodes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.engine.arrays.column import Array, Vec
from omnigraph.engine.arrays.numbering import Numbers
from omnigraph.engine.snapshot.nodes import Nodes

_NONE = np.empty(0, np.int64)


class Paths:
    """Paths in the order they were found. A row of a query says by its place which one it means; -1: none."""

    __slots__ = ("_lengths", "_nodes")

    def __init__(self) -> None:
        self._lengths: list[Numbers] = [_NONE]
        self._nodes: list[Numbers] = [_NONE]

    def add(self, lengths: Numbers, nodes: Numbers) -> int:
        """Take in some paths: the place of the first."""
        first = len(self._all()[0])
        self._lengths.append(lengths)
        self._nodes.append(nodes)
        return first

    def _all(self) -> tuple[Numbers, Numbers]:
        if len(self._lengths) > 1:
            self._lengths, self._nodes = [np.concatenate(self._lengths)], [np.concatenate(self._nodes)]
        return self._lengths[0], self._nodes[0]

    def values(self, places: Array, name: str, nodes: Nodes) -> Vec:
        """`length` or `nodes` of the paths of some rows."""
        lengths, numbers = self._all()
        there = places >= 0
        valid = None if there.all() else there
        known = np.where(there, places, 0)
        if not len(lengths):
            empty = pa.int64() if name == "length" else pa.list_(pa.string())
            return Vec.of(pa.nulls(len(places), empty))
        if name == "length":
            return Vec(pa.int64(), lengths[known], valid)
        counts = np.where(there, lengths[known] + 1, 0)
        ends = np.cumsum(counts)
        starts = np.concatenate([[0], np.cumsum(lengths + 1)])[known]
        within = np.arange(int(counts.sum())) + np.repeat(starts - (ends - counts), counts)
        offsets = pa.array(np.concatenate([[0], ends]), pa.int32(), mask=None if valid is None else np.append(~there, False))
        return Vec.of(pa.ListArray.from_arrays(offsets, nodes.names(numbers[within]).to_arrow()))
