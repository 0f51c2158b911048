"""`omnigraph blob`: get and stat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.errors import UsageError
from omnigraph.model.outputs import write_output
from omnigraph.model.phrases import counted
from omnigraph.service.operations.read_blob import ReadBlob
from omnigraph.surfaces.cli.arguments import json_option, target, target_options
from omnigraph.surfaces.cli.output import data_sink, print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Group, connect, uri_option

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 2**63 - 1


def selector(function: Callable[..., Any]) -> Callable[..., Any]:
    """ENTITY TYPE ID PROPERTY, and where to read."""
    for decorate in (
        uri_option,
        target_options,
        click.argument("property_name", metavar="PROPERTY"),
        click.argument("id_", metavar="ID"),
        click.argument("type_", metavar="TYPE"),
        click.argument("entity", metavar="node|edge", type=click.Choice(["node", "edge"])),
    ):
        function = decorate(function)
    return function


@click.group(cls=Group)
def command() -> None:
    """Read the bytes of Blob properties."""


@command.command(capability=Capability.DATA, usable=READS)
@selector
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Number of bytes to skip.")
@click.option("--length", type=int, metavar="N", help="Maximum number of bytes.")
@click.option("--out", metavar="PATH", help="Write to a file instead of stdout.")
@json_option("what was written (with --out)")
def get(
    entity: Literal["node", "edge"],
    type_: str,
    id_: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
    uri: str | None,
    offset: int,
    length: int | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Write the bytes of a Blob, or a range of them.

    \b
    omnigraph blob get node Document runbook-7 attachment --store memory.omni --out runbook.pdf
    """
    if length is not None and (length < 1 or offset + length > LARGEST):
        raise UsageError(f"a range of {counted(length, 'byte')} from {offset} cannot be read", hint="Ask for at least one byte.")
    if as_json and out is None:
        raise click.UsageError("--json describes what was written to a file: give --out too")
    branch, snapshot = target(branch, snapshot)
    with connect(uri) as graph:
        found = graph.run(ReadBlob(graph.ref, entity, type_, id_, property_name, branch, snapshot))
    whole = found.data
    if offset and offset >= len(whole):
        raise UsageError("Blob range is not satisfiable", hint=f"The Blob has {counted(len(whole), 'byte')}.")
    data = whole[offset:] if length is None else whole[offset : offset + length]
    if out is None:
        sink = data_sink()
        sink.write(data)
        sink.flush()
        return
    write_output(out, data)
    if as_json:
        print_json({"out": out, "bytes": len(data)})


@command.command(capability=Capability.DATA, usable=READS)
@selector
@json_option("the description")
def stat(
    entity: Literal["node", "edge"],
    type_: str,
    id_: str,
    property_name: str,
    branch: str | None,
    snapshot: str | None,
    uri: str | None,
    as_json: bool,
) -> None:
    """Describe a Blob without writing it."""
    branch, snapshot = target(branch, snapshot)
    with connect(uri) as graph:
        found = graph.run(ReadBlob(graph.ref, entity, type_, id_, property_name, branch, snapshot))
    where = {"branch": branch, "snapshot": snapshot}
    about = {"size": found.size, "etag": found.etag} if found.uri is None else {"uri": found.uri}
    data = {
        "selector": {"entity": entity, "type": type_, "id": id_, "property": property_name},
        "kind": found.kind,
        **about,
        "target": {**{k: v for k, v in where.items() if v is not None}, "resolved_snapshot": found.commit},
    }
    if as_json:
        print_json(data)
        return
    say(f"{entity} {type_} {id_} {property_name}")
    for name in ("kind", *about):
        say(f"{name}: {data[name]}")
    say(f"commit: {found.commit}")
