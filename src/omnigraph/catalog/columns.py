"""The Arrow schema of each type: `id` (and `src`, `dst` of an edge), then the properties in alphabetical order."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.model.arrow import arrow_field


def columns_of(type_: EntityType) -> pa.Schema:
    """The columns of a node or edge type. Made once for each: every write asks for them."""
    known: pa.Schema | None = type_.__dict__.get("columns")
    if known is None:
        fields = [pa.field(name, pa.string(), nullable=False) for name in type_.implicit]
        fields += [arrow_field(name, type_.properties[name].type) for name in sorted(type_.properties)]
        known = type_.__dict__["columns"] = pa.schema(fields)
    return known
