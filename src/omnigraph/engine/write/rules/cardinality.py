"""How many edges of a type a source may have: `@card(min..max)`, for every source whose edges change.

Counted after the change: what is committed, less edges that go or move, plus those that come. A source that is itself removed is
not counted. A node that never had an edge of the type is not held to its minimum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.arrays.chunked import NO_IDS, among, together, whole
from omnigraph.engine.arrays.hashing import none_occurs_more_often
from omnigraph.engine.snapshot.committed import rows_where
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules.endpoints import removed_nodes
from omnigraph.engine.write.violations import Violation
from omnigraph.model.phrases import counted


def check(delta: Delta, changes: ChangeSet, view: View) -> Iterator[Violation]:
    """Every source with too few or too many edges."""
    edge = delta.type
    assert edge.is_edge
    if edge.minimum == 0 and edge.maximum is None:
        return
    sources = [delta.rows["src"]]
    others = NO_IDS
    if not delta.replaces_all and view.stored(edge).rows:
        touched = pc.unique(sources[0])
        if not delta.fresh or len(delta.removed):
            before = rows_where(view, edge, "id", delta.touched, ["id", "src"])
            others = pc.unique(whole(before["src"]))
            touched = pc.unique(pa.concat_arrays([touched, others]))
        committed = rows_where(view, edge, "src", touched, ["id", "src"])
        kept = committed.filter(pa.array(~among(whole(committed["id"]), delta.touched)))
        sources.append(kept["src"])
    every = together(sources)
    if edge.minimum <= 1 and not len(others) and (edge.maximum is None or none_occurs_more_often(every, edge.maximum)):
        return  # as nearly always: each has one at least, and none has too many
    tally = pc.value_counts(every)
    touched, counts = tally.field("values"), tally.field("counts").to_numpy()
    without = others.filter(pa.array(~among(others, touched)))
    touched, counts = pa.concat_arrays([touched, without]), np.concatenate([counts, np.zeros(len(without), np.int64)])
    wrong = counts < edge.minimum
    if edge.maximum is not None:
        wrong |= counts > edge.maximum
    node = changes.node(edge.source)
    if node is not None and wrong.any():
        wrong &= ~among(touched, removed_nodes(node, view))
    offenders = touched.filter(pa.array(wrong))
    rows = _last_rows(delta, offenders)
    for source, count, row in sorted(zip(offenders.to_pylist(), counts[wrong].tolist(), rows, strict=True)):
        bound = f"min {edge.minimum}" if count < edge.minimum else f"max {edge.maximum}"
        message = f"{edge.source} `{source}` would have {counted(count, f'{edge.name} edge')} ({bound})"
        file, line = delta.place(row) if row >= 0 else (None, None)
        yield Violation("cardinality", edge.name, message, None, source, count, file, line)


def _last_rows(delta: Delta, sources: pa.Array) -> list[int]:
    """The last row of the change that begins at each of some sources; -1 where there is none."""
    found = np.full(len(sources), -1)
    if len(sources):
        places = pc.index_in(delta.column("src"), value_set=sources)
        rows = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False))
        found[places.drop_null().to_numpy()] = rows
    return found.tolist()
