"""`omnigraph repair`."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.service.operations.repair import Repair
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import CLUSTERS, READS, Capability, Command, address, connect_to

WHY = """nothing needs repairing: a commit is one atomic step, so a graph is never half-written.
What a crashed writer left behind is named by no commit; `omnigraph cleanup` gives back its space.
`omnigraph verify` checks that every file is there."""


@click.command(cls=Command, capability=Capability.DIRECT, usable=READS | CLUSTERS)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--confirm", is_flag=True, help="Accepted for scripts; has no effect, because nothing needs to be confirmed.")
@click.option("--force", is_flag=True, help="Accepted for scripts, with --confirm.")
@json_option("the state of every type")
def command(uri: str | None, confirm: bool, force: bool, as_json: bool) -> None:
    """Explain that nothing needs repairing, and why."""
    if force and not confirm:
        raise click.UsageError("--force needs --confirm")
    where = address(uri)
    with connect_to(where) as graph:
        snapshot = graph.run(Repair(graph.ref))
    if not as_json:
        say(WHY)
        return
    datasets: list[dict[str, Any]] = [
        {
            "type_key": t.type_key,
            "published_dataset_version": t.version,
            "classification": "no_drift",
            "action": "no_op",
            "operations": [],
            "error": None,
        }
        for t in snapshot.types
    ]
    about = {"uri": where, "confirm": confirm, "force": force, "graph_manifest_version": snapshot.number}
    print_json({**about, "datasets": datasets})
