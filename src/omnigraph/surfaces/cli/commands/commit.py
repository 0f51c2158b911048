"""`omnigraph commit`: list, show, changes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from omnigraph.service.operations.commit_changes import CommitChanges
from omnigraph.service.operations.list_commits import ListCommits
from omnigraph.service.operations.show_commit import ShowCommit
from omnigraph.surfaces.cli.arguments import filter_options, json_option
from omnigraph.surfaces.cli.change_text import cause_lines, change_lines, moment, painted
from omnigraph.surfaces.cli.output import one_line, print_json, say
from omnigraph.surfaces.cli.scope import READS, Capability, Group, connect, uri_option


@click.group(cls=Group)
def command() -> None:
    """Show commits and what they changed."""


@command.command("list", capability=Capability.DATA, usable=READS)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch whose commits are listed.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@click.option("--maintenance", is_flag=True, help="Also commits that only changed how the graph is stored.")
@json_option("the commits")
def list_(uri: str | None, branch: str, limit: int | None, maintenance: bool, as_json: bool) -> None:
    """List the commits of a branch, newest first."""
    with connect(uri) as graph:
        commits = graph.run(ListCommits(graph.ref, branch, limit, maintenance))
    if as_json:
        print_json({"commits": [commit.to_dict() for commit in commits]})
        return
    for commit in commits:
        line = f"{painted(commit.id, 'cyan')} graph_branch={commit.branch} graph_manifest_version={commit.number}"
        line += f" actor={commit.actor}" if commit.actor is not None else ""
        line += f" {commit.operation} {moment(commit.created_at)}"
        line += " (maintenance)" if commit.is_maintenance else ""
        say(line + (f" {one_line(commit.message)}" if commit.message else ""))


@command.command(capability=Capability.DATA, usable=READS)
@click.argument("id", metavar="ID")
@click.option(
    "--maintenance", is_flag=True, help="If the id is that of a maintenance commit, show it rather than the commit it stores."
)
@uri_option
@json_option("the commit")
def show(id: str, maintenance: bool, uri: str | None, as_json: bool) -> None:
    """Show one commit."""
    with connect(uri) as graph:
        commit = graph.run(ShowCommit(graph.ref, id, maintenance))
    if as_json:
        print_json(commit.to_dict())
        return
    for name, value in {**commit.to_dict(), "graph_branch": commit.branch}.items():
        if value is not None:
            say(f"{name}: {moment(commit.created_at) if name == 'created_at' else one_line(str(value))}")


@command.command(capability=Capability.DATA, usable=READS)
@click.argument("id", metavar="ID")
@click.option(
    "--limit", type=click.IntRange(min=1), default=1_000, show_default=True, metavar="N", help="Number of changes per page."
)
@click.option("--page-token", metavar="T", help="Show only the page of this token.")
@filter_options
@uri_option
@json_option("cause and changes")
def changes(
    id: str,
    limit: int,
    page_token: str | None,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    ops: tuple[str, ...],
    uri: str | None,
    as_json: bool,
) -> None:
    """Show what a commit changed, compared with its first parent. Reads all pages, unless --page-token names one."""
    with connect(uri) as graph:
        block = graph.run(CommitChanges(graph.ref, id, page_token, limit, kinds, types, ops))
        if page_token is not None and as_json:
            print_json(block.to_dict())
            return
        pages = _Pages(as_json)
        pages.begin(block.cause.to_dict() if as_json else list(cause_lines(block.cause)))
        while True:
            pages.add([c.to_dict() for c in block.changes] if as_json else list(change_lines(block.changes)))
            token = block.next_page_token
            if token is None or page_token is not None:
                break
            block = graph.run(CommitChanges(graph.ref, id, token, limit, kinds, types, ops))
        pages.end()
        if page_token is not None and token is not None:
            say(f"next_page_token: {token}")


class _Pages:
    """Writes pages as they come: lines for people, or one JSON object whose list grows."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._count = 0

    def begin(self, cause: object) -> None:
        if self._json:
            reported = json.dumps(cause, indent=2, ensure_ascii=False).replace("\n", "\n  ")
            say(f'{{\n  "cause": {reported},\n  "changes": [', nl=False)
        else:
            assert isinstance(cause, list)
            say("\n".join(cause))

    def add(self, items: Sequence[object]) -> None:
        for item in items:
            if self._json:
                reported = json.dumps(item, indent=2, ensure_ascii=False).replace("\n", "\n    ")
                say(("," if self._count else "") + f"\n    {reported}", nl=False)
            else:
                say(item)
            self._count += 1

    def end(self) -> None:
        if self._json:
            say("\n  ]\n}" if self._count else "]\n}")
