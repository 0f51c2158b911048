"""`omnigraph schema show` and `omnigraph schema plan`, for schema files."""

from __future__ import annotations

import json

import click

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.declare import declare
from omnigraph.catalog.ir import SchemaIR
from omnigraph.catalog.migration import plan_change
from omnigraph.catalog.migration.render import render_plan
from omnigraph.catalog.opening import offline_ir
from omnigraph.errors import UsageError
from omnigraph.language.pg.format import format_schema
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Show a schema, or plan a change of one."""


@command.command()
@click.argument("path", metavar="FILE")
@click.option("--picture", is_flag=True, help="Draw the types and how they connect.")
@click.option("--json", "as_json", is_flag=True, help="Print source, hash and accepted form as JSON.")
def show(path: str, picture: bool, as_json: bool) -> None:
    """Show a schema file: laid out, as a picture, or as JSON."""
    if picture and as_json:
        raise UsageError("--picture and --json do not go together")
    source = read_source(path, what="schema file")
    shape = declare(source)
    if as_json:
        ir = offline_ir(source)
        print_json({"schema_source": source.text, "schema_shape_hash": shape.hash(), "schema_ir": ir.to_json()})
    elif picture:
        from omnigraph.surfaces.cli.picture import draw

        draw(Catalog.of(offline_ir(source)))
    else:
        click.echo(format_schema(source), nl=False)


@command.command()
@click.argument("accepted_path", metavar="ACCEPTED")
@click.option("--schema", "desired_path", required=True, metavar="FILE", help="The desired .pg file.")
@click.option("--allow-data-loss", is_flag=True, help="Plan drops as hard: older snapshots lose the data too.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(accepted_path: str, desired_path: str, allow_data_loss: bool, as_json: bool) -> int:
    """Plan the change from one schema to another. Nothing is changed.

    ACCEPTED is the schema in use, a .pg file or an accepted schema as JSON. Exits with 1 if a step is unsupported.
    """
    accepted = _accepted(accepted_path)
    desired = read_source(desired_path, what="schema file")
    migration, resolution = plan_change(accepted, desired, allow_data_loss=allow_data_loss)
    steps = migration.to_json()["steps"]
    if as_json:
        print_json({"uri": accepted_path, "supported": migration.supported, "step_count": len(migration.steps), "steps": steps})
    else:
        click.echo(f"schema plan for {accepted_path}")
        click.echo(f"supported: {'yes' if migration.supported else 'no'}")
        for line in render_plan(migration):
            click.echo(f"- {line}" if migration.steps else line)
        for notice in resolution.notices:
            click.echo(f"note: {notice.message}", err=True)
    return 0 if migration.supported else 1


def _accepted(path: str) -> SchemaIR:
    source = read_source(path, what="schema file")
    if not path.endswith(".json"):
        return offline_ir(source)
    try:
        return SchemaIR.from_json(json.loads(source.text))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
