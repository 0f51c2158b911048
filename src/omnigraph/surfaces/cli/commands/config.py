"""`omnigraph config`: show, set, unset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from omnigraph.errors import NotFound, UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.outputs import write_output
from omnigraph.surfaces.cli.arguments import json_option
from omnigraph.surfaces.cli.output import print_json, say
from omnigraph.surfaces.cli.scope import Capability, Group, here
from omnigraph.surfaces.cli.settings import ENVIRONMENT, KEYS, Settings


@click.group(cls=Group)
def command() -> None:
    """Show and change config.yaml: defaults, profiles, aliases."""


@command.command(capability=Capability.LOCAL)
@json_option("the settings")
def show(as_json: bool) -> None:
    """Show the settings, the file they are in, and the environment variables in effect."""
    settings = here().settings
    set_here = [name for name in ENVIRONMENT if name in os.environ]
    environment = {name: "***" if name.endswith(("KEY", "KEY_ID", "TOKEN")) else os.environ[name] for name in set_here}
    if as_json:
        print_json({"path": str(settings.path), "settings": settings.content, "environment": environment})
        return
    say(f"{settings.path}{'' if settings.path.exists() else ' (does not exist)'}")
    for key, value in _flat(settings.content):
        say(f"{key}: {value}")
    for name, value in environment.items():
        say(f"${name}: {value}")


@command.command("set", capability=Capability.LOCAL)
@click.argument("key")
@click.argument("value")
@json_option("the key and its value")
def set_(key: str, value: str, as_json: bool) -> None:
    """Set a key such as `defaults.store` or `profiles.dev.store`.

    VALUE is read as YAML: `80` is a number, `[name]` a list. Comments in config.yaml are lost; a file that has some is kept
    beside it as config.yaml.bak.
    """
    import yaml

    _require_known(key)
    settings = here().settings
    parsed = yaml.safe_load(value)
    content = _with(settings.content, key.split("."), parsed)
    changed = Settings(settings.path, content)
    _ = (changed.output, changed.layout, changed.width)  # what is wrong is said now, not when it is needed
    _write(settings.path, content)
    if as_json:
        print_json({"key": key, "value": parsed, "path": str(settings.path)})
    else:
        say(f"{key}: {parsed}")


@command.command(capability=Capability.LOCAL)
@click.argument("key")
@json_option("the key")
def unset(key: str, as_json: bool) -> None:
    """Remove a key."""
    settings = here().settings
    if settings.get(key) is None:
        raise NotFound(f"`{key}` is not set in {settings.path}")
    _write(settings.path, _with(settings.content, key.split("."), None))
    if as_json:
        print_json({"key": key, "path": str(settings.path)})
    else:
        say(f"unset {key}")


def _require_known(key: str) -> None:
    parts = key.split(".")
    generic = ".".join([parts[0], "NAME", *parts[2:]]) if len(parts) == 3 else key
    if generic not in KEYS:
        raise UsageError(f"no setting `{key}`", hint=did_you_mean(generic, KEYS) or f"There are {', '.join(KEYS)}.")


def _with(content: Any, path: list[str], value: Any) -> dict[str, Any]:
    """A mapping with one value changed or, with None, removed; what is then empty goes too."""
    changed = dict(content or {})
    inner = _with(changed.get(path[0]), path[1:], value) if len(path) > 1 else value
    if inner is None or inner == {}:
        changed.pop(path[0], None)
    else:
        changed[path[0]] = inner
    return changed


def _write(path: Path, content: dict[str, Any]) -> None:
    import yaml

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and "#" in path.read_text():
        write_output(path.with_suffix(".yaml.bak"), path.read_bytes())
        say(f"note: comments are lost; the file as it was is {path.name}.bak", err=True)
    write_output(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())


def _flat(content: Any, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in (content or {}).items():
        found += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(f"{prefix}{key}", value)]
    return found
