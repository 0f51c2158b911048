"""`omnigraph history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.errors import UsageError
from omnigraph.model.phrases import iso, one_line
from omnigraph.service.operations.entity_history import EntityHistory
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.change_text import painted
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Command, connect, uri_option

if TYPE_CHECKING:
    from omnigraph.service.results import Commit, Revision


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@click.argument("type_", metavar="TYPE")
@click.argument("key", metavar="KEY…", nargs=-1)
@click.option("--id", "id_", metavar="ID", help="The id of the entity, instead of its key.")
@click.option("--branch", metavar="B", default="main", help="The branch to read; main by default.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show only the newest N.")
@uri_option
@json_option("the revisions")
def command(
    type_: str, key: tuple[str, ...], id_: str | None, branch: str, limit: int | None, uri: str | None, as_json: bool
) -> None:
    """Show every commit that changed a node or an edge, newest first.

    A key of several properties is given in the order of the schema. The commits of a branch are shown by `omnigraph commit list`.

    \b
    omnigraph history Person Ada --store people.omni
    omnigraph history Order acme 7 --store shop.omni
    """
    if bool(key) == (id_ is not None):
        raise UsageError("a key or an id says which entity is meant", hint="Give one of them.")
    with connect(uri) as graph:
        found = graph.run(EntityHistory(graph.ref, type_, key or None, id_, branch, limit))
        if as_json:
            print_json(found.to_dict())
            return
        for revision in found:
            say(_line(revision))
            for commit in revision.origins:
                say(_origin(commit))
        if not found.revisions:
            say(f"no commit of {branch} changed {type_} {found.id}")
        elif not found.is_complete:
            say("…")


def _origin(commit: Commit) -> str:
    by = f" by {commit.actor}" if commit.actor else ""
    why = f": {one_line(commit.message)}" if commit.message else ""
    return f"  from {commit.id} {iso(commit.created_at)}{by} on {commit.branch}{why}"


def _line(revision: Revision) -> str:
    from omnigraph.service.results import shown_values

    by = f" by {revision.commit.actor}" if revision.commit.actor else ""
    head = f"{painted(revision.commit.id, bold=True)} {iso(revision.commit.created_at)}{by}: {revision.op}"
    why = f" ({one_line(revision.commit.message)})" if revision.commit.message else ""
    return f"{head} {shown_values(revision)}".rstrip() + why
