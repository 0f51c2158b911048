"""`omnigraph view`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.errors import UsageError
from omnigraph.model.phrases import counted
from omnigraph.surfaces.cli.arguments import json_option, parameters, target, target_options, text_option, the_query
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Command, connect

if TYPE_CHECKING:
    from omnigraph.visualization.visualization import Visualization


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@click.argument("uri", required=False, metavar="[URI|FILE]")
@click.option("--query", "query_path", metavar="FILE", help="Draw what a query matches: a .gq file.")
@text_option("The same, as text.")
@click.option("--name", metavar="NAME", help="Which query of the file.")
@click.option("--params", metavar="JSON", help="Parameters of the query.")
@click.option("--params-file", metavar="FILE", help="A file with that object; `-` is stdin.")
@click.option("--diff", nargs=2, metavar="FROM TO", help="Draw what differs between two branches, tags or commits.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Maximum number of rows of a query, or of changes of a diff."
)
@target_options
@click.option("--out", metavar="FILE", help="Save the page to this file.")
@click.option("--no-open", is_flag=True, help="Do not open the browser.")
@json_option("what was drawn")
def command(
    uri: str | None,
    query_path: str | None,
    query_text: str | None,
    name: str | None,
    params: str | None,
    params_file: str | None,
    diff: tuple[str, str] | None,
    limit: int | None,
    branch: str | None,
    snapshot: str | None,
    out: str | None,
    no_open: bool,
    as_json: bool,
) -> None:
    """Draw a graph: its schema, what a query matches, or what differs between two states.

    The page is one file that needs no network. Without --out it is written to a temporary folder.

    \b
    omnigraph view people.omni
    omnigraph view people.omni -e 'query q() { match { $p: Person  $p knows $f } return { $f.name } }'
    omnigraph view people.omni --diff main agent/7 --out review.html
    """
    asked = query_path is not None or query_text is not None
    if asked and diff:
        raise click.UsageError("--diff and a query exclude each other")
    if not asked and (params or params_file or name):
        raise click.UsageError("--name and --params belong to a query: give --query or -e too")
    if not asked and not diff and limit is not None:
        raise click.UsageError("--limit belongs to a query or a diff")
    branch, snapshot = target(branch, snapshot)
    if diff and (branch or snapshot):
        raise click.UsageError("--diff names both states itself; leave --branch and --snapshot out")
    if uri is not None and uri.endswith(".pg"):
        drawn = _of_file(uri, asked or bool(diff) or bool(branch or snapshot))
    else:
        from omnigraph.visualization.visualize import Wanted, visualize

        with connect(uri) as graph:
            source = the_query(name, query_path, query_text) if asked else None
            given = parameters(params, params_file)
            drawn = visualize(graph.run, graph.ref, Wanted(source, given, name, diff or None, branch, snapshot, limit))
    where = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="omnigraph-")) / "view.html"
    if not where.parent.is_dir():
        raise UsageError(f"the folder {where.parent} does not exist")
    drawn.save(where)
    opened = False if no_open else drawn.open(where)
    drawing = drawn.drawing
    if as_json:
        reported = {"out": str(where), "kind": drawing.kind, "nodes": len(drawing.nodes), "edges": len(drawing.edges)}
        print_json({**reported, "opened": opened})
        return
    say(f"drew {counted(len(drawing.nodes), 'node')} and {counted(len(drawing.edges), 'edge')}: {where}")
    if not opened and not no_open:
        say("no browser was found; open the file yourself", err=True)


def _of_file(path: str, more: bool) -> Visualization:
    if more:
        raise UsageError(f"{path} is a schema file: only its schema can be drawn", hint="Give a graph.")
    from omnigraph.catalog.opening import offline_catalog
    from omnigraph.visualization.drawings import of_schema
    from omnigraph.visualization.visualization import Visualization

    return Visualization(of_schema(offline_catalog(read_source(path, what="schema file")), path))
