"""Nodes and edges as a graph of networkx, for its algorithms and drawings. networkx is needed only here.

nodes   (type, id)                       attributes: the properties
edges   (type, id) → (type, id)          key: (edge type, edge id)       attributes: the properties
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.arrays.plain_values import plain_array
from omnigraph.engine.export.entities import Edge, Node, edge_of, shown_columns, type_of
from omnigraph.engine.snapshot.view import View
from omnigraph.errors import UsageError

if TYPE_CHECKING:
    import networkx

_BATCH = 8_192


def network_of(nodes: Iterable[Node], edges: Iterable[Edge]) -> networkx.MultiDiGraph:
    """Some nodes and edges as a graph of networkx."""
    try:
        import networkx
    except ImportError:
        raise UsageError("networkx is not installed", hint="pip install 'omnigraph[networkx]'") from None
    made = networkx.MultiDiGraph()
    made.add_nodes_from(((node.type, node.id), node.properties) for node in nodes)
    made.add_edges_from((edge.source, edge.target, (edge.type, edge.id), edge.properties) for edge in edges)
    return made


def whole_network(view: View, types: Iterable[str] | None) -> networkx.MultiDiGraph:
    """A graph, or some of its types. Of edges only those whose ends are there, too."""
    every = (*view.catalog.nodes.values(), *view.catalog.edges.values())
    chosen = every if types is None else tuple(type_of(view.catalog, name) for name in dict.fromkeys(types))
    names = {type_.name for type_ in chosen if type_.is_node}
    nodes = (Node(t.name, row.pop("id"), row) for t in chosen if t.is_node for row in _rows(view, t))
    between = [t for t in chosen if t.is_edge and {t.source, t.target} <= names]
    return network_of(nodes, (edge_of(t, row) for t in between for row in _rows(view, t)))


def _rows(view: View, type_: EntityType) -> Iterator[dict[str, Any]]:
    columns = shown_columns(type_)
    for batch in view.stored(type_).table.scan(columns, batch_rows=_BATCH):
        values = [plain_array(batch.column(name)) for name in columns]
        for row in zip(*values, strict=True):
            yield dict(zip(columns, row, strict=True))
