"""`omnigraph load`, and `omnigraph ingest`, its older form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from omnigraph.errors import UsageError, WouldEmpty
from omnigraph.model.phrases import counted
from omnigraph.service.operations.load import Load, SparkSettings
from omnigraph.surfaces.cli.arguments import json_option, key_option
from omnigraph.surfaces.cli.confirmation import ask, completing_indexes, confirm, echo_write, interruptible
from omnigraph.surfaces.cli.files import Lines, Stdin, is_stream_of_lines
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, address, connect_to

if TYPE_CHECKING:
    from omnigraph.service.results import LoadResult
    from omnigraph.surfaces.cli.scope import Connection

MODES = ("overwrite", "append", "merge", "update", "patch")
DIALECTS = ("strict", "compatible")
ENGINES = ("auto", "local", "spark")
EngineName = Literal["auto", "local", "spark"]
ALSO = frozenset({"yes", "quiet"})


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES, also=ALSO)
@click.argument("uri", required=False, metavar="[URI]")
@click.option(
    "--data",
    "paths",
    required=True,
    multiple=True,
    metavar="PATH",
    help="A .jsonl, .csv, .tsv, .parquet or .arrow file, also compressed (.gz, .bz2, .zst), a folder with everything below it, "
    "or a pattern; may be repeated. `-` reads JSON lines from stdin.",
)
@click.option("--mode", required=True, type=click.Choice(MODES), help="What to do with existing entities.")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to load into.")
@click.option("--from", "from_", metavar="BASE", help="Create the branch from this one if it does not exist.")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="FILE=TYPE",
    help="The type of the rows of a file or folder that is not named after it.",
)
@click.option("--skip-unknown", is_flag=True, help="Skip files in a folder that cannot be read, instead of loading nothing.")
@click.option("--allow-empty", is_flag=True, help="Let an overwrite remove all entities of a type without asking.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    show_default=True,
    help="Load in this process or with Spark; auto uses Spark for large files if it is installed.",
)
@click.option(
    "--master", metavar="URL", help="Where Spark runs: local[4], spark://host:7077, yarn, sc://host:15002. Implies Spark."
)
@click.option("--conf", "conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
@click.option(
    "--quarantine",
    metavar="FOLDER",
    help="Load the valid records and write the others to a file in this folder, as JSON lines, instead of loading nothing.",
)
@click.option("--max-bad", metavar="LIMIT", help="With --quarantine: load nothing if more records are bad, such as 1% or 100.")
@click.option(
    "--lossy",
    type=click.Choice(("round",)),
    help="Round numbers and times that their types cannot hold exactly, instead of refusing them.",
)
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
    default="strict",
    show_default=True,
    help="How JSON is read; compatible ignores unknown members and takes values of the wrong kind for null.",
)
@click.option("--message", metavar="TEXT", help="A message for the commit.")
@click.option("--embed", is_flag=True, help="Make the vectors of loaded texts (@embed), as part of the commit.")
@key_option
@json_option("what was loaded")
def command(
    uri: str | None,
    paths: tuple[str, ...],
    mode: str,
    branch: str,
    from_: str | None,
    types: tuple[str, ...],
    skip_unknown: bool,
    allow_empty: bool,
    engine: EngineName,
    master: str | None,
    conf: tuple[str, ...],
    quarantine: str | None,
    max_bad: str | None,
    lossy: str | None,
    dialect: str,
    message: str | None,
    embed: bool,
    idempotency_key: str | None,
    as_json: bool,
) -> None:
    """Load files into a branch as one commit.

    merge replaces WHOLE entities with the same id: a property that is not given becomes null. patch changes only what is given
    and adds entities that do not exist; update only changes those that do. append refuses ids that exist, overwrite replaces all
    entities of the types that occur. All that is wrong with the data is reported at once, and then nothing is changed, unless
    --quarantine says where to put it.

    \b
    omnigraph load people.omni --data people.jsonl --mode merge
    omnigraph load people.omni --data Person.csv --data Knows.parquet --mode append --branch etl/7 --from main
    omnigraph load people.omni --data ages/Person.csv --mode patch
    """
    options: dict[str, Any] = {"types": _named(types), "engine": _engine(engine, master, conf), "quarantine": quarantine}
    options |= {"max_bad": None if max_bad is None else _limit(max_bad), "lossy": lossy, "dialect": dialect}
    options |= {"message": message, "skip_unknown": skip_unknown, "allow_empty": allow_empty, "embed": embed}
    options |= {"idempotency_key": idempotency_key}
    run(uri, paths, as_json, "load", mode=mode, branch=branch, from_=from_, **options)


@click.command("ingest", cls=Command, capability=Capability.DATA, usable=WRITES, also=ALSO)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--data", "paths", required=True, multiple=True, metavar="PATH", help="What to load.")
@click.option("--mode", default="merge", show_default=True, type=click.Choice(MODES), help="What to do with existing entities.")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to load into.")
@click.option("--from", "from_", default="main", show_default=True, metavar="BASE", help="Create the branch from this one.")
@json_option("what was loaded")
def ingest(uri: str | None, paths: tuple[str, ...], mode: str, branch: str, from_: str, as_json: bool) -> None:
    """The older form of `load`: a missing branch is made, and more spellings of records are taken."""
    say("warning: `omnigraph ingest` is now `omnigraph load`", err=True)
    run(uri, paths, as_json, "ingest", mode=mode, branch=branch, from_=from_, dialect="compatible")


def _engine(engine: EngineName, master: str | None, conf: tuple[str, ...]) -> EngineName | SparkSettings:
    """Who does the work: the name of an engine, or Spark as configured."""
    if master is None and not conf:
        return engine
    if engine == "local":
        raise click.UsageError("--master and --conf are for Spark, not for --engine local")
    settings = {}
    for given in conf:
        name, sign, value = given.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"--conf {given}: write KEY=VALUE", hint="Such as --conf spark.executor.memory=4g.")
        settings[name.strip()] = value
    return SparkSettings(master, settings)


def run(uri: str | None, paths: tuple[str, ...], as_json: bool, label: str, **options: Any) -> None:
    """Load, with a bar where somebody looks."""
    where = address(uri)
    branch = options["branch"]
    if options["mode"] == "overwrite":
        confirm(f"replacing what branch `{branch}` has", where, as_json=as_json)
    echo_write(label, where)
    with connect_to(where, read_only=False, frames=True) as graph:
        try:
            result = _loaded(graph, paths, options)
        except WouldEmpty as error:
            if "-" in paths:  # stdin has been read
                raise
            ask(error, as_json=as_json)
            result = _loaded(graph, paths, options | {"allow_empty": True})
        _tell(result, where, branch, as_json)
        completing_indexes(graph, result.commit.id)


def _loaded(graph: Connection, paths: tuple[str, ...], options: dict[str, Any]) -> LoadResult:
    from omnigraph.surfaces.progress import loading_bar

    with interruptible(graph, options["branch"]), loading_bar() as report:
        return graph.run(Load(graph.ref, _source(paths), progress=report, **options))


def _tell(result: LoadResult, where: str, branch: str, as_json: bool) -> None:
    if as_json:
        data = result.to_dict()
        base = data.pop("base_branch")
        about = {"uri": where, "branch": data.pop("branch"), "mode": data.pop("mode")}
        print_json({**about, **({} if base is None else {"base_branch": base}), **data, "commit": result.commit.to_dict()})
        return
    say(
        f"loaded {where} on branch {branch} with {result.mode.value}: {counted(result.rows, 'entity')} across "
        f"{counted(len(result.nodes_loaded), 'node type')} and {counted(len(result.edges_loaded), 'edge type')}"
    )
    if not result.changed:
        say("nothing is different: no commit was made")
    if result.branch_created:
        say(f"branch {branch} created from {result.base_branch}")
    for what in ("deleted", "cascaded", "missing"):
        counts = {name: count for name, count in getattr(result, what).items() if count}
        if counts:
            say(f"{what}: {', '.join(f'{name} {count:,}' for name, count in counts.items())}")
    for path in result.skipped:
        say(f"skipped: {path}")
    if result.quarantined:
        say(f"quarantined: {result.quarantined}, see {result.quarantine}")
    if result.embedded is not None:
        say(f"embedded: {result.embedded}")


def _source(paths: tuple[str, ...]) -> Any:
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`--data -` cannot be combined with other files: stdin is one stream")
    streams = [path for path in paths if is_stream_of_lines(path)]
    if streams and len(paths) > 1:
        raise UsageError(
            f"{streams[0]} has no ending that says what it holds, so it is read as JSON lines, and alone",
            hint="Load it by itself, or name it .jsonl.",
        )
    return Stdin() if paths == ("-",) else Lines(streams[0]) if streams else list(paths)


def _limit(given: str) -> float:
    """A number of records, or a share of them."""
    try:
        return float(given[:-1]) / 100 if given.endswith("%") else float(given) if "." in given else int(given)
    except ValueError:
        raise UsageError(f"--max-bad cannot be {given}", hint="Give 1%, 0.01 or 100.") from None


def _named(types: tuple[str, ...]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for given in types:
        path, equals, name = given.rpartition("=")
        if not equals or not path or not name:
            raise UsageError(f"--type {given}: which file has which type?", hint="Write --type people.csv=Person.")
        found[path] = name
    return found or None
