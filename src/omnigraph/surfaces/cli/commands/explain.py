"""`omnigraph explain`."""

from __future__ import annotations

import click

from omnigraph.service.operations.explain import Explain
from omnigraph.surfaces.cli.arguments import json_option, parameters, query_options, target, target_options, the_query
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Command, connect


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@query_options
@target_options
@click.option("--analyze", is_flag=True, help="Run the query and show the rows and time of each step.")
@json_option("the plan")
def command(
    name: str | None,
    query_path: str | None,
    query_text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    analyze: bool,
    as_json: bool,
) -> None:
    """Show the plan of a query: its steps, and the estimated rows of each."""
    source = the_query(name, query_path, query_text)
    given = parameters(params, params_file)
    branch, snapshot = target(branch, snapshot)
    with connect() as graph:
        plan = graph.run(Explain(graph.ref, source, given, name, branch, snapshot, analyze))
    if as_json:
        print_json(plan.to_dict())
    else:
        say(str(plan))
