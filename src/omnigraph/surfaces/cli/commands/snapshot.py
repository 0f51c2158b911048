"""`omnigraph snapshot`."""

from __future__ import annotations

import click

from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, connect


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to look at.")
@json_option("the snapshot")
def command(uri: str | None, branch: str, as_json: bool) -> None:
    """Show where each type is stored at the newest commit of a branch."""
    with connect(uri) as graph:
        data = graph.run(Snapshot(graph.ref, branch)).to_dict()
    if as_json:
        print_json(data)
        return
    for name in ("graph_branch", "graph_manifest_version", "internal_schema_version"):
        say(f"{name}: {data[name]}")
    for one in data["datasets"]:
        branch_ = one["native_dataset_branch"] or "-"
        say(
            f"{one['entity_kind']} type '{one['type_name']}' published_dataset_version={one['published_dataset_version']} "
            f"native_dataset_branch={branch_} entities={one['entity_count']}"
        )
