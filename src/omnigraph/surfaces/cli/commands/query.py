"""`omnigraph query`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from omnigraph.service.operations.query import Query
from omnigraph.surfaces.cli.answers import chosen_format, format_options, write_answer
from omnigraph.surfaces.cli.arguments import (
    is_stored,
    limit_options,
    parameters,
    query_options,
    target,
    target_options,
    the_query,
)
from omnigraph.surfaces.cli.scope import READS, Capability, Command, Connection, connect, here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.service.results import Result


@click.command(cls=Command, capability=Capability.DATA, usable=READS)
@format_options
@limit_options
@target_options
@query_options
def command(
    name: str | None,
    query_path: str | None,
    query_text: str | None,
    params: str | None,
    params_file: str | None,
    branch: str | None,
    snapshot: str | None,
    timeout: float | None,
    memory_limit: int | None,
    format_: str | None,
    as_json: bool,
    out: str | None,
) -> None:
    """Run a query; with a name alone, one that is stored with a served graph.

    \b
    omnigraph query --store people.omni -e 'query q() { match { $p: Person } return { $p.name } }'
    omnigraph query friends --store people.omni --query people.gq --params '{"name": "Ada"}' --format csv
    omnigraph query friends --server prod --graph people --params '{"name": "Ada"}'

    A server has limits of its own; --timeout and --memory-limit can only be tighter.
    """
    stored = is_stored(name, query_path, query_text)
    if stored and (timeout is not None or memory_limit is not None):
        raise click.UsageError(
            "--timeout and --memory-limit are for queries that are given here. A stored query has the limits of its server."
        )
    source = None if stored else the_query(name, query_path, query_text)
    given = parameters(params, params_file)
    branch, snapshot = target(branch, snapshot)
    settled = here().settings
    form = chosen_format(format_, as_json, settled.output)
    if form == "parquet" and out is None:
        raise click.UsageError("--format parquet needs --out FILE")
    with connect(read_only=False) as graph:
        if source is None:
            result = _stored(graph, name or "", given, branch, snapshot)
        else:
            result = graph.run(Query(graph.ref, source, given, name, branch, snapshot, timeout, memory_limit))
        write_answer(result, form, out, width=settled.width, layout=settled.layout)


def _stored(graph: Connection, name: str, params: Mapping[str, Any] | None, branch: str | None, snapshot: str | None) -> Result:
    from omnigraph.service.operations.invoke_query import InvokeQuery

    invoked = InvokeQuery(graph.ref, name, None, params, branch, snapshot, expect_mutation=False)
    return cast("Result", graph.run(invoked))
