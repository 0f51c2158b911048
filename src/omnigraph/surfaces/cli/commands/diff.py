"""`omnigraph diff`."""

from __future__ import annotations

import click

from omnigraph.service.operations.diff import Diff
from omnigraph.surfaces.cli.arguments import filter_options, json_option
from omnigraph.surfaces.cli.change_text import change_lines, painted, schema_lines, stats_text
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Command, connect, uri_option


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@click.argument("before", metavar="FROM")
@click.argument("after", metavar="TO")
@click.option("--stat", "only_stats", is_flag=True, help="Show only the number of changes.")
@filter_options
@uri_option
@json_option("the comparison")
def command(
    before: str,
    after: str,
    only_stats: bool,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
    as_json: bool,
) -> None:
    """Show what differs between two branches, tags or commits.

    The cost depends on what differs, not on the size of the graph. Both are compared as they are: what only the first has, also
    what it gained since the two diverged, shows as deleted. `branch merge --dry-run` shows what a merge would change.

    \b
    omnigraph diff main agent/7 --store people.omni
    """
    if only_stats and as_json:
        raise click.UsageError("--stat and --json exclude each other: the JSON has both")
    with connect(uri) as graph:
        found = graph.run(Diff(graph.ref, before, after, kinds, types, ops))
        if as_json:
            print_json(found.to_dict())
            return
        say(f"{painted(before, bold=True)} → {painted(after, bold=True)}: {stats_text(found.stats)}")
        for line in schema_lines(found.schema):
            say(line)
        for line in () if only_stats else change_lines(found):
            say(line)
