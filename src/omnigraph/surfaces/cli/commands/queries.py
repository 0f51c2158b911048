"""`omnigraph queries`: stored queries, and whether they fit a schema."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from omnigraph.catalog.signature import QuerySignature
from omnigraph.errors import NotFound, ScopeError
from omnigraph.model.phrases import counted
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say, tell_diagnostic
from omnigraph.surfaces.cli.scope import CLUSTERS, READS, SERVERS, Capability, Group, address, connect_to, here, is_served

if TYPE_CHECKING:
    from omnigraph.catalog.catalog import Catalog
    from omnigraph.service.stored.catalogue import Problem, StoredQueries

_USABLE = READS | SERVERS | CLUSTERS


@click.group(cls=Group)
def command() -> None:
    """List stored queries, and check them against a schema."""


def _places(function: Callable[..., Any]) -> Callable[..., Any]:
    about = "A folder or file of queries; may be repeated."
    return click.option("--queries", "places", multiple=True, metavar="PATH", help=about)(function)


@command.command("list", capability=Capability.CONTROL, usable=_USABLE)
@_places
@json_option("the queries")
def list_(places: tuple[str, ...], as_json: bool) -> None:
    """List the stored queries of a served graph, of a graph of a cluster, or of files.

    \b
    omnigraph queries list --server prod --graph people
    omnigraph queries list --cluster company/ --graph people
    omnigraph queries list --queries queries/
    """
    found = _in_files(places) if places else _served() if here().cluster is None else _in_cluster()
    if as_json:
        print_json({"queries": [_as_json(query) for query in found]})
        return
    for query in found:
        say(f"{query.kind}  {query}")
        for label, text in (("description", query.description), ("instruction", query.instruction)):
            if text is not None:
                say(f"    {label}: {text}")


@command.command(capability=Capability.CONTROL, usable=_USABLE)
@click.argument("uri", required=False, metavar="[URI]")
@_places
@click.option("--schema", "schema_path", metavar="FILE", help="The .pg file to check them against, instead of a graph.")
@json_option("what does not fit")
def validate(uri: str | None, places: tuple[str, ...], schema_path: str | None, as_json: bool) -> int:
    """Check files of queries against a graph, a served graph or a schema file. Exits with 1 if one does not fit.

    \b
    omnigraph queries validate people.omni --queries queries/
    omnigraph queries validate --schema people.pg --queries queries/
    omnigraph queries validate --cluster company/ --graph people
    """
    from omnigraph.service.stored import validate as validated

    if not places and here().cluster is None:
        raise ScopeError("which queries?", hint="Give --queries with a folder or a file, or --cluster for those it has applied.")
    queries, problems = _read(places) if places else _applied()
    found = validated(queries, _schema(uri, schema_path))
    if as_json:
        unread: list[object] = [{"query": problem.about, "message": problem.message} for problem in problems]
        told = found.to_dict()
        print_json({**told, "ok": found.ok and not problems, "breakages": unread + [b.to_dict() for b in found.breakages]})
    else:
        for problem in problems:
            say(f"ERROR  {problem.about}: {problem.message}")
        for breakage in found.breakages:
            for diagnostic in breakage.diagnostics:
                tell_diagnostic(diagnostic)
            say(f"ERROR  query '{breakage.query}': {breakage.message}")
        for warning in found.warnings:
            say(f"WARN  query '{warning.query}': {warning.message}")
        if found.ok and not problems:
            verb = "type-checks" if len(queries) == 1 else "type-check"
            say(f"OK  {counted(len(queries), 'stored query')} {verb} against the schema")
    return 0 if found.ok and not problems else 1


def _read(places: tuple[str, ...]) -> tuple[StoredQueries, tuple[Problem, ...]]:
    from omnigraph.service.stored.catalogue import read_paths

    return read_paths(_existing(places))


def _existing(places: tuple[str, ...]) -> tuple[str, ...]:
    for place in places:
        if not os.path.exists(place):
            raise NotFound(f"no file or folder {place}", hint="Give a folder or a file of queries.")
    return places


def _in_files(places: tuple[str, ...]) -> list[QuerySignature]:
    from omnigraph.service.stored import StoredQueries

    return [query.signature for query in StoredQueries.of_paths(*_existing(places))]


def _applied() -> tuple[StoredQueries, tuple[Problem, ...]]:
    """What a cluster has applied to one of its graphs."""
    from omnigraph.cluster.serving.revision import find_graph, read_serving
    from omnigraph.language.source import Source
    from omnigraph.service.stored.catalogue import read_named

    where = here().settings.cluster(here().cluster or "")
    graph_id, _ = find_graph(where, here().graph)
    revision = read_serving(where)
    graph = next((graph for graph in revision.graphs if graph.id == graph_id), None)
    if graph is None:
        raise ScopeError(f"graph `{graph_id}` cannot be served: {revision.quarantined[graph_id].message}")
    return read_named({name: Source(text, f"{name}.gq") for name, text in graph.queries.items()})


def _in_cluster() -> list[QuerySignature]:
    return [query.signature for query in _applied()[0]]


def _served() -> list[QuerySignature]:
    from omnigraph.service.operations.list_queries import ListQueries

    where = address()
    if not is_served(where):
        raise ScopeError(f"{where} stores no queries; a server does", hint="Give --server, or --queries with a folder or a file.")
    with connect_to(where) as graph:
        return graph.run(ListQueries(graph.ref))


def _schema(uri: str | None, path: str | None) -> Catalog:
    if path is not None:
        from omnigraph.catalog.opening import offline_catalog

        return offline_catalog(read_source(path, what="schema file"))
    from omnigraph.service.operations.show_schema import ShowSchema

    with connect_to(address(uri)) as graph:
        return graph.run(ShowSchema(graph.ref)).catalog


def _as_json(query: QuerySignature) -> dict[str, object]:
    told = query.to_dict()
    params = [{"name": p.name, "type": p.type or p.kind, "nullable": p.nullable} for p in query.params]
    about: dict[str, object] = {name: told[name] for name in ("description", "instruction") if name in told}
    return {
        "name": query.name,
        "mcp_expose": True,
        "tool_name": query.tool_name,
        "mutation": query.mutation,
        **about,
        "params": params,
    }
