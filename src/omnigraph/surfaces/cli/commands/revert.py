"""`omnigraph revert`."""

from __future__ import annotations

import click

from omnigraph.service.operations.revert import Revert
from omnigraph.surfaces.cli.arguments import json_option, resolution, resolve_options
from omnigraph.surfaces.cli.confirmation import echo_write
from omnigraph.surfaces.cli.merging import settled, tell
from omnigraph.surfaces.cli.output import print_json
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, address, connect_to, uri_option


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES, also=frozenset({"quiet"}))
@click.argument("commit")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to revert it on.")
@resolve_options
@uri_option
@json_option("the outcome")
def command(
    commit: str,
    branch: str,
    message: str | None,
    dry_run: bool,
    resolve: tuple[str, ...],
    resolve_file: str | None,
    strict: bool,
    interactive: bool,
    uri: str | None,
    as_json: bool,
) -> int:
    """Undo what a commit did, with a new commit.

    Later changes to the same entities are conflicts: `ours` is the branch as it is, `theirs` the state
    before COMMIT.
    """
    where = address(uri)
    if not dry_run:
        echo_write("revert", where)
    with connect_to(where, read_only=dry_run) as graph:
        reverted = settled(
            graph,
            branch,
            lambda chosen, preview: graph.run(Revert(graph.ref, commit, branch, preview, chosen, strict, message)),
            resolution(resolve, resolve_file),
            dry_run=dry_run,
            interactive=interactive,
            as_json=as_json,
        )
    if as_json:
        print_json(reverted.to_dict())
    else:
        tell(reverted)
    return 1 if reverted.conflicts else 0
