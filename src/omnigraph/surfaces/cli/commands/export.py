"""`omnigraph export`."""

from __future__ import annotations

from typing import Final, Literal

import click

from omnigraph.model.phrases import counted
from omnigraph.service.operations.export import Export
from omnigraph.service.operations.stats import Stats
from omnigraph.surfaces.cli.arguments import json_option, target, target_options
from omnigraph.surfaces.cli.output import data_sink, print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, connect

FORMATS: Final = ["jsonl", "parquet", "csv"]


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES)
@click.argument("uri", required=False, metavar="[URI]")
@target_options
@click.option("--type", "types", multiple=True, metavar="T", help="Only these types; may be repeated.")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="jsonl", help="parquet, csv: a folder, with a file per type."
)
@click.option("--out", metavar="FILE|FOLDER", help="Write to a file or a folder, which appears once it is complete.")
@click.option("--jsonl", is_flag=True, hidden=True)
@json_option("what was written (with --out)")
def command(
    uri: str | None,
    branch: str | None,
    snapshot: str | None,
    types: tuple[str, ...],
    format_: Literal["jsonl", "parquet", "csv"],
    out: str | None,
    jsonl: bool,
    as_json: bool,
) -> None:
    """Write a graph as JSON lines, Parquet or CSV that load back to an equal graph.

    \b
    omnigraph export people.omni > people.jsonl
    omnigraph export people.omni --format parquet --out people
    """
    if jsonl:
        say("warning: an export is JSON lines anyway; --jsonl is not needed", err=True)
    if as_json and out is None:
        raise click.UsageError("--json describes what was written to a file: give --out too")
    if format_ != "jsonl" and out is None:
        raise click.UsageError(f"{format_} is written to a folder, a file per type: give --out")
    branch, snapshot = target(branch, snapshot)
    from omnigraph.surfaces.progress import counting_bar

    with connect(uri) as graph:
        stats = graph.run(Stats(graph.ref, branch, snapshot))
        total = sum(t.rows for t in stats.types if not types or t.name in types)
        chosen = types or None
        if out is not None:
            with counting_bar("exporting", total) as advance:
                done = graph.run(Export(graph.ref, out, chosen, branch, snapshot, format_, advance))
        else:
            sink = data_sink()
            done = graph.run(Export(graph.ref, sink, chosen, branch, snapshot))
            sink.flush()
    if as_json:
        print_json({"out": out, "graph_commit_id": done.commit, "entities": done.entities, "bytes": done.bytes})
    elif out is not None:
        say(f"exported {counted(done.entities, 'entity')} ({counted(done.bytes, 'byte')}) to {out}")
