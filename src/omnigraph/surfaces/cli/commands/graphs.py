"""`omnigraph graphs`: what a server has."""

from __future__ import annotations

import os

import click

from omnigraph.errors import ScopeError
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Group, here
from omnigraph.surfaces.cli.servers import base_of, token_for


@click.group(cls=Group)
def command() -> None:
    """List the graphs of a server."""


@command.command("list", capability=Capability.SERVED, usable=frozenset({"server", "profile"}))
@json_option("the graphs")
def list_(as_json: bool) -> None:
    """List the graphs of a server by id."""
    from omnigraph.client.listing import list_graphs

    base = base_of(addressed_server(), here().settings)
    found = list_graphs(base, token_for(base, here().settings))
    if as_json:
        print_json({"graphs": [{"graph_id": graph.graph_id, "uri": graph.uri} for graph in found]})
        return
    for graph in found:
        say(f"{graph.graph_id}\t{graph.uri}")


def addressed_server() -> str:
    """The server that a command is about."""
    flags = here()
    if flags.server is not None:
        return flags.server
    profile = flags.profile or os.environ.get("OMNIGRAPH_PROFILE")
    if profile:
        bound = flags.settings.profile(profile)
        if bound.kind != "server":
            raise ScopeError(f"profile `{profile}` is of a {bound.kind}", hint="Give --server, or a --profile of a server.")
        return bound.target
    if flags.settings.server is not None:
        return flags.settings.server
    raise ScopeError("no server addressed", hint="Give --server, or a --profile of a server, or set defaults.server.")
