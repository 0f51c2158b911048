"""What every command shares in speaking: JSON on stdout, everything else on stderr, colour only where a person looks."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from omnigraph.errors import GraphError, LanguageError, exit_code


def print_json(data: object) -> None:
    """Two-space JSON and a newline on stdout."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, also when it failed before it was understood."""
    return "--json" in arguments


def use_colour(stream: TextIO) -> bool:
    """Colour for people at a terminal, unless they said no (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


HINTS = {
    "merge_conflict": "Nothing was changed. See them with --dry-run; settle them with --resolve or --interactive.",
    "precondition_failed": "Nothing was changed. Read the branch again, decide anew, and give the commit you read.",
    "cursor_rejected": "Start again: --start now, beginning or after:COMMIT, or from a new `omnigraph changes baseline`.",
    "change_feed_gap": "Take a new `omnigraph changes baseline` and go on from its cursor; a tag keeps history readable.",
    "parentless_commit": "Read the graph at that commit with --snapshot, or export it.",
    "usage": "See `--help`.",
}
"""What to do next, in the words of the command line, for errors whose own advice is about the Python API."""


def advice(error: GraphError) -> str:
    """What to do next."""
    if error.hint == type(error).default_hint:
        return HINTS.get(error.code, error.hint)
    return _SPELLINGS.sub(lambda found: _AS_FLAGS[found[0]], error.hint)


_AS_FLAGS = {
    "Pass name=…": "Give NAME",
    "dry_run": "--dry-run",
    "from_": "--from",
    "g.commits()": "`omnigraph commit list`",
    'types={"': '--type {"',
    "Use mutate": "Use `omnigraph mutate`",
    "Use query": "Use `omnigraph query`",
    "Create one with init": "Create one with `omnigraph init`",
}
_SPELLINGS = re.compile("|".join(map(re.escape, _AS_FLAGS)))


def _counted(error: LanguageError) -> str:
    """How many problems there are, and in which file: the problems themselves have just been shown."""
    number = len(error.diagnostics)
    return f"{number} problem{'' if number == 1 else 's'} in {error.diagnostics[0].to_dict()['file']}"


def fail(error: GraphError, *, as_json: bool) -> int:
    """Tell an error and give the exit code that goes with it."""
    if as_json:
        print_json(error.to_dict())
    elif isinstance(error, LanguageError):
        colour = use_colour(sys.stderr)
        for diagnostic in error.diagnostics:
            click.echo(diagnostic.render(colour=colour) + "\n", err=True)
        click.echo(f"Error: {_counted(error)}", err=True)
    else:
        click.echo(f"Error: {_SPELLINGS.sub(lambda found: _AS_FLAGS[found[0]], error.message)}", err=True)
        if advice(error):
            click.echo(f"  {advice(error)}", err=True)
    return exit_code(error)
