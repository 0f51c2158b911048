"""A query looked at before it is run: whether it is right, and how it would be answered."""

from __future__ import annotations

from typing import Any

import msgspec

from omnigraph.catalog.linting import SchemaSource, lint
from omnigraph.language.source import Source
from omnigraph.service.operations.explain import Explain
from omnigraph.service.operations.show_schema import ShowSchema
from omnigraph.surfaces.mcp.answering.schema_help import schema_part
from omnigraph.surfaces.mcp.session import Call
from omnigraph.surfaces.mcp.tool import Input, Tool
from omnigraph.surfaces.mcp.tools.inputs import Branch, Params, Query, QueryName, Snapshot
from omnigraph.wire.own_outputs import ExplainOutput


class LintInput(Input, frozen=True):
    """The queries to check."""

    query: Query
    branch: Branch = None


class LintedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one query."""

    name: str
    kind: str
    status: str
    error: str | msgspec.UnsetType = msgspec.UNSET
    warnings: list[str] | msgspec.UnsetType = msgspec.UNSET


class Linted(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a text."""

    status: str
    """`ok` or `error`."""
    errors: int
    warnings: int
    infos: int
    results: list[LintedQuery]
    findings: list[dict[str, Any]]
    shown: str | msgspec.UnsetType = msgspec.UNSET
    """Every problem with its line and a caret below the place."""
    schema: str | msgspec.UnsetType = msgspec.UNSET
    """The part of the schema that the text needs, if it is wrong."""


def query_lint(call: Call, given: LintInput) -> Any:
    """Checks queries and mutations against the schema; nothing is run."""
    accepted = call.run(ShowSchema(call.graph, call.branch(given.branch)))
    report = lint(accepted.catalog, Source(given.query, "<query>"), SchemaSource("graph", call.graph.name))
    said = report.to_json()
    found: dict[str, Any] = {name: said[name] for name in ("status", "errors", "warnings", "infos", "results", "findings")}
    for result in found["results"]:
        result.pop("operation", None)
    if report.diagnostics:
        shown = "\n\n".join(d.render() for d in report.diagnostics)
        found |= {"shown": shown, "schema": schema_part(accepted.source, given.query, shown)}
    return found


class ExplainInput(Input, frozen=True):
    """The read to explain."""

    query: Query
    name: QueryName = None
    params: Params = None
    branch: Branch = None
    snapshot: Snapshot = None


def query_explain(call: Call, given: ExplainInput) -> Any:
    """The plan of a read, which is not run."""
    branch, snapshot = call.state(given.branch, given.snapshot)
    return call.run(Explain(call.graph, given.query, given.params, given.name, branch, snapshot)).to_dict()


TOOLS = (
    Tool(
        "query_lint",
        "Check a query",
        "Check queries or mutations against the schema without running them: errors with their place, and warnings.",
        LintInput,
        Linted,
        query_lint,
    ),
    Tool(
        "query_explain",
        "Explain a query",
        "Show how a read would be answered, step by step with estimates, without running it.",
        ExplainInput,
        ExplainOutput,
        query_explain,
    ),
)
