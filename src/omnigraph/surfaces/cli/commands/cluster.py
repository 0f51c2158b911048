"""`omnigraph cluster`: several graphs with their schemas, stored queries and policies, from one configuration."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.model.times import duration
from omnigraph.service import Service
from omnigraph.surfaces.cli import cluster_text
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.quick_start import import_engine
from omnigraph.surfaces.cli.scope import NOTHING, Capability, Group, caller, here

if TYPE_CHECKING:
    from omnigraph.cluster.applying.outputs import Output
    from omnigraph.cluster.applying.session import Control

SIGNED = frozenset({"as"})
INTERRUPTED = 130
"""How a command ends that was stopped by hand."""
Decorated = Callable[..., Any]


@click.group(cls=Group)
def command() -> None:
    """Plan and apply a cluster: several graphs, their schemas, stored queries and policies."""


def _config(function: Decorated) -> Decorated:
    about = "The folder that holds cluster.yaml."
    return click.option("--config", "folder", default=".", show_default=True, metavar="DIR", help=about)(function)


def _steal(function: Decorated) -> Decorated:
    about = "Take over a lock that is older than this: 30m, 2h. Without it a lock waits for force-unlock."
    return click.option("--steal-after", metavar="DUR", help=about)(function)


def _control(folder: str, steal_after: str | None = None) -> Control:
    """Who runs a command, on which configuration."""
    import_engine()
    from omnigraph.cluster.applying.session import Control
    from omnigraph.service.direct import DirectGraphs

    age: timedelta | None = None
    if steal_after is not None:
        age = duration(f"{steal_after}s" if steal_after.isdigit() else steal_after)
    return Control(Path(folder), here().service or Service(DirectGraphs()), caller(), age)


def _told(output: Output, lines: Callable[[], list[str]], as_json: bool) -> int:
    """Show what came of a command; 1 if it failed."""
    if as_json:
        print_json(output.to_json())
    else:
        for line in lines():
            say(line)
        for diagnostic in output.diagnostics:
            say(diagnostic.line(), err=True)
    return 0 if output.ok else 1


@command.command(capability=Capability.CONTROL, usable=NOTHING)
@_config
@json_option("the report")
def validate(folder: str, as_json: bool) -> int:
    """Check cluster.yaml and every file it names. Nothing else is looked at."""
    control = _control(folder)
    from omnigraph.cluster.applying.planning import validate as run

    found = run(control)
    return _told(found, lambda: cluster_text.validated(found), as_json)


@command.command(capability=Capability.CONTROL, usable=NOTHING)
@_config
@_steal
@json_option("the plan")
def plan(folder: str, steal_after: str | None, as_json: bool) -> int:
    """Show what apply would create, change and delete, and what needs an approval. Nothing is changed."""
    control = _control(folder, steal_after)
    from omnigraph.cluster.applying.planning import plan as run

    found = run(control)
    return _told(found, lambda: cluster_text.planned(found), as_json)


@command.command(capability=Capability.CONTROL, usable=SIGNED)
@_config
@click.option("--init", is_flag=True, help="Begin the ledger if there is none, with the graphs that exist.")
@_steal
@json_option("what was done")
def apply(folder: str, init: bool, steal_after: str | None, as_json: bool) -> int:
    """Make the cluster what cluster.yaml says.

    What needs an approval and has none waits, and so does what rests on it; the rest is applied. An apply that was killed is
    continued by the next one.

    \b
    omnigraph cluster apply --config prod --init --as ada
    """
    control = _control(folder, steal_after)
    from omnigraph.cluster.applying.apply import apply as run

    try:
        found = run(control, init=init)
    except KeyboardInterrupt:
        say("Stopped. What was begun is finished or given up by the next `omnigraph cluster apply`.", err=True)
        return INTERRUPTED
    return _told(found, lambda: cluster_text.applied(found), as_json)


@command.command(capability=Capability.CONTROL, usable=SIGNED)
@click.argument("resource")
@_config
@_steal
@json_option("the approval")
def approve(resource: str, folder: str, steal_after: str | None, as_json: bool) -> int:
    """Consent to a change that cannot be undone, as `graph.old`.

    The consent is for this configuration and this state of the graph: if one of them changes, it has to be given again.
    """
    control = _control(folder, steal_after)
    from omnigraph.cluster.applying.planning import approve as run

    found = run(control, resource)
    return _told(found, lambda: cluster_text.approved(found), as_json)


@command.command(capability=Capability.CONTROL, usable=NOTHING)
@_config
@json_option("the ledger")
def status(folder: str, as_json: bool) -> int:
    """Show what was applied and how it is doing, by the ledger alone."""
    control = _control(folder)
    from omnigraph.cluster.applying.observing import status as run

    found = run(control)
    return _told(found, lambda: cluster_text.observed(found), as_json)


@command.command(capability=Capability.CONTROL, usable=NOTHING)
@_config
@_steal
@json_option("the ledger")
def refresh(folder: str, steal_after: str | None, as_json: bool) -> int:
    """Correct the ledger by what there is: graphs, their schemas, copies of queries and policies."""
    control = _control(folder, steal_after)
    from omnigraph.cluster.applying.observing import refresh as run

    found = run(control)
    return _told(found, lambda: cluster_text.observed(found), as_json)


@command.command("import", capability=Capability.CONTROL, usable=NOTHING)
@_config
@_steal
@json_option("the ledger")
def import_(folder: str, steal_after: str | None, as_json: bool) -> int:
    """Begin a ledger with the graphs that exist. Nothing of them is changed."""
    control = _control(folder, steal_after)
    from omnigraph.cluster.applying.observing import import_ as run

    found = run(control)
    return _told(found, lambda: cluster_text.observed(found), as_json)


@command.command("force-unlock", capability=Capability.CONTROL, usable=NOTHING)
@click.argument("lock_id")
@_config
@json_option("what was removed")
def force_unlock(lock_id: str, folder: str, as_json: bool) -> int:
    """Remove the lock of a command that is dead. `cluster status` shows its id."""
    control = _control(folder)
    from omnigraph.cluster.applying.unlocking import force_unlock as run

    found = run(control, lock_id)
    return _told(found, lambda: cluster_text.unlocked(found), as_json)
