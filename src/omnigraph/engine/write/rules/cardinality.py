"""How many edges of a type a source may have: `@card(min..max)`, for every source whose edges change.

Counted after the change: what is committed, less edges that go or move, plus those that come. A source that is itself removed is
not counted. A node that never had an edge of the type is not asked for its minimum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.catalog import EdgeType
from omnigraph.engine.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta, among, whole
from omnigraph.engine.write.committed import rows_where
from omnigraph.engine.write.rules.endpoints import removed_nodes
from omnigraph.engine.write.violations import Violation


def check(delta: Delta, changes: ChangeSet, view: View) -> Iterator[Violation]:
    """Every source with too few or too many edges."""
    edge = delta.type
    assert isinstance(edge, EdgeType)
    if edge.minimum == 0 and edge.maximum is None:
        return
    after = Counter(delta.column("src").to_pylist())
    touched = set(after)
    if not delta.replaces_all:
        before = rows_where(view, edge, "id", delta.touched, ["id", "src"]) if not delta.fresh or len(delta.removed) else None
        if before is not None:
            touched |= set(before["src"].to_pylist())
        if touched:
            sources = pa.array(sorted(touched), pa.string())
            committed = rows_where(view, edge, "src", sources, ["id", "src"])
            kept = committed.filter(pa.array(~among(whole(committed["id"]), delta.touched)))
            after.update(kept["src"].to_pylist())
    node = changes.node(edge.source)
    gone = set() if node is None else set(pc.unique(removed_nodes(node, view)).to_pylist())
    for source in sorted(touched - gone):
        count = after[source]
        if count < edge.minimum or (edge.maximum is not None and count > edge.maximum):
            bound = f"min {edge.minimum}" if count < edge.minimum else f"max {edge.maximum}"
            message = f"{edge.source} `{source}` would have {count} {edge.name} edges ({bound})"
            yield Violation("cardinality", edge.name, message, None, source, count)
