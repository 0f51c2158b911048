"""`omnigraph schema`: show, plan and apply, for graphs and for schema files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.declare import declare
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import plan_change
from omnigraph.catalog.migration.render import render_plan
from omnigraph.catalog.opening import offline_ir
from omnigraph.errors import UsageError
from omnigraph.language.pg.format import format_schema
from omnigraph.language.source import Source
from omnigraph.service.operations.apply_schema import ApplySchema
from omnigraph.service.operations.plan_schema import PlanSchema
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.service.operations.snapshot import Snapshot
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.confirmation import echo_write, interruptible
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import CLUSTERS, READS, WRITES, Capability, Group, address, connect, connect_to, is_served


class Schemas(Group):
    """Schema commands, one of them under two names."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, "show" if name == "get" else name)


@click.group(cls=Schemas)
def command() -> None:
    """Show a schema, plan a change, or apply it."""


@command.command(capability=Capability.DATA, usable=WRITES)
@click.argument("uri", required=False, metavar="[URI|FILE]")
@click.option("--branch", metavar="B", help="The branch of the graph whose schema is shown.")
@click.option("--diagram", is_flag=True, help="Draw the types and how they connect.")
@json_option("source, hash and accepted form")
def show(uri: str | None, branch: str | None, diagram: bool, as_json: bool) -> None:
    """Show the schema of a graph or a file: as text, as a diagram, or as JSON."""
    if diagram and as_json:
        raise click.UsageError("--diagram and --json exclude each other")
    if _is_file(uri):
        assert uri is not None
        if branch is not None:
            raise UsageError(f"{uri} is a file and has no branches")
        source = read_source(uri, what="schema file")
        ir = offline_ir(source)
        text = format_schema(source)
    else:
        with connect(uri) as graph:
            found = graph.run(ShowSchema(graph.ref, branch))
        ir, text = found.catalog.ir, found.source
        source = Source(text, "<schema>")
    if as_json:
        print_json({"schema_source": source.text, "schema_shape_hash": declare(source).hash(), "schema_ir": ir.to_json()})
    elif diagram:
        from omnigraph.surfaces.cli.schema_diagram import draw

        draw(Catalog.of(ir))
    else:
        say(text, nl=not text.endswith("\n"))


_BACKFILL = click.option(
    "--backfill",
    "fills",
    multiple=True,
    metavar="TYPE.PROPERTY=JSON",
    help="A value for existing entities that have none; may be repeated.",
)

_COMPUTE = click.option(
    "--compute",
    "expressions",
    multiple=True,
    metavar="TYPE.PROPERTY=EXPR",
    help="An expression over what entities had, for a new property or for those that have none; may be repeated.",
)


@command.command(capability=Capability.DIRECT, usable=READS)
@click.argument("uri", required=False, metavar="[URI|FILE]")
@click.option("--schema", "desired_path", required=True, metavar="FILE", help="The desired .pg file.")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch of the graph that would change.")
@click.option("--allow-data-loss", is_flag=True, help="Plan hard drops: older snapshots lose the data too.")
@_BACKFILL
@_COMPUTE
@json_option("the plan")
def plan(
    uri: str | None,
    desired_path: str,
    branch: str,
    allow_data_loss: bool,
    fills: tuple[str, ...],
    expressions: tuple[str, ...],
    as_json: bool,
) -> None:
    """Plan the change from one schema to another. Nothing is changed.

    The first is the schema of a graph, a .pg file, or an accepted schema as JSON. Exits with 1 if a step is unsupported.
    """
    desired = read_source(desired_path, what="schema file")
    backfill, compute = _backfill(fills), _compute(expressions)
    if _is_file(uri):
        assert uri is not None
        where = uri
        migration, resolution = plan_change(
            _accepted(uri), desired, allow_data_loss=allow_data_loss, backfill=backfill, compute=compute
        )
    else:
        where = address(uri)
        with connect_to(where) as graph:
            migration, resolution = graph.run(PlanSchema(graph.ref, desired, branch, allow_data_loss, backfill, compute))
    if as_json:
        steps = migration.to_json()["steps"]
        print_json({"uri": where, "supported": migration.supported, "step_count": len(migration.steps), "steps": steps})
    else:
        say(f"schema plan for {where}")
        say(f"supported: {'yes' if migration.supported else 'no'}")
        for line in render_plan(migration):
            say(f"- {line}" if migration.steps else line)
        for notice in resolution.notices:
            say(f"note: {notice.message}", err=True)


@command.command(capability=Capability.DATA, usable=WRITES | CLUSTERS, also=frozenset({"quiet"}))
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--schema", "desired_path", metavar="FILE", help="The desired .pg file; for a graph of a cluster what was applied.")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to apply it to.")
@click.option("--also", multiple=True, metavar="B", help="Another branch that gets it; may be repeated.")
@click.option("--allow-data-loss", is_flag=True, help="Make drops hard: dropped data is removed from the stored files.")
@_BACKFILL
@_COMPUTE
@json_option("what was done")
def apply(
    uri: str | None,
    desired_path: str | None,
    branch: str,
    also: tuple[str, ...],
    allow_data_loss: bool,
    fills: tuple[str, ...],
    expressions: tuple[str, ...],
    as_json: bool,
) -> None:
    """Apply a schema to a branch, as one commit. Other branches keep theirs, unless they are named.

    All branches are looked at before the first is changed; each gets a commit of its own. In a cluster the schema of main
    is applied by `omnigraph cluster apply`; a branch that is older gets exactly that one here, with --cluster and --branch.
    """
    given = None if desired_path is None else read_source(desired_path, what="schema file").text
    backfill, compute = _backfill(fills), _compute(expressions)
    where = address(uri)
    desired: str | Path | None = None if desired_path is None else Path(desired_path)
    if not is_served(where):
        from omnigraph.cluster.serving.managed import managing, schema_for_branches

        if managing(where) is not None:
            desired = schema_for_branches(where, given, (branch, *also), allow_data_loss=allow_data_loss)
    if desired is None:
        raise click.UsageError("Missing option '--schema'.")
    echo_write("schema apply", where)
    with connect_to(where, read_only=False) as graph, interruptible(graph, branch):
        done = graph.run(ApplySchema(graph.ref, desired, branch, allow_data_loss, backfill, compute, also))
        number = graph.run(Snapshot(graph.ref, branch)).number
    if as_json:
        data = done.to_dict()
        reported = {name: data[name] for name in ("supported", "applied", "step_count")}
        others = {"also": data["also"]} if "also" in data else {}
        steps = {"graph_manifest_version": number, "steps": data["steps"], "commit": data["commit"]}
        print_json({"uri": where, **reported, **steps, **others})
        return
    say(f"schema apply on {where}: {'applied' if done.applied else 'nothing to do'}")
    for line in render_plan(done.plan):
        say(f"- {line}" if done.plan.steps else line)
    for name, other in done.also.items():
        say(f"on branch {name}: {'applied' if other.applied else 'nothing to do'}")


def _backfill(given: tuple[str, ...]) -> dict[str, Json]:
    """Values by property, as they were written on the command line."""
    values: dict[str, Json] = {}
    for text in given:
        name, separator, value = text.partition("=")
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            hint = "Write it as TYPE.PROPERTY=JSON; text in quotes: --backfill 'Person.city=\"Oslo\"'."
            raise UsageError(
                f"--backfill {text}: {'no JSON after the `=`' if separator else 'there is no `=`'}", hint=hint
            ) from None
    return values


def _compute(given: tuple[str, ...]) -> dict[str, str]:
    """Expressions by property, as they were written on the command line."""
    pairs = [text.partition("=") for text in given]
    for name, separator, _ in pairs:
        if not separator:
            hint = "Write it as TYPE.PROPERTY=EXPR: --compute 'Person.name=concat(first, \" \", last)'."
            raise UsageError(f"--compute {name}: there is no `=`", hint=hint)
    return {name.strip(): expression for name, _, expression in pairs}


def _is_file(uri: str | None) -> bool:
    return uri is not None and (uri.endswith((".pg", ".json")) or Path(uri).is_file())


def _accepted(path: str) -> SchemaIR:
    source = read_source(path, what="schema file")
    if not path.endswith(".json"):
        return offline_ir(source)
    try:
        return SchemaIR.from_json(json.loads(source.text))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
