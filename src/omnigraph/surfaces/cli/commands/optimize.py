"""`omnigraph optimize`."""

from __future__ import annotations

import click

from omnigraph.model.phrases import counted
from omnigraph.service.operations.optimize import Optimize
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.consent import echo_write, interruptible
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, address, connect_to


@click.command(cls=Command, capability=Capability.DIRECT, usable=WRITES, also=frozenset({"quiet"}))
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to work on.")
@json_option("what was done")
def command(uri: str | None, branch: str, as_json: bool) -> None:
    """Compact small fragments and complete every declared index.

    It changes no answer and may run beside writers. Ctrl-C keeps what is done: each type is a commit of its own.
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
            "fragments_removed": max(t.pieces_before - t.pieces_after, 0),
            "fragments_added": max(t.pieces_after - t.pieces_before, 0),
            "committed": t.commit is not None,
            "skipped": "busy" if t.busy else None,
            "published_dataset_version": after[t.type].version,
            "indexes_completed": list(t.covered),
            "pending_indexes": [],
        }
        for t in done.tables
    ]
    if as_json:
        print_json({"uri": where, "datasets": datasets})
        return
    say(f"optimize {where} — {counted(len(datasets), 'dataset')}")
    width = max((len(keys[t.type].type_key) for t in done.tables), default=0)
    for t in done.tables:
        name = keys[t.type].type_key.ljust(width)
        if t.busy:
            say(f"{name}  skipped (somebody wrote to it all the time)")
        elif t.commit is None:
            say(f"{name}  no-op")
        else:
            indexes = f"  indexes: {', '.join(t.covered)}" if t.covered else ""
            say(f"{name}  frags {t.pieces_before} → {t.pieces_after} ✓{indexes}")
