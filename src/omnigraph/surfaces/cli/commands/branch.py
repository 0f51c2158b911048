"""`omnigraph branch`: create, list, delete, merge."""

from __future__ import annotations

import click

from omnigraph.errors import GraphError
from omnigraph.surfaces.cli.arguments import json_option, resolution, resolve_options
from omnigraph.surfaces.cli.consent import confirm, echo_write, one_step
from omnigraph.surfaces.cli.merging import settled, tell
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, WRITES, Capability, Group, actor, address, open_at, open_graph, uri_option

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
    """Create a branch. It costs the same whatever the size of the graph."""
    where = address(uri)
    echo_write("branch create", where)
    with open_at(where, read_only=False) as graph, one_step("omnigraph branch list"):
        graph.branches.create(name, from_=from_)
    if as_json:
        print_json({"uri": where, "from": from_, "name": name, "actor_id": actor()})
    else:
        say(f"created branch {name} from {from_}")


@command.command("list", capability=Capability.DATA, usable=READS)
@uri_option
@json_option("the names")
def list_(uri: str | None, as_json: bool) -> None:
    """List the branches by name."""
    with open_graph(uri) as graph:
        names = graph.branches.list()
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
    """Delete a branch. Commits that were merged stay where they were merged to."""
    where = address(uri)
    confirm(f"deleting branch `{name}`", where, as_json=as_json)
    echo_write("branch delete", where)
    with open_at(where, read_only=False) as graph, one_step("omnigraph branch list"):
        graph.branches.delete(name)
    if as_json:
        print_json({"uri": where, "name": name, "actor_id": actor()})
    else:
        say(f"deleted branch {name}")


@command.command(capability=Capability.DATA, usable=WRITES, also=QUIET)
@click.argument("source")
@click.option("--into", default="main", show_default=True, metavar="B", help="The branch to merge into.")
@click.option("--delete-branch", is_flag=True, help="Delete SOURCE once it is merged.")
@resolve_options
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
    uri: str | None,
    as_json: bool,
) -> int:
    """Merge a branch into another as one commit.

    Conflicts are told all together and nothing is changed. `ours` is the branch that is merged into, `theirs` is SOURCE. With
    --dry-run the exit code is 1 if there are conflicts.

    \b
    omnigraph branch merge agent/7 --store people.omni --dry-run
    omnigraph branch merge agent/7 --store people.omni --resolve 'divergent_update:node:Person:Ada={"age": 40}'
    """
    if dry_run and delete_branch:
        raise click.UsageError("--dry-run changes nothing; --delete-branch would")
    where = address(uri)
    if not dry_run:
        echo_write("branch merge", where)
    with open_at(where, read_only=dry_run) as graph:
        merged = settled(
            graph,
            into,
            lambda chosen, preview: graph.merge(
                source, into=into, dry_run=preview, resolve=chosen, strict=strict, actor=actor(), message=message
            ),
            resolution(resolve, resolve_file),
            dry_run=dry_run,
            interactive=interactive,
            as_json=as_json,
        )
        data = merged.to_dict()
        if delete_branch:
            try:
                graph.branches.delete(source)
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
