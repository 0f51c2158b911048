"""Queries that are stored with a graph: whoever may invoke one needs neither its text nor the right to send others.

    catalogue    the queries of a graph, from files or texts; names and names of tools are there once
    validation   whether they fit a schema, with all that does not at once

They are invoked by one operation, `operations.invoke_query`.
"""

from __future__ import annotations

from omnigraph.service.stored.catalogue import NO_QUERIES, StoredQueries, StoredQuery
from omnigraph.service.stored.validation import Validation, validate

__all__ = ["NO_QUERIES", "StoredQueries", "StoredQuery", "Validation", "validate"]
