"""`omnigraph mutate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from omnigraph.model.phrases import counted
from omnigraph.service.operations.invoke_query import InvokeQuery
from omnigraph.service.operations.mutate import Mutate
from omnigraph.surfaces.cli.arguments import is_stored, json_option, key_option, parameters, query_options, the_query
from omnigraph.surfaces.cli.confirmation import interruptible
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, connect

if TYPE_CHECKING:
    from omnigraph.service.results import Receipt


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES)
@query_options
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to change.")
@click.option("--if-commit", metavar="ID", help="Only if the branch is at this commit; otherwise exit with 4.")
@click.option("--message", metavar="TEXT", help="A message for the commit.")
@click.option("--embed", is_flag=True, help="Make the vectors of texts that it writes (@embed), as part of the commit.")
@key_option
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
    embed: bool,
    idempotency_key: str | None,
    as_json: bool,
) -> None:
    """Change a graph: inserts and updates, or deletes, as one commit; with a name alone, by a query stored with a served graph.

    \b
    omnigraph mutate --store people.omni -e 'query add($n: String) { insert Person { name: $n } }' --params '{"n": "Ada"}'
    omnigraph mutate add_person --server prod --graph people --params '{"n": "Ada"}'
    """
    stored = is_stored(name, query_path, query_text)
    if stored and embed:
        raise click.UsageError("--embed is for statements that are given here, not for stored queries")
    source = None if stored else the_query(name, query_path, query_text)
    given = parameters(params, params_file)
    with connect(read_only=False) as graph:
        if source is None:
            invoked = InvokeQuery(graph.ref, name or "", None, given, branch, None, if_commit, True, message, idempotency_key)
            receipt = cast("Receipt", graph.run(invoked))
        else:
            with interruptible(graph, branch):
                mutation = Mutate(graph.ref, source, given, name, branch, if_commit, message, idempotency_key, embed)
                receipt = graph.run(mutation)
    if as_json:
        print_json(receipt.to_dict())
        return
    changed = f"{counted(receipt.affected_nodes, 'node')}, {counted(receipt.affected_edges, 'edge')}"
    say(f"changed {branch} via {receipt.query_name}: {changed}")
    if receipt.commit is None:
        say("nothing is different: no commit was made")
    if receipt.embedded is not None:
        say(f"embedded: {receipt.embedded}")
    if receipt.actor is not None:
        say(f"actor_id: {receipt.actor}")
