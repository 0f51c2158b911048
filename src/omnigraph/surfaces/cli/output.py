"""What every command shares in speaking: JSON on stdout, everything else on stderr, colour only where a person looks."""

from __future__ import annotations

import json
import os
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
        click.echo(f"Error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
    return exit_code(error)
