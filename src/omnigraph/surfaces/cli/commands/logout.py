"""`omnigraph logout`."""

from __future__ import annotations

import click

from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command
from omnigraph.surfaces.cli.servers import keep_token


@click.command(cls=Command, capability=Capability.LOCAL)
@click.argument("name", metavar="SERVER")
@json_option("where it was")
def command(name: str, as_json: bool) -> None:
    """Forget the token of a server. If there is none, nothing happens."""
    path = keep_token(name, None)
    if as_json:
        print_json({"server": name, "credentials_path": str(path)})
    else:
        say(f"forgot the token of {name}")
