"""Reads of a graph on a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Literal, NoReturn, cast

import pyarrow as pa

from omnigraph.catalog.catalog import Kind
from omnigraph.client.asking import Asking, names, one, only_here, question, state, telling
from omnigraph.client.transport import Transport
from omnigraph.client.values import edge_of, explanation_of, node_of, result_of, snapshot_of, stats_of, subgraph_of
from omnigraph.engine.calls.arguments import AnyPath, State, either, having, path
from omnigraph.engine.calls.guard import guarded
from omnigraph.engine.execution.explain import Explanation
from omnigraph.engine.execution.result import Result
from omnigraph.engine.execution.stream import Stream
from omnigraph.engine.export.bounds import SUBGRAPH_ROWS
from omnigraph.engine.export.entities import Direction, Edge, Key, Neighbor, Node
from omnigraph.engine.export.lines import ByteSink, Exported
from omnigraph.engine.export.subgraph import Subgraph
from omnigraph.engine.inspect import Blob, GraphSnapshot, Stats
from omnigraph.engine.planning.prepared import QueryText
from omnigraph.engine.reading import TraversalName
from omnigraph.model.outputs import output_file
from omnigraph.model.phrases import one_line, short_id
from omnigraph.wire import outputs as o
from omnigraph.wire import own_outputs as own

ARROW = {"Accept": "application/vnd.apache.arrow.stream"}
SNAPSHOT = "omnigraph-snapshot-id"


class RemoteSession:
    """Several reads of one commit: `with g.session() as s: s.query(…)`."""

    def __init__(self, transport: Transport, commit: str, branch: str | None, snapshot: str | None) -> None:
        self._transport = transport
        self._commit, self._branch, self._snapshot = commit, branch, snapshot

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def __repr__(self) -> str:
        return one_line(f"Session at commit {short_id(self._commit)} of {self._transport}")

    @property
    def graph_commit_id(self) -> str:
        """The commit that is read."""
        return self._commit

    @guarded()
    def query(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Result:
        """The answer to a read."""
        body = question(source, name, params, at=self._commit) | {"timeout": timeout, "memory_limit": memory_limit}
        with telling(source):
            found = self._transport.send("POST", "/query", body=body, headers=ARROW, again=True, cancel=cancel)
        return result_of(found.content, self._branch, self._snapshot)


class Reads(Asking):
    """Reads."""

    @guarded()
    def query(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        traversal: TraversalName | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Result:
        """The answer to a read, which comes as Arrow. `name` picks one query of a text that holds several; `at` reads the past.

        The server has limits of its own; `timeout` and `memory_limit` may be tighter.
        """
        body = question(source, name, params, branch, at)
        body |= {"traversal": traversal, "timeout": timeout, "memory_limit": memory_limit}
        with telling(source):
            found = self._transport.send("POST", "/query", body=body, headers=ARROW, again=True, cancel=cancel)
        return result_of(found.content)

    @guarded()
    def session(self, branch: str | None = None, at: State | None = None) -> RemoteSession:
        """One commit for several reads: what others commit meanwhile is not seen."""
        asked = state(branch, at)
        commit = self._transport.get("/snapshot", o.SnapshotOutput, asked).graph_commit_id
        shown = (branch or "main") if asked["snapshot"] is None else None
        return RemoteSession(self._transport, commit, shown, asked["snapshot"])

    @guarded()
    def stream(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        cancel: Event | None = None,
    ) -> Stream:
        """The answer as Arrow batches, each as it comes; its `rows()` gives dicts, one after the other."""
        body = question(source, name, params, branch, at)
        body |= {"timeout": timeout, "memory_limit": memory_limit}
        with telling(source):
            found = self._transport.send("POST", "/query", body=body, headers=ARROW, again=True, cancel=cancel)
        about = result_of(found.content)
        with pa.ipc.open_stream(found.content) as batches:
            return Stream(about.query_name, about.columns, about.graph_commit_id, iter(list(batches)))

    @guarded()
    def explain(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        analyze: bool = False,
        traversal: TraversalName | None = None,
    ) -> Explanation:
        """How a read is answered. With `analyze` it is run, and rows and times are shown."""
        body = question(source, name, params, branch, at)
        body |= {"analyze": analyze, "traversal": traversal}
        with telling(source):
            return explanation_of(self._transport.post("/explain", body, own.ExplainOutput, again=True))

    @guarded()
    def to_networkx(
        self, *, types: Iterable[str] | str | None = None, branch: str | None = None, at: State | None = None
    ) -> NoReturn:
        """A whole graph becomes one of networkx where it is; a part of it by `subgraph`."""
        only_here(
            "`to_networkx` reads the whole graph where it is",
            "`subgraph` gives what a query matched, and it has `to_networkx`; or open the graph itself.",
        )

    @guarded()
    def subgraph(
        self,
        source: QueryText,
        params: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        branch: str | None = None,
        at: State | None = None,
        limit: int = SUBGRAPH_ROWS,
    ) -> Subgraph:
        """The nodes and edges that the pattern of a read matched, instead of the values it returns."""
        body = question(source, name, params, branch, at) | {"limit": limit}
        with telling(source):
            said = self._transport.post("/subgraph", body, own.SubgraphOutput, again=True)
        return subgraph_of(said, self._typed(at=said.graph_commit_id))

    @guarded()
    def get(
        self, type: str, key: Key | None = None, *, id: str | None = None, branch: str | None = None, at: State | None = None
    ) -> Node | Edge | None:
        """A node or an edge by its key, or by its id; None if there is none.

        A key of several properties is a tuple in the order of the schema, or a mapping from names.
        """
        body = {"type": type, **one(type, key, id), **state(branch, at)}
        said = self._transport.post("/get", body, own.EntityOutput, again=True, long=False)
        if said.node is None and said.edge is None:
            return None
        typed = self._typed(branch, at)
        return edge_of(said.edge, typed) if said.edge is not None else node_of(cast(own.NodeOutput, said.node), typed)

    @guarded()
    def neighbors(
        self,
        type: str,
        key: Key,
        *,
        edges: Iterable[str] | str | None = None,
        direction: Direction = "both",
        limit: int | None = None,
        branch: str | None = None,
        at: State | None = None,
    ) -> list[Neighbor]:
        """The nodes next to one, each with the edge that connects them, by edge type; through all edge types or some."""
        body = {"type": type, **one(type, key, None), "direction": direction, "limit": limit, **state(branch, at)}
        body["edges"] = None if edges is None else list(names(edges))
        said = self._transport.post("/neighbors", body, own.NeighborsOutput, again=True, long=False).neighbors
        typed = self._typed(branch, at) if said else None
        return [] if typed is None else [Neighbor(node_of(n.node, typed), edge_of(n.edge, typed), n.direction) for n in said]

    @guarded()
    def blob(
        self, entity: Kind, type: str, id: str, property: str, *, branch: str | None = None, at: State | None = None
    ) -> Blob:
        """A Blob property of one node or edge: its bytes, or the URI it refers to."""
        where = {"entity": entity, "type": type, "id": id, "property": property, **state(branch, at)}
        found = self._transport.send("GET", "/blob", params=where, again=True)
        content = found.headers["location"] if found.status_code == 302 else found.content
        return Blob(entity, type, id, property, content, _commit(found.headers[SNAPSHOT]))

    @guarded()
    def stats(self, branch: str | None = None, at: State | None = None) -> Stats:
        """How many of what there is, what is indexed, and how memory is used by the process that answers."""
        return stats_of(self._transport.get("/stats", own.StatsOutput, state(branch, at)))

    @guarded()
    def snapshot(self, branch: str | None = None, at: State | None = None) -> GraphSnapshot:
        """What stands where at the newest commit of a branch, or at a commit or tag."""
        return snapshot_of(self._transport.get("/snapshot", o.SnapshotOutput, state(branch, at)))

    @guarded()
    def schema(self, branch: str | None = None, at: State | None = None) -> str:
        """The text of the schema."""
        return self._transport.get("/schema", o.SchemaOutput, state(branch, at)).schema_source

    @guarded(target=either("a path, or something to write to", path, having("a sink", "write")))
    def export(
        self,
        target: AnyPath | ByteSink,
        *,
        format: Literal["jsonl", "parquet", "csv"] = "jsonl",
        types: Iterable[str] | None = None,
        branch: str | None = None,
        at: State | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Exported:
        """Write a graph, or some of its types, as JSON lines that load back to an equal graph; they are written as they come.

        `progress` is called with the number of entities written since its last call.
        """
        if format != "jsonl":
            only_here("a server exports JSON lines", "Export to jsonl, or open the graph itself.")
        body = {**state(branch, at), "type_names": None if types is None else list(names(types))}
        with self._transport.streamed("/export", body) as found:
            commit = _commit(found.headers[SNAPSHOT])
            if isinstance(target, str | os.PathLike):
                with output_file(Path(target)) as file:
                    return _copied(found.iter_bytes(), file, commit, progress)
            return _copied(found.iter_bytes(), target, commit, progress)


def _commit(snapshot: str) -> str:
    return snapshot.rpartition(":")[2]


def _copied(chunks: Iterator[bytes], file: ByteSink, commit: str, progress: Callable[[int], None] | None) -> Exported:
    size = entities = 0
    for chunk in chunks:
        file.write(chunk)
        size += len(chunk)
        lines = chunk.count(b"\n")
        entities += lines
        if progress is not None and lines:
            progress(lines)
    return Exported(commit, entities, size)
