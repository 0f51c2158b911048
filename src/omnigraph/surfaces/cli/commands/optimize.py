"""`omnigraph optimize`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.model.phrases import counted
from omnigraph.model.text_tables import aligned
from omnigraph.service.operations.optimize import Optimize
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.confirmation import echo_write, interruptible
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import CLUSTERS, WRITES, Capability, Command, address, connect_to

if TYPE_CHECKING:
    from omnigraph.service.results import TypeOutcome


@click.command(cls=Command, capability=Capability.DIRECT, usable=WRITES | CLUSTERS, also=frozenset({"quiet"}))
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to work on.")
@json_option("what was done")
def command(uri: str | None, branch: str, as_json: bool) -> None:
    """Compact small fragments and complete every declared index.

    It changes no answer and can run while others write. Ctrl-C keeps what is done: each type is a commit of its own.
    """
    where = address(uri)
    echo_write("optimize", where)
    from omnigraph.surfaces.progress import counting_bar

    with connect_to(where, read_only=False) as graph, interruptible(graph, branch):
        keys = {t.name: t for t in graph.run(Snapshot(graph.ref, branch)).types}
        with counting_bar("optimizing", len(keys), unit="types") as advance:
            done = graph.run(Optimize(graph.ref, branch, lambda _: advance(1)))
        after = {t.name: t for t in graph.run(Snapshot(graph.ref, branch)).types}
    datasets = [
        {
            "type_key": keys[t.type].type_key,
            "fragments_removed": max(t.fragments_before - t.fragments_after, 0),
            "fragments_added": max(t.fragments_after - t.fragments_before, 0),
            "committed": t.commit is not None,
            "skipped": "busy" if t.busy else None,
            "published_dataset_version": after[t.type].version,
            "lance_head_version": after[t.type].version,
            "indexes_completed": list(t.covered),
            "pending_indexes": [],
        }
        for t in done.tables
    ]
    if as_json:
        print_json({"uri": where, "datasets": datasets})
        return
    say(f"optimize {where} — {counted(len(datasets), 'dataset')}")
    for line in aligned((keys[t.type].type_key, _outcome(t)) for t in done.tables):
        say(line)


def _outcome(done: TypeOutcome) -> str:
    if done.busy:
        return "skipped (somebody wrote to it all the time)"
    if done.commit is None:
        return "no-op"
    indexes = f"  indexes: {', '.join(done.covered)}" if done.covered else ""
    return f"frags {done.fragments_before} → {done.fragments_after} ✓{indexes}"
