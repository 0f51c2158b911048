"""Conditions that storage can answer: structured filters for the columns that have an index."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.catalog import logical as lg
from omnigraph.engine.cost import ledger
from omnigraph.engine.execution.evaluate import constant
from omnigraph.engine.execution.run import Run, Traversal
from omnigraph.engine.snapshot.nodes import Nodes
from omnigraph.model.arrow import arrow_type
from omnigraph.model.types import INTEGER_RANGES, Scalar
from omnigraph.storage.lance_format.filters import Filter, equal


def selective_filter(conditions: tuple[lg.Condition, ...], nodes: Nodes, run: Run) -> Filter | None:
    """A filter for one condition that an index answers, if that is worth it: an equality on a column that is not in memory."""
    if run.traversal is Traversal.CSR:
        return None
    for condition in conditions:
        match condition:
            case lg.Compare(lg.PropertyValue(_, name, type_), lg.Comparator.EQ, other) | lg.Compare(
                other, lg.Comparator.EQ, lg.PropertyValue(_, name, type_)
            ) if lg.is_fixed(other):
                stored = nodes.stored
                if type_.is_list or type_.is_vector or stored.has(name) or not stored.covers(name):
                    continue
                if not ledger.prefers_index_filter(stored.account("id"), stored.rows):
                    continue
                value = constant(other, run)
                if value is None or isinstance(value, tuple):
                    continue
                if type_.scalar.is_integer and not (isinstance(value, int) and _fits(value, type_.scalar)):
                    continue
                arrow = arrow_type(type_)
                physical = pa.int32() if pa.types.is_date32(arrow) else pa.int64() if pa.types.is_timestamp(arrow) else arrow
                return equal(name, pa.scalar(value, physical).cast(arrow))
            case _:
                continue
    return None


def _fits(value: int, scalar: Scalar) -> bool:
    low, high = INTEGER_RANGES[scalar]
    return low <= value <= high
