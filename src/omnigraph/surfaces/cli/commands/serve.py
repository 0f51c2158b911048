"""`omnigraph serve`: this process becomes the server."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from omnigraph.errors import UsageError
from omnigraph.surfaces.cli.scope import Capability, Command, here

_NEEDED = ("starlette", "uvicorn", "uvloop", "httptools", "prometheus_client")


@click.command(
    cls=Command,
    capability=Capability.LOCAL,
    usable=frozenset({"cluster"}),
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Serve graphs over HTTP."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"the server needs {', '.join(missing)}", hint="pip install 'omnigraph[server]'")
    cluster = here().cluster
    if cluster is not None:
        arguments = ("--cluster", here().settings.cluster(cluster), *arguments)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "omnigraph.surfaces.http", *arguments])
