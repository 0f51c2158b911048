"""`omnigraph init`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from omnigraph.service.operations.init import Init
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command, checked, connect_to, here


@click.command(cls=Command, capability=Capability.DIRECT, usable=frozenset({"as"}), also=frozenset({"yes"}))
@click.argument("uri", required=False, metavar="URI")
@click.option("--schema", "schema_path", metavar="FILE", help="The .pg file of the new graph.")
@click.option(
    "--infer",
    "files",
    multiple=True,
    metavar="PATH",
    help="Propose a schema from a CSV, Parquet, Arrow or JSON file, a folder or a pattern, and print it; may be repeated. "
    "With --yes, create the graph with it.",
)
@click.option("--template", metavar="NAME", help="A schema that comes with OmniGraph, such as memory; `list` names them all.")
@click.option("--dimension", type=int, metavar="N", help="With --template: how many numbers a vector of your model has.")
@click.option("--force", is_flag=True, help="Accepted for scripts; has no effect, because a failed init leaves nothing behind.")
@json_option("where it is and its first commit")
def command(
    uri: str | None,
    schema_path: str | None,
    files: tuple[str, ...],
    template: str | None,
    dimension: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Create a graph in a folder or below an s3:// address.

    If there is already a graph, the command fails, even with --force.

    \b
    omnigraph init people.omni --schema people.pg
    omnigraph init people.omni --infer Person.csv --infer Knows.parquet > people.pg
    omnigraph init team.omni --template memory --dimension 768
    """
    if template == "list" and schema_path is None and not files:
        _list_templates(as_json)
        return
    if sum((schema_path is not None, bool(files), template is not None)) != 1:
        raise click.UsageError("give one of --schema, --infer and --template")
    if dimension is not None and template is None:
        raise click.UsageError("--dimension belongs to --template")
    if uri is None:
        raise click.UsageError("Missing argument 'URI'.")
    schema: str | Path
    if template is not None:
        from omnigraph.memory.templates import DIMENSION
        from omnigraph.memory.templates import schema as schema_of

        schema = schema_of(template, dimension=DIMENSION if dimension is None else dimension)
    else:
        schema = Path(schema_path) if schema_path is not None else _inferred(files, uri)
    if isinstance(schema, Path):
        read_source(str(schema), what="schema file")
    elif files and not here().yes:
        if as_json:
            print_json({"uri": uri, "schema_source": schema})
        else:
            say(schema, nl=False)
        return
    from omnigraph.cluster.serving.managed import require_unmanaged

    require_unmanaged(checked(uri), "a new graph")
    with connect_to(checked(uri), read_only=False) as graph:
        commit = graph.run(Init(graph.ref, schema))
    if as_json:
        print_json({"uri": uri, "commit": commit.to_dict()})
    else:
        say(f"initialized {uri}")
    if files and isinstance(schema, str):
        _tell_left_out(schema)


def _list_templates(as_json: bool) -> None:
    from omnigraph.memory.templates import TEMPLATES

    if as_json:
        print_json({"templates": [{"name": name, "description": about} for name, about in TEMPLATES.items()]})
        return
    for name, about in TEMPLATES.items():
        say(f"{name}: {about}")


def _inferred(files: tuple[str, ...], uri: str) -> str:
    from omnigraph.service.inferring import inferred_schema

    def compatible(path: str) -> str:
        return f"omnigraph load {shlex.quote(uri)} --data {shlex.quote(path)} --mode merge --dialect compatible"

    return inferred_schema(files, compatible)


def _tell_left_out(schema: str) -> None:
    """A load refuses files with columns that no type has."""
    from omnigraph.service.inferring import left_out_columns

    for column in left_out_columns(schema):
        say(f"warning: {column}", err=True)
