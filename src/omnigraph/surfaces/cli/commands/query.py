"""`omnigraph query`."""

from __future__ import annotations

import click

from omnigraph.service.operations.query import Query
from omnigraph.surfaces.cli.answers import chosen_format, format_options, write_answer
from omnigraph.surfaces.cli.arguments import parameters, query_options, target, target_options, the_query
from omnigraph.surfaces.cli.scope import READS, Capability, Command, connect, here


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@format_options
@target_options
@query_options
def command(
    name: str | None,
    query_path: str | None,
    query_text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    format_: str | None,
    as_json: bool,
    out: str | None,
) -> None:
    """Run a query.

    \b
    omnigraph query --store people.omni -e 'query q() { match { $p: Person } return { $p.name } }'
    omnigraph query friends --store people.omni --query people.gq --params '{"name": "Ada"}' --format csv
    """
    source = the_query(name, query_path, query_text)
    given = parameters(params, params_file)
    branch, snapshot = target(branch, snapshot)
    settled = here().settings
    form = chosen_format(format_, as_json, settled.output)
    if form == "parquet" and out is None:
        raise click.UsageError("--format parquet needs --out FILE")
    with connect(read_only=False) as graph:
        result = graph.run(Query(graph.ref, source, given, name, branch, snapshot))
        write_answer(result, form, out, width=settled.width, layout=settled.layout)
