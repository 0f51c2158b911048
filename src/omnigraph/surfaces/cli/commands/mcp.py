"""`omnigraph mcp`: this process serves a graph to an agent, or tells the agent's client how to start it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import click

from omnigraph.errors import UsageError
from omnigraph.service.operations.list_branches import ListBranches
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.scope import (
    CLUSTERS,
    WRITES,
    Capability,
    Command,
    actor,
    address,
    cluster_named,
    connect_to,
    here,
    is_served,
)


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES | CLUSTERS, also=frozenset({"yes"}))
@click.argument("uri", required=False, metavar="[GRAPH]")
@click.option("--read-only", is_flag=True, help="Offer no tool that changes the graph.")
@click.option("--branch", metavar="B", help="Confine the agent to one branch; {client} stands for the name of its client.")
@click.option(
    "--install",
    type=click.Choice(["claude", "cursor", "vscode"]),
    help="Add this command to the configuration of a client, after showing what is written.",
)
@click.option("--user", is_flag=True, help="With --install: for all your projects, not only the one in this folder.")
@click.option("--print", "only_print", is_flag=True, help="With --install: only show what would be written.")
@json_option("what --install writes")
def command(
    uri: str | None,
    read_only: bool,
    branch: str | None,
    install: str | None,
    user: bool,
    only_print: bool,
    as_json: bool,
) -> None:
    """Serve a graph, or the applied graphs of a cluster, to an agent over MCP, on standard input and output.

    The client of the agent starts this command. With --branch the agent reads and changes one branch, which is created from
    main by its first change, and nothing else. Without a graph, OMNIGRAPH_BASE_URL and OMNIGRAPH_GRAPH_ID say which one of
    which server. A server is sent its own token, or OMNIGRAPH_TOKEN.

    \b
    omnigraph mcp people.omni
    omnigraph mcp people.omni --branch 'agent/{client}' --install claude
    omnigraph mcp --server https://graphs.example --graph people --read-only
    omnigraph mcp --cluster company/ --graph people
    """
    if install is None and (user or only_print or as_json):
        raise click.UsageError("--user, --print and --json belong to --install")
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("serving agents needs the MCP SDK", hint="pip install 'omnigraph[mcp]'")
    if branch is not None:
        _check_branch(branch)
    cluster = cluster_named(uri)
    if cluster is not None and install is None:
        from omnigraph.surfaces.cli.agents import serve_cluster

        serve_cluster(*cluster, read_only=read_only, branch=branch, actor=actor())
        return
    if cluster is not None:
        _install_cluster(str(install), *cluster, read_only, branch, user=user, only_print=only_print, as_json=as_json)
        return
    where, token = _target(uri)
    if install is not None:
        from omnigraph.surfaces.cli.agent_clients import install_in

        with connect_to(where, token=token) as graph:
            graph.run(ListBranches(graph.ref))  # so that nothing is installed that cannot be opened
        install_in(
            install, _arguments(_named(where), read_only, branch), where, user=user, only_print=only_print, as_json=as_json
        )
        return
    from omnigraph.surfaces.cli.agents import serve

    serve(where, token, read_only=read_only, branch=branch, actor=None if is_served(where) else actor(), known=here().settings)


def _check_branch(branch: str) -> None:
    rest = branch.replace("{client}", "client")
    if not rest.strip() or "{" in rest or "}" in rest:
        raise UsageError(f"--branch {branch!r} is not the name of a branch", hint="Only {client} may stand in braces.")


def _target(uri: str | None) -> tuple[str, str | None]:
    """The address of the graph, and the token for it if a server has it."""
    flags = here()
    named = uri is not None or any(flags.given(flag) for flag in ("store", "server", "profile"))
    base = os.environ.get("OMNIGRAPH_BASE_URL", "").strip()
    if named or not base:
        where = address(uri, lambda server: _token(server, base))
        return where, _token(where, base) if is_served(where) else None
    from omnigraph.surfaces.cli.servers import served

    graph = flags.graph or os.environ.get("OMNIGRAPH_GRAPH_ID", "").strip()
    if not graph:
        raise UsageError("OMNIGRAPH_BASE_URL names a server, but no graph", hint="Set OMNIGRAPH_GRAPH_ID, or give --graph.")
    where = served(base, graph, flags.settings)
    return where, os.environ.get("OMNIGRAPH_TOKEN", "").strip() or _token(where, base)


def _token(where: str, base: str) -> str | None:
    """The token for a served graph. OMNIGRAPH_TOKEN is for the server that the environment names, if it names one."""
    from omnigraph.surfaces.cli.servers import token_for

    base = base.rstrip("/")
    meant = not base or f"{where}/".startswith(f"{base}/")
    return token_for(where, here().settings, *(["OMNIGRAPH_TOKEN"] if meant else []))


def _install_cluster(client: str, where: str, graph: str | None, read_only: bool, branch: str | None, **how: bool) -> None:
    """Tell a client how to start this command for a cluster, which has to be one that can be served."""
    from omnigraph.surfaces.cli.agent_clients import install_in
    from omnigraph.surfaces.cli.cluster_graphs import ClusterGraphs

    ClusterGraphs(where, graph, read_only=True).close()
    named = ["--cluster", where if "://" in where else str(Path(where).absolute()), *(["--graph", graph] if graph else [])]
    install_in(client, _arguments(named, read_only, branch), f"{where}/{graph}" if graph else where, **how)


def _named(where: str) -> list[str]:
    """A graph, named in full, so that the folder a client starts this in does not matter."""
    from urllib.parse import unquote

    if is_served(where):
        base, _, graph = where.rpartition("/graphs/")
        return ["--server", base, "--graph", unquote(graph)]
    return [where if "://" in where else str(Path(where).absolute())]


def _arguments(named: list[str], read_only: bool, branch: str | None) -> list[str]:
    """This command as a client starts it. No token is named."""
    by = [] if here().actor is None else ["--as", str(here().actor)]
    return ["mcp", *named, *by, *(["--read-only"] if read_only else []), *(["--branch", branch] if branch is not None else [])]
