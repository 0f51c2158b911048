"""`omnigraph audit`: what was decided and written."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.commands.graphs import addressed_server
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Command, here
from omnigraph.surfaces.cli.servers import base_of, token_for

OUTCOMES = ("allowed", "denied", "done", "unchanged", "failed")


@click.command(cls=Command, capability=Capability.CONTROL, usable=frozenset({"server", "profile", "graph"}))
@click.argument("folder", required=False, metavar="[DIR]")
@click.option("--since", metavar="TIME", help="A time (2026-11-17T20:00:00Z), or so long ago (2h, 7d).")
@click.option("--actor", "who", metavar="ACTOR", help="Only what this one did or tried.")
@click.option("--action", metavar="ACTION", help="Only this action: read, change, branch_merge, …")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only what ended so.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="The newest so many.")
@json_option("the records")
def command(
    folder: str | None,
    since: str | None,
    who: str | None,
    action: str | None,
    outcome: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show what was decided and written, from the folder a server keeps it in, or from a server; with --graph, about one graph.

    \b
    omnigraph audit /var/log/omnigraph --since 2h --outcome denied
    omnigraph audit --server prod --actor agent-7
    """
    asked = {"since": since, "actor": who, "action": action, "graph": here().graph, "outcome": outcome, "limit": limit}
    records = _of_server(asked) if folder is None else _of_files(folder, asked)
    if as_json:
        print_json({"records": records})
        return
    for record in records:
        say(_line(record))
    if not records:
        say("(no records)")


def _of_files(folder: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    from omnigraph.service.audit_log import Wanted, moment, read_records

    since = asked.pop("since")
    return read_records(folder, Wanted(None if since is None else moment(since), **asked))


def _of_server(asked: dict[str, Any]) -> list[dict[str, Any]]:
    from omnigraph.client.listing import read_audit

    base = base_of(addressed_server(), here().settings)
    return read_audit(base, token_for(base, here().settings), asked)


def _line(record: dict[str, Any]) -> str:
    """A record for people: when, who, what, where, and what came of it."""
    about = [
        str(record["at"]),
        str(record.get("actor") or "-"),
        str(record["outcome"]),
        str(record["operation"]),
        str(record["graph"]),
    ]
    more = {
        name: record[name] for name in ("action", "branch", "target_branch", "query", "rule", "commit", "error") if name in record
    }
    return "  ".join([*about, *(f"{name}={value}" for name, value in more.items())])
