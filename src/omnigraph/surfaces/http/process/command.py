"""The two programs that start a server.

    omnigraph-server --cluster DIR   as the contract has it: tokens from the environment; without a policy they are for reading
    omnigraph serve GRAPH…           for oneself: a token is made and shown once, and whoever has it may do everything

Both serve graphs that are named, or what was applied to a cluster.

`omnigraph serve` becomes this program instead of calling it, so that a server holds nothing of the command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from omnigraph.errors import GraphError
from omnigraph.model.versions import API_VERSION
from omnigraph.surfaces.http.process.settings import (
    CLUSTER_SECONDS,
    DEFAULT_BIND,
    Access,
    ServerSettings,
    is_set,
    reload_seconds,
    required_contract,
)
from omnigraph.surfaces.wording import COMMAND_LINE

_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.argument("graphs", nargs=-1, metavar="GRAPH…"),
    click.option("--cluster", metavar="DIR|URI", help="Serve what was applied to a cluster, instead of graphs."),
    click.option("--require-all-graphs", is_flag=True, help="Serve nothing if a graph of the cluster cannot be served."),
    click.option(
        "--bind", default=DEFAULT_BIND, envvar="OMNIGRAPH_BIND", show_default=True, help="Where to listen; port 0: any."
    ),
    click.option(
        "--queries",
        multiple=True,
        metavar="[GRAPH=]PATH",
        help="A folder or file of stored queries; may be repeated.",
    ),
    click.option("--unauthenticated", is_flag=True, help="No tokens: whoever can connect may do everything."),
    click.option("--policy", "policies", multiple=True, metavar="[GRAPH=]FILE", help="Who may do what; may be repeated."),
    click.option("--server-policy", metavar="FILE", help="Who may do what to the server: list its graphs, reload, audit."),
    click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes that answer."),
    click.option(
        "--embed-every",
        type=click.FloatRange(0, 86_400, min_open=True),
        envvar="OMNIGRAPH_EMBED_EVERY",
        metavar="SECONDS",
        help="Look so often whether texts need vectors, and make them.",
    ),
    click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="Certificate chain, as PEM."),
    click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its private key."),
    click.option("--api-version", default=API_VERSION, envvar="OMNIGRAPH_API_VERSION", help="Version that /healthz reports."),
    click.option("--audit-log", metavar="DIR", envvar="OMNIGRAPH_AUDIT_LOG", help="Keep the audit in files of this folder."),
    click.option("--access-log", is_flag=True, help="Log a line per request."),
    click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the log."),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        envvar="OMNIGRAPH_LOG",
        default="info",
        show_default=True,
        help="What is logged.",
    ),
)


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_HELP = {"help_option_names": ["-h", "--help"]}


@click.command("omnigraph-server", context_settings=_HELP)
@_options
def server(**given: Any) -> int:
    """Serve graphs over HTTP: what was applied to a cluster, or GRAPHs, each a folder, an s3:// address, or ID= and one of them.

    Tokens come from OMNIGRAPH_SERVER_BEARER_TOKEN, …_TOKENS_FILE or …_TOKENS_JSON. Whoever has one may read; everything else
    needs a policy (--policy).
    """
    from omnigraph.surfaces.http.process.server import run

    return run(_settings(given, Access.READ))


@click.command("omnigraph serve", context_settings=_HELP)
@click.option("--read-only", is_flag=True, help="Open the graphs so that nothing can be written.")
@_options
def serve(read_only: bool, **given: Any) -> int:
    """Serve graphs over HTTP, for yourself or for agents you trust.

    Each GRAPH is a folder, an s3:// address, or ID= and one of them. A token is made and shown once, unless tokens are given by
    OMNIGRAPH_SERVER_BEARER_TOKEN, …_TOKENS_FILE or …_TOKENS_JSON. Whoever has one may do everything, or what a policy says
    (--policy, which needs tokens of yours).

    \b
    omnigraph serve people.omni
    omnigraph serve people=./people.omni s3://bucket/papers --workers 2
    omnigraph serve people.omni --policy policy.yaml
    omnigraph serve --cluster company/
    omnigraph serve people.omni --queries queries/
    """
    from omnigraph.surfaces.http.process.server import new_token, run
    from omnigraph.surfaces.http.tokens import ONE, Tokens

    settings = _settings({**given, "read_only": read_only}, Access.HOLDERS)
    named = bool(settings.policies or settings.server_policy)  # a policy speaks of actors, and they have tokens already
    made = settings.access is Access.HOLDERS and not named and not Tokens.from_environment(os.environ)
    if made:
        os.environ[ONE] = new_token()
    return run(settings, lambda: click.echo(f"token (shown once): {os.environ[ONE]}", err=True) if made else None)


def _settings(given: dict[str, Any], access: Access) -> ServerSettings:
    if (given["tls_cert"] is None) != (given["tls_key"] is None):
        raise click.UsageError("--tls-cert and --tls-key belong together")
    cluster = given["cluster"]
    if cluster is None and not given["graphs"]:
        cluster = os.environ.get("OMNIGRAPH_CLUSTER", "").strip() or None
    if cluster is None and not given["graphs"]:
        raise click.UsageError("Give the graphs to serve, or --cluster.")
    if cluster is not None and given["graphs"]:
        raise click.UsageError("Graphs and --cluster exclude each other: a cluster says which graphs it has.")
    if cluster is not None and (given["policies"] or given["server_policy"] or given["queries"]):
        raise click.UsageError("A cluster has its own policies and queries: leave --policy, --server-policy and --queries out.")
    require_all = given["require_all_graphs"] or is_set(os.environ.get("OMNIGRAPH_REQUIRE_ALL_GRAPHS"))
    if given["require_all_graphs"] and cluster is None:
        raise click.UsageError("--require-all-graphs is about the graphs of a --cluster.")
    is_open = given["unauthenticated"] or is_set(os.environ.get("OMNIGRAPH_UNAUTHENTICATED"))
    return ServerSettings(
        graphs=given["graphs"],
        cluster=cluster,
        require_all_graphs=require_all,
        queries=given["queries"],
        audit_log=given["audit_log"],
        bind=given["bind"],
        access=Access.OPEN if is_open else access,
        read_only=given.get("read_only", False),
        workers=given["workers"],
        policies=given["policies"],
        server_policy=given["server_policy"],
        certificate=given["tls_cert"],
        key=given["tls_key"],
        api_version=given["api_version"],
        http_api=required_contract(os.environ),
        access_log=given["access_log"],
        json_logs=given["log_format"] == "json",
        log_level=given["log_level"],
        origins=tuple(o.strip() for o in os.environ.get("OMNIGRAPH_CORS_ORIGINS", "").split(",") if o.strip()),
        embed_seconds=given["embed_every"],
        reload_seconds=reload_seconds(os.environ, None if cluster is None else CLUSTER_SECONDS),
    )


def main() -> None:
    """`omnigraph-server`."""
    _run(server, sys.argv[1:])


def start() -> None:
    """`omnigraph serve`."""
    _run(serve, sys.argv[1:])


def _run(command: click.Command, arguments: list[str]) -> None:
    try:
        sys.exit(command.main(arguments, prog_name=command.name, standalone_mode=False))
    except GraphError as error:
        click.echo(f"error: {error}", err=True)
        hint = error.advice.worded(COMMAND_LINE)
        if hint:
            click.echo(f"hint: {hint}", err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
