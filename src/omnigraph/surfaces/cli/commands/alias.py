"""`omnigraph alias`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

from omnigraph.errors import ScopeError, UsageError
from omnigraph.model.phrases import counted
from omnigraph.service.operations.invoke_query import InvokeQuery
from omnigraph.service.operations.query import Query
from omnigraph.surfaces.cli.answers import chosen_format, format_options, write_answer
from omnigraph.surfaces.cli.arguments import parameters
from omnigraph.surfaces.cli.files import read_source
from omnigraph.surfaces.cli.scope import PURPOSE, Capability, Command, address, connect_to, here
from omnigraph.surfaces.cli.servers import served

if TYPE_CHECKING:
    from omnigraph.service.results import Result

SCOPE_FLAGS = frozenset(PURPOSE)


@click.command(cls=Command, capability=Capability.LOCAL, usable=SCOPE_FLAGS)
@click.argument("name", metavar="NAME")
@click.argument("arguments", nargs=-1, metavar="[ARGS]...")
@click.option("--params", metavar="JSON", help="More parameters; they take precedence.")
@click.option("--params-file", metavar="FILE", help="A file with that object; `-` is stdin.")
@format_options
def command(
    name: str,
    arguments: tuple[str, ...],
    params: str | None,
    params_file: str | None,
    format_: str | None,
    as_json: bool,
    out: str | None,
) -> None:
    """Run a query by the short name it has in config.yaml.

    ARGS go to the parameters the alias names, each read as JSON or else as text.

    \b
    omnigraph alias who Ada
    """
    flags = here()
    given = [f"--{flag}" for flag in ("server", "graph", "store", "cluster", "profile", "as") if flags.given(flag)]
    if given:
        raise ScopeError(
            f"an alias names its own graph; {', '.join(given)} cannot be used with it",
            hint=f"Change aliases.{name} in {flags.settings.path}, or use `omnigraph query`.",
        )
    alias = flags.settings.alias(name)
    if len(arguments) > len(alias.args):
        names = f" ({', '.join(alias.args)})" if alias.args else ""
        raise UsageError(f"alias `{name}` takes {counted(len(alias.args), 'argument')}{names}, not {len(arguments)}")
    positional = dict(zip(alias.args, map(_value, arguments), strict=False))
    together = {**alias.params, **positional, **(parameters(params, params_file) or {})}
    form = chosen_format(format_, as_json, alias.format, flags.settings.output)
    source = None if alias.is_stored else read_source(alias.query, what="query file")
    where = None if alias.server is None else served(alias.server, alias.graph, flags.settings)
    with connect_to(where or address(alias.store), read_only=False) as graph:
        if source is None:
            invoked = InvokeQuery(graph.ref, alias.query, None, together, alias.branch, expect_mutation=False)
            result = cast("Result", graph.run(invoked))
        else:
            result = graph.run(Query(graph.ref, source, together, alias.name, alias.branch))
        write_answer(result, form, out, width=flags.settings.width, layout=flags.settings.layout)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
