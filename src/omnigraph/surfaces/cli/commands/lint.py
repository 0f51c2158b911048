"""`omnigraph lint`."""

from __future__ import annotations

import click

from omnigraph.catalog.catalog import Catalog
from omnigraph.catalog.linting import LintReport, SchemaSource, lint
from omnigraph.catalog.opening import offline_catalog
from omnigraph.language.lint import Severity
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.output import print_json, say, tell_diagnostic
from omnigraph.surfaces.cli.scope import CLUSTERS, READS, Capability, Command, address, connect_to

_LABELS = {Severity.ERROR: "ERROR", Severity.WARNING: "WARN ", Severity.INFO: "INFO "}


@click.command(cls=Command, capability=Capability.DIRECT, usable=READS | CLUSTERS)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--query", "query_path", required=True, metavar="FILE", help="The .gq file to check.")
@click.option("--schema", "schema_path", metavar="FILE", help="The .pg file to check it against, instead of a graph.")
@json_option("the report")
def command(uri: str | None, query_path: str, schema_path: str | None, as_json: bool) -> int:
    """Check a query file against a schema file or a graph.

    Every query is parsed and type-checked; problems are shown with their line. Exits with 1 if there is an error; warnings
    alone are fine.

    \b
    omnigraph lint --schema schema.pg --query queries/search.gq
    omnigraph lint people.omni --query queries/search.gq
    """
    catalog, origin = _schema(uri, schema_path)
    report = lint(catalog, read_source(query_path, what="query file"), origin)
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)
    return 0 if report.ok else 1


def _schema(uri: str | None, path: str | None) -> tuple[Catalog, SchemaSource]:
    if path is None:
        where = address(uri)
        with connect_to(where) as graph:
            return graph.run(ShowSchema(graph.ref)).catalog, SchemaSource("graph", where)
    return offline_catalog(read_source(path, what="schema file")), SchemaSource("file", path)


def _print(report: LintReport) -> None:
    for diagnostic in report.diagnostics:
        tell_diagnostic(diagnostic)
    for result in report.results:
        label = "ERROR" if result.error else "OK   "
        say(f"{label} query `{result.name}` ({result.kind})" + (f": {result.error}" if result.error else ""))
        for warning in result.warnings:
            say(f"WARN  query `{result.name}`: {warning}")
    for finding in report.findings:
        say(f"{_LABELS[finding.severity]} {finding.code} {finding.message}")
    say(
        f"INFO  Lint complete: {_count(len(report.results), 'query', 'queries')} processed, "
        f"{_count(report.errors, 'error')}, {_count(report.warnings, 'warning')}, {_count(report.infos, 'info')}"
    )


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
