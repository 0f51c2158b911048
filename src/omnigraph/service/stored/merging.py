"""Whether stored queries still fit a graph after a merge: one may bring another schema to main, as applying it would.

A merge changes a schema only by taking that of its source as it is, so what has to fit is known before anything is merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.service.stored.validation import validate

if TYPE_CHECKING:
    from omnigraph.engine.any_graph import AnyGraph
    from omnigraph.service.stored.catalogue import StoredQueries


def require_fitting_merge(queries: StoredQueries, graph: AnyGraph, source: str, into: str) -> None:
    """Refuse a merge into main after which a stored query would not fit its schema."""
    if not queries or into.strip() != "main":
        return
    from omnigraph.engine.parts import accepted_schema

    theirs = accepted_schema(graph, source, None)
    found = validate(queries, theirs.catalog)
    if found.ok or validate(queries, accepted_schema(graph, "main", None).catalog) == found:
        return
    if graph.merge(source, into, dry_run=True).schema is not None:  # otherwise main keeps its own, or says what is in the way
        found.require(f"the schema that `{source.strip()}` brings")
