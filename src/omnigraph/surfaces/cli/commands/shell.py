"""`omnigraph shell`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.surfaces.cli.output import fail, say
from omnigraph.surfaces.cli.scope import WRITES, Capability, Command, connect, here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from omnigraph.surfaces.cli.shell.session import Session


@click.command(cls=Command, capability=Capability.DATA, usable=WRITES)
@click.argument("uri", required=False, metavar="[URI]")
@click.option("--branch", default="main", show_default=True, metavar="B", help="The branch to read and to change.")
@click.option("--read-only", is_flag=True, help="Refuse changes.")
@click.option("-e", "--execute", "text", metavar="TEXT", help="Run these statements instead of asking for them.")
@click.option("--json", "as_json", is_flag=True, help="Print answers as JSON.")
def command(uri: str | None, branch: str, read_only: bool, text: str | None, as_json: bool) -> None:
    """Ask a graph at a prompt, or run statements from standard input.

    At a prompt there are several lines to a statement, history and completion with Tab; `.help` lists commands. From a pipe the
    first statement that fails ends the shell.

    \b
    omnigraph shell people.omni
    echo 'match { $p: Person } return { $p.name };' | omnigraph shell people.omni --read-only
    """
    from omnigraph.surfaces.cli.shell.session import Quit, Session

    settled = here().settings
    form = "json" if as_json else settled.output if settled.output in ("csv", "kv", "jsonl", "json") else "table"
    with connect(uri, read_only=read_only) as graph:
        session = Session(graph, branch, read_only, form, settled.width, settled.layout)
        session.schema()  # a graph or a branch that is not there is said at once
        try:
            if text is None and sys.stdin.isatty() and sys.stdout.isatty():
                _at_a_prompt(session, as_json=as_json)
            else:
                for statement in _statements(sys.stdin if text is None else text.splitlines(keepends=True)):
                    session.run(statement)
        except Quit:
            return


def _at_a_prompt(session: Session, *, as_json: bool) -> None:
    from omnigraph.errors import GraphError
    from omnigraph.surfaces.cli import settings
    from omnigraph.surfaces.cli.shell.prompt import prompt_session

    prompt = prompt_session(session, settings.folder() / "shell_history")
    say(f"{session.graph.ref.uri}{', read-only' if session.read_only else ''}. `.help` lists commands, Ctrl-D leaves.")
    while True:
        try:
            session.run(prompt.prompt(f"{session.branch}> "))
        except KeyboardInterrupt:  # what was typed, or what was running, is given up
            continue
        except EOFError:
            return
        except GraphError as error:
            fail(error, as_json=as_json)


def _statements(lines: Iterable[str]) -> Iterator[str]:
    """Statements of some lines, one after the other."""
    from omnigraph.surfaces.cli.shell.statements import is_complete

    text = ""
    for line in lines:
        text += line
        if text.strip() and is_complete(text):
            yield text
            text = ""
    if text.strip():
        yield text
