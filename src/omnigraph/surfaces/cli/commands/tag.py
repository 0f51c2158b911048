"""`omnigraph tag`: create, list, delete."""

from __future__ import annotations

import click

from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.consent import echo_write, one_step
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, WRITES, Capability, Group, address, open_at, open_graph, uri_option

QUIET = frozenset({"quiet"})


@click.group(cls=Group)
def command() -> None:
    """Name commits. What has a name is never cleaned up."""


@command.command(capability=Capability.DATA, usable=WRITES - {"as"}, also=QUIET)
@click.argument("name")
@click.argument("commit", required=False, metavar="[COMMIT]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="Without COMMIT: the newest of this branch.")
@uri_option
@json_option("what was named")
def create(name: str, commit: str | None, branch: str, uri: str | None, as_json: bool) -> None:
    """Name a commit, or the newest one of a branch."""
    where = address(uri)
    echo_write("tag create", where)
    with open_at(where, read_only=False) as graph, one_step("omnigraph tag list"):
        tag = graph.tags.create(name, commit or graph.view(branch).snapshot.commit)
    if as_json:
        print_json({"name": tag.name, "graph_commit_id": tag.commit})
    else:
        say(f"created tag {tag.name} at {tag.commit}")


@command.command("list", capability=Capability.DATA, usable=READS)
@uri_option
@json_option("names and commits")
def list_(uri: str | None, as_json: bool) -> None:
    """List the tags by name."""
    with open_graph(uri) as graph:
        tags = graph.tags.list()
    if as_json:
        print_json({"tags": [{"name": tag.name, "graph_commit_id": tag.commit} for tag in tags]})
        return
    width = max((len(tag.name) for tag in tags), default=0)
    for tag in tags:
        say(f"{tag.name.ljust(width)}  {tag.commit}")


@command.command(capability=Capability.DATA, usable=WRITES - {"as"}, also=QUIET)
@click.argument("name")
@uri_option
@json_option("what was forgotten")
def delete(name: str, uri: str | None, as_json: bool) -> None:
    """Forget a name. The commit may be cleaned up afterwards."""
    where = address(uri)
    echo_write("tag delete", where)
    with open_at(where, read_only=False) as graph, one_step("omnigraph tag list"):
        graph.tags.delete(name)
    if as_json:
        print_json({"name": name})
    else:
        say(f"deleted tag {name}")
