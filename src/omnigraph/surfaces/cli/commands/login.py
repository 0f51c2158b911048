"""`omnigraph login`."""

from __future__ import annotations

import sys

import click

from omnigraph.errors import UsageError
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command, here
from omnigraph.surfaces.cli.servers import keep_token


@click.command(cls=Command, capability=Capability.LOCAL)
@click.argument("name", metavar="SERVER")
@click.option("--token", metavar="TOKEN", help="The token; a line of stdin unless given.")
@json_option("where it was written")
def command(name: str, token: str | None, as_json: bool) -> None:
    """Keep the token of a server, for you alone."""
    given = (token if token is not None else sys.stdin.readline()).strip()
    if not given or not given.isascii() or not given.isprintable():
        raise UsageError("the token is blank, or no token", hint="Give --token, or a line on stdin.")
    path = keep_token(name, given)
    declared = name in (here().settings.get("servers") or {})
    if not declared:
        say(f"note: there is no server `{name}` yet: `omnigraph config set servers.{name}.url URL`", err=True)
    if as_json:
        print_json({"server": name, "credentials_path": str(path), "declared": declared})
    else:
        say(f"kept the token of {name} in {path}")
