"""Arguments that several commands take: a query and its parameters, filters of changes, resolutions of conflicts."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from omnigraph.errors import UsageError
from omnigraph.language.source import Source
from omnigraph.model.idempotency_keys import key_of
from omnigraph.model.phrases import one_line
from omnigraph.surfaces.cli.files import read_source

Decorated = Callable[..., Any]

_NOTHING: Final = "--"
"""What stands for the text of a query that was forgotten: no text begins with it."""


def json_option(what: str) -> Callable[[Decorated], Decorated]:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


def key_option(function: Decorated) -> Decorated:
    """`--idempotency-key`."""
    about = "Do it once, however often it is sent: a write whose key a commit of the last day has is not made again."
    return click.option("--idempotency-key", metavar="KEY", callback=_key, help=about)(function)


def _key(context: click.Context, option: click.Parameter, given: str | None) -> str | None:
    return None if given is None else key_of("--idempotency-key", given)


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def text_option(about: str) -> Callable[[Decorated], Decorated]:
    """`-e GQ`. If nothing follows it, or another option, `the_query` says what is missing."""
    return click.option("-e", "--query-string", "query_text", metavar="GQ", is_flag=False, flag_value=_NOTHING, help=about)


def query_options(function: Decorated) -> Decorated:
    """`[NAME] --query FILE | -e TEXT`, and its parameters."""
    for decorate in (
        click.argument("name", required=False, metavar="[NAME]"),
        click.option("--query", "query_path", metavar="FILE", help="A .gq file; NAME picks one of its queries."),
        text_option("The text of a query."),
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
        _require_query(name, text)
        return Source(text, "<query>")
    if path is not None:
        return read_source(path, what="query file")
    if name is not None and _is_text(name):
        raise click.UsageError(f"`{one_line(name)}` is the text of a query: write -e before it.")
    if name is not None and _looks_like_a_place(name):
        raise click.UsageError(f"`{name}` looks like a graph or a file. Name the graph by --store, the file by --query.")
    asked = "a query" if name is None else f"the text of `{name}`"
    raise click.UsageError(f"{asked} is missing: give --query FILE or -e 'query …'. Stored queries need a server.")


def _require_query(name: str | None, text: str) -> None:
    """Refuse what is no text of a query: nothing, or the graph in its place."""
    if not text.strip():
        raise UsageError("--query-string must not be empty")
    if text != _NOTHING and not _looks_like_a_place(text):
        return
    said = "the text of the query is missing after -e" if text == _NOTHING else f"`{text}` is not the text of a query"
    place = next((given for given in (name, text) if given is not None and _looks_like_a_place(given)), None)
    if place is not None and place.endswith(".gq"):
        raise click.UsageError(f"{said}. A file of queries is named by --query: --query {place}")
    graph = "" if place is None else f"{click.get_current_context().command_path} --store {place} "
    raise click.UsageError(f"{said}. Write: {graph}-e 'query q() {{ … }}'")


def is_stored(name: str | None, path: str | None, text: str | None) -> bool:
    """Whether a query is meant that is stored with a served graph: it has a name, and no text is given."""
    if name is None or path is not None or text is not None or _is_text(name) or _looks_like_a_place(name):
        return False
    from omnigraph.surfaces.cli.scope import address, is_served

    return is_served(address())


def _is_text(name: str) -> bool:
    """Whether what stands where a name belongs is the text of a query."""
    return "{" in name


def _looks_like_a_place(name: str) -> bool:
    return not _is_text(name) and ("/" in name or "." in name or Path(name).exists())


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


class Size(click.ParamType[int]):
    """A number of bytes: `500MB`, `2GB`, or `1000000`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        written = _SIZE.fullmatch(str(value).strip())
        number = int(float(written[1]) * _UNITS[written[2].lower()]) if written is not None else 0
        if number < 1:
            self.fail(f"{value!r} is no size. Write bytes, or a number with kB, MB or GB: 500MB", param, ctx)
        return number


_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?((?:[kmg]?b)?)", re.IGNORECASE)
_UNITS: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}


def limit_options(function: Decorated) -> Decorated:
    """`--timeout S --memory-limit SIZE`: what a query may use."""
    about = "The query may use so much memory: 500MB, 2GB, or a number of bytes."
    function = click.option("--memory-limit", type=Size(), metavar="SIZE", help=about)(function)
    seconds = click.FloatRange(0, min_open=True)
    return click.option("--timeout", type=seconds, metavar="S", help="End the query after so many seconds.")(function)


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
