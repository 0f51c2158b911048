"""Which queries are stored with which of the served graphs: `--queries DIR`, `--queries GRAPH=DIR`, several times if need be.

They are read and checked with each revision: a server whose queries cannot be read or do not fit the schema of their graph does
not start, and one that runs goes on with those it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from omnigraph.errors import GraphError, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.service.caller import Caller, Origin
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.stored import StoredQueries, validate
from omnigraph.service.stored.catalogue import files_in
from omnigraph.surfaces.http.graphs import Registry, ServedGraph


def with_queries(graphs: Sequence[ServedGraph], given: Iterable[str]) -> list[ServedGraph]:
    """The graphs, with the queries that are stored with each. Nothing of a graph is looked at."""
    places = _places(graphs, given)
    return [replace(graph, queries=StoredQueries.of_paths(*places.get(graph.id, ()))) for graph in graphs]


def files_of(graphs: Sequence[ServedGraph], given: Iterable[str]) -> Iterator[str]:
    """The files that they stand in."""
    for places in _places(graphs, given).values():
        for place in places:
            yield from map(str, files_in(place) if place.is_dir() else [place])


def fitting(graphs: Registry) -> Registry:
    """Graphs whose queries fit their schemas; if those of one do not, all are let go of."""
    try:
        for graph in graphs:
            require_fitting(graph, graphs)
    except GraphError:
        graphs.close()
        raise
    return graphs


def require_fitting(graph: ServedGraph, graphs: Registry) -> None:
    """Refuse queries that do not fit the schema of their graph."""
    if graph.queries:
        accepted = ShowSchema(graph.ref, "main").run(graphs, Caller(None, Origin.HTTP))
        validate(graph.queries, accepted.catalog).require(f"the schema of `{graph.id}`")


def _places(graphs: Sequence[ServedGraph], given: Iterable[str]) -> dict[str, list[Path]]:
    places: dict[str, list[Path]] = {}
    known = [graph.id for graph in graphs]
    for text in given:
        head, equals, rest = text.partition("=")
        if equals and head in known:
            places.setdefault(head, []).append(Path(rest))
        elif len(known) == 1 and not (equals and not Path(text).exists()):
            places.setdefault(known[0], []).append(Path(text))
        else:
            near = did_you_mean(head, known) if equals else ""
            hint = f"{near} Write GRAPH=PATH, where GRAPH is one of {', '.join(known)}.".strip()
            raise UsageError(f"which graph are the queries {text} stored with?", hint=hint)
    return places
