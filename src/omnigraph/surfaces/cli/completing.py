"""What a shell completes of a command besides its options: branches, tags, types, queries of a file, aliases, profiles.

A completer is found by what a parameter is called. Names of a graph are asked for as any command asks, and the graph is opened
only when such a name is completed; completing commands and options imports nothing of it. What goes wrong completes to nothing:
somebody is still typing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Completer = Callable[[click.Context], Iterable[str]]


def _uri(ctx: click.Context) -> str | None:
    """The address that is given so far: on a line that is not over, it may not have been told from other words yet."""
    given: str | None = ctx.params.get("uri")
    first = next((p for p in ctx.command.params if isinstance(p, click.Argument)), None)
    if given is not None or first is None or first.name != "uri":
        return given
    return next((word for word in ctx.args if not word.startswith("-")), None)


def branches(ctx: click.Context) -> Iterable[str]:
    """The branches of the graph."""
    from omnigraph.service.operations.list_branches import ListBranches
    from omnigraph.surfaces.cli.scope import connect

    with connect(_uri(ctx)) as graph:
        return graph.run(ListBranches(graph.ref))


def tags(ctx: click.Context) -> Iterable[str]:
    """The tags of the graph."""
    from omnigraph.service.operations.list_tags import ListTags
    from omnigraph.surfaces.cli.scope import connect

    with connect(_uri(ctx)) as graph:
        return [tag.name for tag in graph.run(ListTags(graph.ref))]


def states(ctx: click.Context) -> Iterable[str]:
    """What names a state: branches and tags."""
    return [*branches(ctx), *tags(ctx)]


def types(ctx: click.Context) -> Iterable[str]:
    """The types of the graph."""
    from omnigraph.language import Source, parse_schema
    from omnigraph.service.operations.show_schema import ShowSchema
    from omnigraph.surfaces.cli.scope import connect

    with connect(_uri(ctx)) as graph:
        accepted = graph.run(ShowSchema(graph.ref))
    return [declared.name.text for declared in parse_schema(Source(accepted.source)).declarations]


def queries(ctx: click.Context) -> Iterable[str]:
    """The queries of the file that is given."""
    from omnigraph.language import Source, read_queries

    path = ctx.params.get("query_path")
    return [] if path is None else [q.name.text for q in read_queries(Source(Path(path).read_text("utf-8")))[0].queries]


def aliases(ctx: click.Context) -> Iterable[str]:
    """The aliases of config.yaml."""
    from omnigraph.surfaces.cli.scope import here

    return here().settings.aliases


def profiles(ctx: click.Context) -> Iterable[str]:
    """The profiles of config.yaml."""
    from omnigraph.surfaces.cli.scope import here

    return here().settings.profiles


BY_NAME: Final[dict[str, Completer]] = {
    "after": states,
    "before": states,
    "branch": branches,
    "commit": states,
    "from_": states,
    "into": branches,
    "profile": profiles,
    "snapshot": states,
    "type_": types,
    "types": types,
}
"""By what a parameter is called wherever it stands…"""

BY_PLACE: Final[dict[tuple[str, str], Completer]] = {
    ("alias", "name"): aliases,
    ("branch delete", "name"): branches,
    ("branch merge", "source"): branches,
    ("explain", "name"): queries,
    ("mutate", "name"): queries,
    ("profile show", "name"): profiles,
    ("query", "name"): queries,
    ("tag delete", "name"): tags,
}
"""… and by the command and the parameter, where the name alone does not say it."""


def items(name: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What a parameter of a command may become."""
    from click.shell_completion import CompletionItem

    path = " ".join(ctx.command_path.split()[1:])
    completer = BY_PLACE.get((path, name)) or BY_NAME.get(name)
    if completer is None:
        return []
    try:
        with ctx.scope(cleanup=False):
            found = sorted(set(completer(ctx)))
    except Exception:  # nothing is said while somebody types: not that there is no graph, not that a file is missing
        return []
    return [CompletionItem(text) for text in found if text.startswith(incomplete)]
