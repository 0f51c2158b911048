"""`omnigraph tag`: create, list, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.model.text_tables import aligned
from omnigraph.service.operations.create_tag import CreateTag
from omnigraph.service.operations.delete_tag import DeleteTag
from omnigraph.service.operations.list_tags import ListTags
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.confirmation import echo_write, one_step
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, WRITES, Capability, Group, address, connect, connect_to, uri_option

if TYPE_CHECKING:
    from omnigraph.service.results import Tag

QUIET = frozenset({"quiet"})


@click.group(cls=Group)
def command() -> None:
    """Create, list and delete tags. A tagged commit is never cleaned up."""


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@click.argument("name")
@click.argument("commit", required=False, metavar="[COMMIT]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="Without COMMIT: the newest of this branch.")
@uri_option
@json_option("what was named")
def create(name: str, commit: str | None, branch: str, uri: str | None, as_json: bool) -> None:
    """Tag a commit, or the newest commit of a branch."""
    where = address(uri)
    echo_write("tag create", where)
    with connect_to(where, read_only=False) as graph, one_step("omnigraph tag list"):
        tag = graph.run(CreateTag(graph.ref, name, commit, branch))
    if as_json:
        print_json(_described(tag))
    else:
        say(f"created tag {tag.name} at {tag.commit}")


@command.command("list", capability=Capability.DATA, usable=READS)
@uri_option
@json_option("names and commits")
def list_(uri: str | None, as_json: bool) -> None:
    """List the tags by name."""
    with connect(uri) as graph:
        tags = graph.run(ListTags(graph.ref))
    if as_json:
        print_json({"tags": [_described(tag) for tag in tags]})
        return
    for line in aligned((tag.name, tag.commit) for tag in tags):
        say(line)


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@click.argument("name")
@uri_option
@json_option("what was forgotten")
def delete(name: str, uri: str | None, as_json: bool) -> None:
    """Delete a tag. Its commit may be cleaned up afterwards."""
    where = address(uri)
    echo_write("tag delete", where)
    with connect_to(where, read_only=False) as graph, one_step("omnigraph tag list"):
        deleted = graph.run(DeleteTag(graph.ref, name))
    if as_json:
        print_json({"name": name, "actor_id": None if deleted is None else deleted.deleted_by})
    else:
        say(f"deleted tag {name}")


def _described(tag: Tag) -> dict[str, Any]:
    return {"name": tag.name, "graph_commit_id": tag.commit, "actor_id": tag.created_by, "created_at": tag.created_at}
