"""`omnigraph profile`: list and show."""

from __future__ import annotations

import os
from typing import Any

import click

from omnigraph.errors import GraphError
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Group, here
from omnigraph.surfaces.cli.settings import FORMATS, Settings


@click.group(cls=Group)
def command() -> None:
    """Show the profiles of config.yaml."""


@command.command("list", capability=Capability.LOCAL)
@json_option("the profiles")
def list_(as_json: bool) -> None:
    """List the profiles and the graphs they name."""
    settings = here().settings
    items = [_item(settings, name) for name in settings.profiles]
    if as_json:
        print_json(items)
        return
    for item in items:
        active = " (active)" if item["active"] else ""
        reported = f"{item['scope_kind']}: {item['target']}" if item["valid"] else f"invalid: {item['error']}"
        say(f"{item['name']}{active}  {reported}")
    if not items:
        say(f"(no profiles in {settings.path})")


@command.command(capability=Capability.LOCAL)
@click.argument("name", required=False, metavar="[NAME]")
@json_option("the profile")
def show(name: str | None, as_json: bool) -> None:
    """Show a profile, or the settings that apply without one."""
    settings = here().settings
    chosen = name or os.environ.get("OMNIGRAPH_PROFILE") or None
    target = settings.store if chosen is None else settings.profile_store(chosen)
    data = {
        "name": chosen or "(defaults)",
        "scope_kind": "none" if target is None else "store",
        "target": target,
        "endpoint": target,
        "default_graph": None,
        "output_format": settings.output or FORMATS[0],
    }
    if as_json:
        print_json(data)
        return
    for key, value in data.items():
        if value is not None:
            say(f"{key}: {value}")


def _item(settings: Settings, name: str) -> dict[str, Any]:
    target = error = None
    try:
        target = settings.profile_store(name)
    except GraphError as wrong:
        error = wrong.message
    return {
        "name": name,
        "binding": None if target is None else f"store: {target}",
        "scope_kind": "store" if target is not None else "invalid",
        "target": target,
        "valid": error is None,
        "error": error,
        "default_graph": None,
        "active": name == os.environ.get("OMNIGRAPH_PROFILE"),
    }
