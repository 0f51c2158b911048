"""`omnigraph version`."""

from __future__ import annotations

import click

from omnigraph.model.versions import API_VERSION, INTERNAL_SCHEMA_VERSION, __version__
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command


@click.command(cls=Command, capability=Capability.LOCAL)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Print the version of the contract this package follows."""
    if as_json:
        print_json({"version": API_VERSION, "internal_schema_version": INTERNAL_SCHEMA_VERSION, "package": __version__})
        return
    say(f"omnigraph {API_VERSION}")
    say(f"internal-schema {INTERNAL_SCHEMA_VERSION}")
