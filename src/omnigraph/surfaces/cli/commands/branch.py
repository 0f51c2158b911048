"""`omnigraph branch`: create, list, delete, merge."""

from __future__ import annotations

import click

from omnigraph.errors import GraphError
from omnigraph.service.operations.create_branch import CreateBranch
from omnigraph.service.operations.delete_branch import DeleteBranch
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.service.operations.merge import Merge
from omnigraph.surfaces.cli.arguments import json_option, key_option, resolution, resolve_options
from omnigraph.surfaces.cli.confirmation import confirm, echo_write, one_step
from omnigraph.surfaces.cli.merging import settled, tell
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Group, address, connect, connect_to, uri_option

QUIET = frozenset({"quiet"})


@click.group(cls=Group)
def command() -> None:
    """Create, list, delete and merge branches."""


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@click.argument("name")
@click.option("--from", "from_", default="main", show_default=True, metavar="B", help="A branch or a commit to start from.")
@uri_option
@json_option("what was made")
def create(name: str, from_: str, uri: str | None, as_json: bool) -> None:
    """Create a branch. This takes the same time for a graph of any size."""
    where = address(uri)
    echo_write("branch create", where)
    with connect_to(where, read_only=False) as graph, one_step("omnigraph branch list"):
        made = graph.run(CreateBranch(graph.ref, name, from_))
    if as_json:
        print_json({"uri": where, "from": from_, "name": name, "actor_id": made.created_by})
    else:
        say(f"created branch {name} from {from_}")


@command.command("list", capability=Capability.DATA, usable=WRITES)
@uri_option
@json_option("the names")
def list_(uri: str | None, as_json: bool) -> None:
    """List the branches by name."""
    with connect(uri) as graph:
        names = graph.run(ListBranches(graph.ref))
    if as_json:
        print_json({"branches": names})
    else:
        for name in names:
            say(name)


@command.command(capability=Capability.DATA, usable=WRITES, also=frozenset({"quiet", "yes"}))
@click.argument("name")
@uri_option
@json_option("what was deleted")
def delete(name: str, uri: str | None, as_json: bool) -> None:
    """Delete a branch. Commits that were merged into other branches stay there."""
    where = address(uri)
    confirm(f"deleting branch `{name}`", where, as_json=as_json)
    echo_write("branch delete", where)
    with connect_to(where, read_only=False) as graph, one_step("omnigraph branch list"):
        sealed = graph.run(DeleteBranch(graph.ref, name))
    if as_json:
        print_json({"uri": where, "name": name, "actor_id": None if sealed is None else sealed.actor})
    else:
        say(f"deleted branch {name}")


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@click.argument("source")
@click.option("--into", default="main", show_default=True, metavar="B", help="The branch to merge into.")
@click.option("--delete-branch", is_flag=True, help="Delete SOURCE once it is merged.")
@resolve_options
@key_option
@uri_option
@json_option("the outcome")
def merge(
    source: str,
    into: str,
    delete_branch: bool,
    message: str | None,
    dry_run: bool,
    resolve: tuple[str, ...],
    resolve_file: str | None,
    strict: bool,
    interactive: bool,
    idempotency_key: str | None,
    uri: str | None,
    as_json: bool,
) -> int:
    """Merge a branch into another as one commit.

    If there are conflicts, all of them are listed and nothing is changed. `ours` is the branch that is merged into, `theirs` is
    SOURCE. With --dry-run the exit code is 1 if there are conflicts.

    \b
    omnigraph branch merge agent/7 --store people.omni --dry-run
    omnigraph branch merge agent/7 --store people.omni --resolve 'divergent_update:node:Person:Ada={"age": 40}'
    """
    if dry_run and delete_branch:
        raise click.UsageError("--dry-run changes nothing; --delete-branch would")
    where = address(uri)
    if not dry_run:
        echo_write("branch merge", where)
    with connect_to(where, read_only=dry_run) as graph:
        merged = settled(
            graph,
            into,
            lambda chosen, preview: graph.run(
                Merge(graph.ref, source, into, preview, chosen, strict, message, None if preview else idempotency_key)
            ),
            resolution(resolve, resolve_file),
            dry_run=dry_run,
            interactive=interactive,
            as_json=as_json,
        )
        data = merged.to_dict()
        if delete_branch:
            try:
                graph.run(DeleteBranch(graph.ref, source))
                data["branch_deleted"] = True
            except GraphError as error:  # the merge stands; that the name is still there is worth a word, not a failure
                data |= {"branch_deleted": False, "branch_delete_error": error.message}
                say(f"warning: branch {source} was merged but not deleted: {error.message}", err=True)
    if as_json:
        print_json(data)
    else:
        tell(merged)
        if data.get("branch_deleted"):
            say(f"deleted branch {source}")
    return 1 if merged.conflicts else 0
