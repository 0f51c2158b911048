"""Pictures of graphs: one HTML file each, which needs nothing else.

    import omnigraph as og
    og.view(g)                                             the schema
    og.view(g, query=FRIENDS, params={"n": "Ada"})         the nodes and edges behind an answer
    og.view(g, diff=("main", "agent/7"))                   what differs: added, changed, removed

In a notebook the picture is shown where it is made. `picture.save("x.html")` keeps it, `picture.open()` shows it in the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.engine.calls import arguments
from omnigraph.engine.calls.arguments import State, name_of
from omnigraph.engine.calls.guard import door
from omnigraph.surfaces.view.picture import Picture

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.engine.planning.prepared import QueryText

__all__ = ["Picture", "view"]


def _pair(name: str, value: object) -> tuple[str, str]:
    """Two states."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return arguments.state(name, value[0]), arguments.state(name, value[1])
    arguments.refuse(name, "two states of a graph", value)


@door(query=arguments.query, diff=_pair)
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
) -> Picture:
    """A picture of the schema of a graph, of what a query matched, or of what differs between two states."""
    from omnigraph.errors import UsageError
    from omnigraph.surfaces.view import drawings

    place = graph.uri
    if diff is not None:
        if query is not None or branch is not None or at is not None:
            raise UsageError("a diff is between two states", hint="Leave query, branch and at out.")
        found = graph.diff(*diff)
        before, after = (graph.view(at=end.commit) for end in (found.before, found.after))
        return Picture(drawings.of_diff(found, before, after, place, limit))
    if query is not None:
        bound = {} if limit is None else {"limit": limit}
        matched = graph.subgraph(query, params, name=name, branch=branch, at=at, **bound)
        return Picture(drawings.of_answer(matched, place))
    if params is not None or name is not None or limit is not None:
        raise UsageError("params, name and limit belong to a query", hint="Give query=… too.")
    shown = graph.view(branch, at)
    rows = {t.name: t.rows for t in graph.stats(branch, at).types}
    return Picture(drawings.of_schema(shown.catalog, place, rows, f"{name_of(at) or branch or 'main'} @ {shown.snapshot.commit}"))
