"""Arguments that several commands take: a query and its parameters, filters of changes, resolutions of conflicts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from omnigraph.errors import UsageError
from omnigraph.language.source import Source
from omnigraph.surfaces.cli.files import read_source

Decorated = Callable[..., Any]


def json_option(what: str) -> Callable[[Decorated], Decorated]:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def query_options(function: Decorated) -> Decorated:
    """`[NAME] --query FILE | -e TEXT`, and its parameters."""
    for decorate in (
        click.argument("name", required=False, metavar="[NAME]"),
        click.option("--query", "query_path", metavar="FILE", help="A .gq file; NAME picks one of its queries."),
        click.option("-e", "--query-string", "query_text", metavar="GQ", help="The text of a query."),
        click.option("--params", metavar="JSON", help="Parameters as a JSON object; `-` reads it from stdin."),
        click.option("--params-file", metavar="FILE", help="A file with that object; `-` is stdin."),
    ):
        function = decorate(function)
    return function


def the_query(name: str | None, path: str | None, text: str | None) -> Source:
    """The text of the query."""
    if path is not None and text is not None:
        raise click.UsageError("--query and --query-string exclude each other")
    if text is not None:
        if not text.strip():
            raise UsageError("--query-string must not be empty")
        return Source(text, "<query>")
    if path is not None:
        return read_source(path, what="query file")
    if name is not None and _looks_like_a_place(name):
        raise click.UsageError(f"`{name}` looks like a graph or a file. Name the graph by --store, the file by --query.")
    asked = "a query" if name is None else f"the text of `{name}`"
    raise click.UsageError(f"{asked} is missing: give --query FILE or -e 'query …'. Stored queries need a server.")


def is_stored(name: str | None, path: str | None, text: str | None) -> bool:
    """Whether a query is meant that is stored with a served graph: it has a name, and no text is given."""
    if name is None or path is not None or text is not None or _looks_like_a_place(name):
        return False
    from omnigraph.surfaces.cli.scope import address, is_served

    return is_served(address())


def _looks_like_a_place(name: str) -> bool:
    return "/" in name or "." in name or Path(name).exists()


def parameters(text: str | None, path: str | None) -> Mapping[str, Any] | None:
    """The parameters that were given."""
    if text is not None and path is not None:
        raise click.UsageError("--params and --params-file exclude each other")
    if text is None and path is None:
        return None
    if "-" in (text, path):
        given, origin = sys.stdin.read(), "stdin"
    elif text is not None:
        given, origin = text, "--params"
    else:
        assert path is not None
        given, origin = read_source(path, what="parameter file").text, path
    try:
        found = json.loads(given)
    except json.JSONDecodeError as error:
        raise UsageError(f"{origin} is not JSON: {error}", hint='Write an object: {"name": "Ada"}.') from None
    if found is not None and not isinstance(found, dict):
        raise UsageError(f"{origin} is {type(found).__name__}, not an object", hint='Write an object: {"name": "Ada"}.')
    return found


def target_options(function: Decorated) -> Decorated:
    """`--branch B | --snapshot COMMIT`."""
    about = "Read the past: a commit, a tag, or a time (of a branch: agent/7@2024-05-01T10:00:00Z)."
    function = click.option("--snapshot", "--at", "snapshot", metavar="COMMIT", help=about)(function)
    return click.option("--branch", metavar="B", help="The branch to read; main by default.")(function)


def target(branch: str | None, snapshot: str | None) -> tuple[str | None, str | None]:
    """What to read: a branch or a commit."""
    if branch is not None and snapshot is not None:
        raise click.UsageError("--branch and --snapshot exclude each other")
    return branch, snapshot


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def filter_options(function: Decorated) -> Decorated:
    """Which changes are wanted."""
    for decorate in (
        click.option("--op", "ops", multiple=True, type=click.Choice(["insert", "update", "delete"]), help="Only these."),
        click.option("--type", "types", multiple=True, metavar="T", help="Only changes of these types."),
        click.option("--kind", "kinds", multiple=True, type=click.Choice(["node", "edge"]), help="Only nodes, or only edges."),
    ):
        function = decorate(function)
    return function


# ── conflicts ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def resolve_options(function: Decorated) -> Decorated:
    """How conflicts are settled."""
    for decorate in (
        click.option("--interactive", is_flag=True, help="Show each conflict and ask. Needs a terminal."),
        click.option("--strict", is_flag=True, help="Changes to the same entity conflict, even in different properties."),
        click.option("--resolve-file", metavar="FILE", help="A JSON object of conflict keys to sides or values."),
        click.option(
            "--resolve",
            "resolve",
            multiple=True,
            metavar="CHOICE",
            help='`ours`, `theirs`, or `KEY=ours`, `KEY=theirs`, `KEY={"age": 40}` for one conflict; may be repeated.',
        ),
        click.option("--dry-run", is_flag=True, help="Show what would change and what conflicts. Nothing is changed."),
        click.option("--message", metavar="TEXT", help="A message for the commit."),
    ):
        function = decorate(function)
    return function


def resolution(choices: tuple[str, ...], path: str | None) -> Any:
    """What `--resolve` and `--resolve-file` say, as `merge` takes it."""
    by_key: dict[str, Any] = {}
    if path is not None:
        try:
            read = json.loads(read_source(path, what="resolution file").text)
        except json.JSONDecodeError as error:
            raise UsageError(f"{path} is not JSON: {error}") from None
        if not isinstance(read, dict):
            raise UsageError(f"{path} is not an object of conflict keys")
        by_key.update(read)
    for choice in choices:
        if choice in ("ours", "theirs"):
            if len(choices) > 1 or by_key:
                raise UsageError(
                    f"--resolve {choice} resolves every conflict and cannot be combined with others",
                    hint="Give KEY=CHOICE for each.",
                )
            return choice
        key, value = _settled(choice)
        by_key[key] = value
    return by_key or None


def _settled(choice: str) -> tuple[str, Any]:
    key, _, side = choice.rpartition("=")
    if key and side in ("ours", "theirs"):
        return key, side
    key, found, values = choice.partition("={")
    if found and key:
        try:
            return key, json.loads("{" + values)
        except json.JSONDecodeError as error:
            raise UsageError(f"--resolve {key}=…: the values are not JSON: {error}") from None
    raise UsageError(
        f"--resolve {choice}: how should the conflict be resolved?",
        hint='Write ours, theirs, KEY=ours, KEY=theirs or KEY={"property": value}. `--dry-run` shows the keys.',
    )
