"""Ranking: the best scores in order, ties broken by id, computing no more than the query needs.

Ids are compared only where scores are equal. When only the best are wanted and very many share the last place, their ids are not
sorted either, but searched for the few that win it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.column import Array
from omnigraph.engine.arrays.numbering import Numbers

Ids = Callable[[Numbers], pa.StringArray]


def ordered(keys: Array, ids: Ids, best: int | None, *, last_id_first: bool) -> Numbers:
    """Places of the keys, smallest first, as many as are wanted. `ids` gives the ids at some places."""
    count = len(keys)
    if best is not None and best < count:
        if best <= 0:
            return np.empty(0, np.int64)
        last = np.partition(keys, best - 1)[best - 1]
        surely = np.flatnonzero(keys < last)
        tied = np.flatnonzero(keys == last)
        if len(tied) > best - len(surely):
            direction = "descending" if last_id_first else "ascending"
            table = pa.table({"id": ids(tied)})
            won = pc.select_k_unstable(table, k=best - len(surely), sort_keys=[("id", direction)]).to_numpy()
            tied = tied[won]
        chosen = np.concatenate([surely, tied])
        return chosen[_sorted(keys[chosen], lambda rows: ids(chosen[rows]), last_id_first)]
    return _sorted(keys, ids, last_id_first)


def _sorted(keys: Array, ids: Ids, last_id_first: bool) -> Numbers:
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    equal = in_order[1:] == in_order[:-1]
    if not equal.any():
        return order
    shared = np.zeros(len(keys), np.bool_)
    shared[1:] |= equal
    shared[:-1] |= equal
    where = np.flatnonzero(shared)  # places in the order that stand beside an equal
    rows = order[where]
    rank = pc.rank(ids(rows), sort_keys="descending" if last_id_first else "ascending", tiebreaker="first").to_numpy()
    order[where] = rows[np.lexsort([rank, in_order[where]])]
    return order


def positions_in(numbers: Numbers, listed: Numbers) -> Numbers:
    """Where each number stands in a list without repetitions; -1 for those that do not."""
    if not len(listed):
        return np.full(len(numbers), -1)
    order = np.argsort(listed)
    where = np.minimum(np.searchsorted(listed, numbers, sorter=order), len(listed) - 1)
    found = order[where]
    return np.where(listed[found] == numbers, found, -1)
