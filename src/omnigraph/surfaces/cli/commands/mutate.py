"""`omnigraph mutate`."""

from __future__ import annotations

import click

from omnigraph.model.phrases import counted
from omnigraph.service.operations.mutate import Mutate
from omnigraph.surfaces.cli.arguments import json_option, parameters, query_options, the_query
from omnigraph.surfaces.cli.confirmation import interruptible
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, connect


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES)
@query_options
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to change.")
@click.option("--if-commit", metavar="ID", help="Only if the branch is at this commit; otherwise exit with 4.")
@click.option("--message", metavar="TEXT", help="A message for the commit.")
@json_option("what was done")
def command(
    name: str | None,
    query_path: str | None,
    query_text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str,
    if_commit: str | None,
    message: str | None,
    as_json: bool,
) -> None:
    """Change a graph: inserts and updates, or deletes, as one commit.

    \b
    omnigraph mutate --store people.omni -e 'query add($n: String) { insert Person { name: $n } }' --params '{"n": "Ada"}'
    """
    source = the_query(name, query_path, query_text)
    given = parameters(params, params_file)
    with connect(read_only=False) as graph, interruptible(graph, branch):
        receipt = graph.run(Mutate(graph.ref, source, given, name, branch, if_commit, message))
    if as_json:
        print_json(receipt.to_dict())
        return
    changed = f"{counted(receipt.affected_nodes, 'node')}, {counted(receipt.affected_edges, 'edge')}"
    say(f"changed {branch} via {receipt.query_name}: {changed}")
    if receipt.actor is not None:
        say(f"actor_id: {receipt.actor}")
