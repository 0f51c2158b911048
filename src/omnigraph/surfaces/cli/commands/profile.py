"""`omnigraph profile`: list and show."""

from __future__ import annotations

import os
from typing import Any

import click

from omnigraph.errors import GraphError
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Group, here
from omnigraph.surfaces.cli.servers import base_of
from omnigraph.surfaces.cli.settings import FORMATS, Binding, Settings


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
        graph = "" if item["default_graph"] is None else f" · graph: {item['default_graph']}"
        reported = f"{item['scope_kind']}: {item['target']}{graph}" if item["valid"] else f"invalid: {item['error']}"
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
    bound = _defaults(settings) if chosen is None else settings.profile(chosen)
    endpoint = None if bound is None else bound.target if bound.kind == "store" else base_of(bound.target, settings)
    data = {
        "name": chosen or "(defaults)",
        "scope_kind": "none" if bound is None else bound.kind,
        "target": None if bound is None else bound.target,
        "endpoint": endpoint,
        "default_graph": None if bound is None else bound.graph,
        "output_format": settings.output or FORMATS[0],
    }
    if as_json:
        print_json(data)
        return
    for key, value in data.items():
        if value is not None:
            say(f"{key}: {value}")


def _defaults(settings: Settings) -> Binding | None:
    if settings.server is not None:
        return Binding("server", settings.server, settings.default_graph)
    return None if settings.store is None else Binding("store", settings.store)


def _item(settings: Settings, name: str) -> dict[str, Any]:
    bound = error = None
    try:
        bound = settings.profile(name)
    except GraphError as wrong:
        error = wrong.message
    return {
        "name": name,
        "binding": None if bound is None else f"{bound.kind}: {bound.target}",
        "scope_kind": "invalid" if bound is None else bound.kind,
        "target": None if bound is None else bound.target,
        "valid": error is None,
        "error": error,
        "default_graph": None if bound is None else bound.graph,
        "active": name == os.environ.get("OMNIGRAPH_PROFILE"),
    }
