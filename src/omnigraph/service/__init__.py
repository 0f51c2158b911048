"""The one door between surfaces and graphs: a caller, an operation, and `Service.run` = authorise → admit → run → audit.

    service = Service(DirectGraphs())
    result = service.run(Caller("ada", Origin.CLI), Query(GraphRef("people.omni"), source))

    caller        who asks, from where, under which request id
    operation     what an operation is; `operations` has one module for each
    graphs        how graphs are named and found; `direct` opens folders and buckets
    admission     whether there is room for it now
    audit         what is written down about decisions and writes
    stored        queries that are stored with a graph
    results       what operations give, for those who render it

A surface imports this package, never the engine, the pipeline or the storage.
"""

from __future__ import annotations

from omnigraph.service.caller import Caller, Origin
from omnigraph.service.graphs import GraphRef
from omnigraph.service.service import Service

__all__ = ["Caller", "GraphRef", "Origin", "Service"]
