"""Single nodes and edges: one by its key, its neighbours, one put."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from omnigraph.errors import UsageError
from omnigraph.service.operations.get_entity import GetEntity
from omnigraph.service.operations.list_neighbors import ListNeighbors
from omnigraph.service.operations.put_entity import PutEntity
from omnigraph.service.results import Edge, Node, wire
from omnigraph.surfaces.http.answering.answers import answer
from omnigraph.surfaces.http.answering.outputs import change_output
from omnigraph.surfaces.http.calls import Call, one_state
from omnigraph.wire import own_outputs as own
from omnigraph.wire.requests import EntityRequest, NeighborsRequest, PutRequest


async def get(call: Call) -> Response:
    """One node or edge; null if there is none."""
    wanted = await call.json(EntityRequest)
    branch, at = one_state(wanted.branch, wanted.snapshot)
    found = await call.run(GetEntity(call.graph.ref, wanted.type, key_of(wanted.key), wanted.id, branch, at))
    return answer(
        own.EntityOutput(
            node=node_output(found) if isinstance(found, Node) else None,
            edge=edge_output(found) if isinstance(found, Edge) else None,
        )
    )


async def neighbors(call: Call) -> Response:
    """The nodes next to one."""
    wanted = await call.json(NeighborsRequest)
    branch, at = one_state(wanted.branch, wanted.snapshot)
    key = Node(wanted.type, wanted.id, {}) if wanted.id is not None else key_of(wanted.key)
    edges = None if wanted.edges is None else tuple(wanted.edges)
    direction = wanted.direction or "both"
    found = await call.run(ListNeighbors(call.graph.ref, wanted.type, key, edges, direction, wanted.limit, branch, at))
    return answer(
        own.NeighborsOutput(
            neighbors=[
                own.NeighborOutput(node=node_output(n.node), edge=edge_output(n.edge), direction=n.direction) for n in found
            ]
        )
    )


async def put(call: Call) -> Response:
    """One is put."""
    wanted = await call.json(PutRequest)
    ends = None
    if wanted.from_ is not None or wanted.to is not None:
        if wanted.from_ is None or wanted.to is None:
            raise UsageError("an edge has two ends", hint="Give `from` and `to`.")
        ends = (key_of(wanted.from_), key_of(wanted.to))
    operation = PutEntity(
        call.graph.ref,
        wanted.type,
        wanted.values or {},
        ends,
        bool(wanted.patch),
        wanted.branch or "main",
        wanted.if_graph_commit,
        wanted.message,
        call.idempotency_key,
    )
    return answer(change_output(await call.run(operation)))


def key_of(given: Any) -> Any:
    """What names an entity: a value, several in a list, values by name; or `{"node": {"type": …, "id": …}}`."""
    node = given.get("node") if isinstance(given, dict) and set(given) == {"node"} else None
    if isinstance(node, dict) and set(node) == {"type", "id"}:
        return Node(str(node["type"]), str(node["id"]), {})
    return tuple(given) if isinstance(given, list) else given


def node_output(node: Node) -> own.NodeOutput:
    """A node as it is answered."""
    return own.NodeOutput(type=node.type, id=node.id, properties=_spelt(node.properties))


def edge_output(edge: Edge) -> own.EdgeOutput:
    """An edge as it is answered."""
    return own.EdgeOutput(
        type=edge.type,
        id=edge.id,
        source=own.NodeName(type=edge.source[0], id=edge.source[1]),
        target=own.NodeName(type=edge.target[0], id=edge.target[1]),
        properties=_spelt(edge.properties),
    )


def _spelt(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: wire(value) for name, value in properties.items()}
