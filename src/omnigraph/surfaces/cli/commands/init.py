"""`omnigraph init`."""

from __future__ import annotations

from pathlib import Path

import click

from omnigraph.service.operations.init import Init
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command, checked, connect_to


@click.command(cls=Command, capability=Capability.DIRECT, usable=frozenset({"as"}))
@click.argument("uri", metavar="URI")
@click.option("--schema", "schema_path", required=True, metavar="FILE", help="The .pg file of the new graph.")
@click.option("--force", is_flag=True, help="Accepted for scripts; has no effect, because a failed init leaves nothing behind.")
@json_option("where it is and its first commit")
def command(uri: str, schema_path: str, force: bool, as_json: bool) -> None:
    """Create a graph in a folder or below an s3:// address.

    If there is already a graph, the command fails, even with --force.

    \b
    omnigraph init people.omni --schema people.pg
    """
    read_source(schema_path, what="schema file")
    with connect_to(checked(uri), read_only=False) as graph:
        commit = graph.run(Init(graph.ref, Path(schema_path)))
    if as_json:
        print_json({"uri": uri, "commit": commit.to_dict()})
    else:
        say(f"initialized {uri}")
