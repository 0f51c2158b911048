"""`omnigraph stats`."""

from __future__ import annotations

import click

from omnigraph.model.text_tables import aligned
from omnigraph.service.operations.stats import Stats
from omnigraph.surfaces.cli.arguments import json_option, target, target_options
from omnigraph.surfaces.cli.output import one_line, print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Command, connect


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@click.argument("uri", required=False, metavar="[URI]")
@target_options
@json_option("the numbers")
def command(uri: str | None, branch: str | None, snapshot: str | None, as_json: bool) -> None:
    """Show the number of entities and the indexes of each type, and what failed in the background."""
    branch, snapshot = target(branch, snapshot)
    with connect(uri) as graph:
        found = graph.run(Stats(graph.ref, branch, snapshot))
    if as_json:
        data = found.to_dict()
        print_json({name: data[name] for name in ("branch", "commit", "types", "failures")})
        return
    say(f"branch {found.branch} at {found.commit}")
    cells = [(t.kind, t.name, f"{t.rows:,}", ", ".join(map(str, t.indexes))) for t in found.types]
    for line in aligned(cells, right=(False, False, True)):
        say(line)
    for failure in found.failures:
        say(one_line(str(failure)))
