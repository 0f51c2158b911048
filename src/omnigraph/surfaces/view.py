"""Visualizations of graphs: one HTML file each, which needs nothing else.

    import omnigraph as og
    og.view(g)                                             the schema
    og.view(g, query=FRIENDS, params={"n": "Ada"})         the nodes and edges behind an answer
    og.view(g, diff=("main", "agent/7"))                   what differs: added, changed, removed

In a notebook it is shown in place. `.save("x.html")` keeps it, `.open()` shows it in the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.service.python_calls import State, arguments, guarded, name_of
from omnigraph.visualization.visualization import Visualization

if TYPE_CHECKING:
    from omnigraph.service.results import Graph, QueryText

__all__ = ["Visualization", "view"]


def _pair(name: str, value: object) -> tuple[str, str]:
    """Two states."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return arguments.state(name, value[0]), arguments.state(name, value[1])
    arguments.refuse(name, "two states of a graph", value)


@guarded(query=arguments.query, diff=_pair)
def view(
    graph: Graph,
    *,
    query: QueryText | None = None,
    params: Mapping[str, object] | None = None,
    name: str | None = None,
    diff: tuple[State, State] | None = None,
    branch: str | None = None,
    at: State | None = None,
    limit: int | None = None,
) -> Visualization:
    """Draw the schema of a graph, of what a query matched, or of what differs between two states."""
    from omnigraph.service import Caller, Origin, Service
    from omnigraph.service.direct import OneGraph
    from omnigraph.visualization.visualize import Wanted, visualize

    opened = OneGraph(graph)
    service, caller = Service(opened), Caller(None, Origin.PYTHON)
    states = None if diff is None else (name_of(diff[0]), name_of(diff[1]))
    wanted = Wanted(query, params, name, states, branch, name_of(at), limit)
    return visualize(lambda operation: service.run(caller, operation), opened.ref, wanted)
