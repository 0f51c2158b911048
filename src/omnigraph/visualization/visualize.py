"""What is to be drawn is read through the door, then drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from omnigraph.errors import UsageError
from omnigraph.hints import Hint, Option
from omnigraph.model.frozen import frozen
from omnigraph.service import GraphRef
from omnigraph.service.operations.diff import Diff
from omnigraph.service.operations.read_nodes import ReadNodes
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.stats import Stats
from omnigraph.service.operations.subgraph import Subgraph
from omnigraph.visualization import drawings
from omnigraph.visualization.visualization import Visualization

if TYPE_CHECKING:
    from omnigraph.service.operation import Operation
    from omnigraph.service.results import Node, QueryText

R = TypeVar("R")


class Run(Protocol):
    """Has an operation done."""

    def __call__(self, operation: Operation[R], /) -> R: ...


@frozen(slots=False)
class Wanted:
    """What is to be drawn: the schema, unless there is a query or two states to compare."""

    query: QueryText | None = None
    params: Mapping[str, object] | None = None
    name: str | None = None
    diff: tuple[str, str] | None = None
    branch: str | None = None
    at: str | None = None
    limit: int | None = None


def visualize(run: Run, graph: GraphRef, wanted: Wanted) -> Visualization:
    """Draw a graph as requested."""
    if wanted.diff is not None:
        return _of_diff(run, graph, wanted, *wanted.diff)
    if wanted.query is not None:
        asked = Subgraph(graph, wanted.query, wanted.params, wanted.name, wanted.branch, wanted.at, wanted.limit)
        return Visualization(drawings.of_answer(run(asked), graph.uri))
    if wanted.params is not None or wanted.name is not None or wanted.limit is not None:
        raise UsageError("params, name and limit belong to a query", hint=Hint("Give a query too: ", Option("query")))
    schema = run(ShowSchema(graph, wanted.branch, wanted.at))
    rows = {t.name: t.rows for t in run(Stats(graph, wanted.branch, wanted.at)).types}
    state = f"{wanted.at or wanted.branch or 'main'} @ {schema.commit}"
    return Visualization(drawings.of_schema(schema.catalog, graph.uri, rows, state))


def _of_diff(run: Run, graph: GraphRef, wanted: Wanted, before: str, after: str) -> Visualization:
    if wanted.query is not None or wanted.branch is not None or wanted.at is not None:
        raise UsageError("a diff is between two states", hint="Leave query, branch and at out.")
    found = run(Diff(graph, before, after))

    def side(commit: str) -> drawings.Side:
        def nodes(ids: Mapping[str, frozenset[str]]) -> tuple[Node, ...]:
            return run(ReadNodes(graph, ids, commit)) if ids else ()

        return drawings.Side(run(ShowSchema(graph, at=commit)).catalog, nodes)

    return Visualization(drawings.of_diff(found, side(found.before.commit), side(found.after.commit), graph.uri, wanted.limit))
