"""`omnigraph load`, and `omnigraph ingest`, its older form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnigraph.errors import UsageError
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.consent import completing_indexes, confirm, echo_write, interruptible
from omnigraph.surfaces.cli.files import Stdin
from omnigraph.surfaces.cli.output import print_json
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, actor, address, open_at

if TYPE_CHECKING:
    from omnigraph.engine.load.result import LoadResult

MODES = ("overwrite", "append", "merge")
ENGINES = ("auto", "local", "spark")
ALSO = frozenset({"yes", "quiet"})


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES, also=ALSO)
@click.argument("uri", required=False, metavar="[URI]")
@click.option(
    "--data",
    "paths",
    required=True,
    multiple=True,
    metavar="PATH",
    help="A .jsonl, .csv or .parquet file, a folder or a pattern; may be repeated. `-` reads JSON lines from stdin.",
)
@click.option("--mode", required=True, type=click.Choice(MODES), help="What happens to entities that exist.")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to load into.")
@click.option("--from", "from_", metavar="BASE", help="Create the branch from this one if it is missing.")
@click.option("--type", "types", multiple=True, metavar="FILE=TYPE", help="The type of the rows of a .csv or .parquet file.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    show_default=True,
    help="Who does the work: this process, or Spark; auto takes Spark for large files where it is installed.",
)
@click.option(
    "--quarantine",
    metavar="FILE",
    help="Load what is right, and write what is wrong to this file, as JSON lines; otherwise nothing is loaded then.",
)
@click.option(
    "--lossy",
    type=click.Choice(("round",)),
    help="Round numbers and times that their types cannot hold exactly; otherwise these are violations.",
)
@click.option("--message", metavar="TEXT", help="A note that stands in the commit.")
@json_option("what was loaded")
def command(
    uri: str | None,
    paths: tuple[str, ...],
    mode: str,
    branch: str,
    from_: str | None,
    types: tuple[str, ...],
    engine: str,
    quarantine: str | None,
    lossy: str | None,
    message: str | None,
    as_json: bool,
) -> None:
    """Load files into a branch as one commit.

    merge replaces entities with the same id, append refuses them, overwrite replaces everything of the types that occur. All that
    is wrong with the data is reported at once, and then nothing is changed, unless --quarantine says where to put it.

    \b
    omnigraph load people.omni --data people.jsonl --mode merge
    omnigraph load people.omni --data Person.csv --data Knows.parquet --mode append --branch etl/7 --from main
    """
    options = {"types": _named(types), "engine": engine, "quarantine": quarantine, "lossy": lossy, "message": message}
    run(uri, paths, as_json, "load", mode=mode, branch=branch, from_=from_, **options)


@click.command("ingest", cls=Command, capability=Capability.DATA, usable=WRITES, also=ALSO)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--data", "paths", required=True, multiple=True, metavar="PATH", help="What to load.")
@click.option("--mode", default="merge", show_default=True, type=click.Choice(MODES), help="What happens to entities that exist.")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to load into.")
@click.option("--from", "from_", default="main", show_default=True, metavar="BASE", help="Create the branch from this one.")
@json_option("what was loaded")
def ingest(uri: str | None, paths: tuple[str, ...], mode: str, branch: str, from_: str, as_json: bool) -> None:
    """The older form of `load`: a missing branch is made, and more spellings of records are taken."""
    click.echo("warning: `omnigraph ingest` is now `omnigraph load`", err=True)
    run(uri, paths, as_json, "ingest", mode=mode, branch=branch, from_=from_, dialect="compatible")


def run(uri: str | None, paths: tuple[str, ...], as_json: bool, label: str, **options: Any) -> None:
    """Load, with a bar where somebody looks."""
    where = address(uri)
    branch = options["branch"]
    if options["mode"] == "overwrite":
        confirm(f"replacing what branch `{branch}` has", where, as_json=as_json)
    echo_write(label, where)
    from omnigraph.surfaces.progress import loading_bar

    with open_at(where, read_only=False, frames=True) as graph:
        with interruptible(graph, branch), loading_bar() as report:
            result = graph.load(_source(paths), actor=actor(), progress=report, **options)
        _tell(result, where, branch, as_json, options.get("quarantine"))
        completing_indexes(graph, result.commit.id)


def _tell(result: LoadResult, where: str, branch: str, as_json: bool, quarantine: str | None) -> None:
    if as_json:
        data = result.to_dict()
        if result.base_branch is None:
            del data["base_branch"]
        print_json({"uri": where, **data, "commit": result.commit.to_dict()})
        return
    click.echo(
        f"loaded {where} on branch {branch} with {result.mode.value}: {result.rows} entities across "
        f"{len(result.nodes_loaded)} node types and {len(result.edges_loaded)} edge types"
    )
    if result.branch_created:
        click.echo(f"branch {branch} created from {result.base_branch}")
    if result.quarantined:
        click.echo(f"quarantined: {result.quarantined}, see {quarantine}")


def _source(paths: tuple[str, ...]) -> Any:
    if "-" not in paths:
        return list(paths)
    if len(paths) > 1:
        raise UsageError("`--data -` stands alone: stdin is one stream")
    return Stdin()


def _named(types: tuple[str, ...]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for given in types:
        path, equals, name = given.rpartition("=")
        if not equals or not path or not name:
            raise UsageError(f"--type {given}: which file has which type?", hint="Write --type people.csv=Person.")
        found[path] = name
    return found or None
