"""Which graph a command works on, and which of the flags that may stand anywhere on the line it can use.

Every command has a *capability*, and of the flags for addressing it can use some. One it cannot use is an error before anything
is done, never ignored:

    omnigraph version --store x     →  version is a local command: --store names the graph to work on, …

A graph is named by (first that is there): the positional address or `--uri`, `--store`, `--server` or `--cluster` (and
`--graph`), `--profile` or $OMNIGRAPH_PROFILE, `defaults.server` or `defaults.store` in `config.yaml`. The first four exclude each
other. A graph of a cluster is found by the ledger alone, so that a cluster that cannot be served can be repaired; it is worked on
where it is, by commands of upkeep and by those that only read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from omnigraph.errors import ScopeError, UsageError
from omnigraph.model.frozen import frozen
from omnigraph.service import Caller, GraphRef, Origin, Service
from omnigraph.surfaces.cli import settings
from omnigraph.surfaces.cli.quick_start import import_engine

if TYPE_CHECKING:
    from types import TracebackType

    from click.shell_completion import CompletionItem

    from omnigraph.service.operation import Operation
    from omnigraph.surfaces.cli.servers import RemoteDoor

R = TypeVar("R")


class Capability(Enum):
    """What kind of work a command does."""

    DATA = "data"
    SERVED = "served"
    DIRECT = "direct (storage-native)"
    CONTROL = "cluster control"
    LOCAL = "local"


PURPOSE: Final = {
    "server": "addresses a served graph",
    "cluster": "is for work on a cluster",
    "graph": "picks one graph inside a server or cluster",
    "store": "names the graph to work on",
    "as": "names the actor recorded in the commit",
    "profile": "names a graph by a profile of config.yaml",
}
"""Flag to what it is for, in the order they are checked."""

READS: Final = frozenset({"store", "profile"})
WRITES: Final = READS | {"as"}
SERVERS: Final = frozenset({"server", "graph"})
"""What every command about data can use."""
CLUSTERS: Final = frozenset({"cluster", "graph"})
"""What commands of upkeep can use besides."""
ADDRESSES: Final = ("store", "server", "cluster", "profile")
"""Flags that name a graph, or where it is."""
NOTHING: Final[frozenset[str]] = frozenset()

_IN_TWO_WORDS: Final = ("schema", "blob", "changes", "profile", "config", "queries")
"""Groups whose commands are spoken of together with their group."""

_ADVICE = {
    Capability.DATA: "Give --store with a path or an s3:// address, --server, or --profile.",
    Capability.SERVED: "Give --server, or a --profile of a server.",
    Capability.DIRECT: "Give the path or s3:// address of the graph.",
    Capability.CONTROL: "Give --cluster, or files; `omnigraph cluster` takes --config.",
    Capability.LOCAL: "It has nothing to address; leave the flag out.",
}


@dataclass
class Globals:
    """The flags that may stand anywhere on the line."""

    server: str | None = None
    cluster: str | None = None
    graph: str | None = None
    store: str | None = None
    actor: str | None = None
    profile: str | None = None
    yes: bool = False
    quiet: bool = False
    service: Service | None = None
    """The door, where another one than that of direct access is meant."""

    def given(self, flag: str) -> bool:
        """Whether a flag of addressing was given."""
        return getattr(self, "actor" if flag == "as" else flag) is not None

    @cached_property
    def settings(self) -> settings.Settings:
        """What is settled in `config.yaml`; read when somebody asks."""
        return settings.read()


def here() -> Globals:
    """The flags of the command that is running."""
    return click.get_current_context().ensure_object(Globals)


def _remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    assert parameter.name is not None
    if value is not None and value is not False:
        setattr(ctx.ensure_object(Globals), parameter.name, value)


_HELP = {
    "server": ("NAME|URL", "A served graph."),
    "cluster": ("DIR|URI", "A cluster."),
    "graph": ("ID", "One graph of a server or cluster."),
    "store": ("URI", "The graph: a path or an s3:// address."),
    "as": ("ACTOR", "The actor recorded in the commit."),
    "profile": ("NAME", "A graph by its profile in config.yaml."),
}


def global_options(shown: frozenset[str]) -> list[click.Parameter]:
    """The flags that may stand anywhere, those in `shown` with a line of help."""
    options: list[click.Parameter] = [
        click.Option(
            [f"--{flag}", "actor" if flag == "as" else flag],
            metavar=metavar,
            help=text,
            hidden=flag not in shown,
            expose_value=False,
            callback=_remember,
        )
        for flag, (metavar, text) in _HELP.items()
    ]
    for flag, text in (
        ("yes", "Skip the confirmation of what cannot be undone."),
        ("quiet", "No line about which graph is written to."),
    ):
        options.append(
            click.Option([f"--{flag}"], is_flag=True, help=text, hidden=flag not in shown, expose_value=False, callback=_remember)
        )
    return options


def refuse_repeated(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Refuse an option that takes one value and is given several: which one is meant, nobody can tell."""
    _, _, order = command.make_parser(ctx).parse_args(args=list(args))
    seen: set[click.Parameter] = set()
    for parameter in order:
        if isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag or parameter.count):
            if parameter in seen:
                ctx.fail(f"{parameter.opts[0]} is given more than once.")
            seen.add(parameter)


def refuse_misplaced_graph(command: Command, ctx: click.Context, args: list[str]) -> None:
    """Refuse a graph as the first argument of a command whose arguments are something else, unless the line names one already."""
    if command.capability is not Capability.DATA or any(p.name == "uri" for p in command.params if isinstance(p, click.Argument)):
        return
    values, left, _ = command.make_parser(ctx).parse_args(args=list(args))
    flags = ctx.ensure_object(Globals)
    if any(flags.given(flag) for flag in ADDRESSES) or any(isinstance(values.get(flag), str) for flag in (*ADDRESSES, "uri")):
        return
    if not isinstance(values.get("query_text", ""), str):
        return  # nothing follows -e: `the_query` says both
    arguments = [values.get(p.name or "") for p in command.params if isinstance(p, click.Argument)]
    words = [word for value in (*arguments, *left) for word in (value if isinstance(value, tuple) else (value,))]
    first = next((word for word in words if isinstance(word, str)), "")
    if first and _looks_like_a_graph(first):
        path = ctx.command_path
        ctx.fail(f"`{first}` looks like a graph, which `{path}` takes after --store. Write: {path} --store {first} …")


def _looks_like_a_graph(text: str) -> bool:
    return text.startswith("s3://") or text.rstrip("/").endswith(".omni") or os.path.isdir(os.path.join(text, "__manifest"))


def _completed(name: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What a shell may complete a parameter to. Nothing of this is needed before somebody asks."""
    from omnigraph.surfaces.cli.completing import items

    return items(name, ctx, incomplete)


class Command(click.Command):
    """A command with a capability. `usable` are the flags of addressing it can use; `also` those of confirmation and echo."""

    def __init__(
        self,
        *args: Any,
        capability: Capability,
        usable: frozenset[str] = NOTHING,
        also: frozenset[str] = NOTHING,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.capability = capability
        if capability is Capability.DATA:
            usable |= SERVERS if "as" in usable else SERVERS | CLUSTERS  # what only reads may look past the server
        self.usable = usable
        self.params += global_options(self.usable | also)
        for parameter in self.params:
            if not isinstance(parameter.type, click.Choice):
                setattr(parameter, "shell_complete", partial(_completed, parameter.name or ""))  # noqa: B010 – no other way in
        self.context_settings.setdefault("help_option_names", ["-h", "--help"])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        refuse_repeated(self, ctx, args)
        refuse_misplaced_graph(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        given = ctx.ensure_object(Globals)
        for flag, purpose in PURPOSE.items():
            if given.given(flag) and flag not in self.usable:
                of_upkeep = self.capability is Capability.DIRECT and "cluster" in self.usable
                or_cluster = " Or --cluster and --graph." if of_upkeep else ""
                raise ScopeError(
                    f"`{_label(ctx)}` is a {self.capability.value} command: --{flag} {purpose}, which does not apply to it",
                    hint=f"{_ADVICE[self.capability]}{or_cluster}",
                )
        return super().invoke(ctx)


class Group(click.Group):
    """A command of commands."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += global_options(NOTHING)
        self.context_settings.setdefault("help_option_names", ["-h", "--help"])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            from omnigraph.language.diagnostics import did_you_mean

            near = did_you_mean(args[0], self.list_commands(ctx))
            known = f"There are {', '.join(self.list_commands(ctx))}."
            ctx.fail(f"No such command '{args[0]}'. {near.capitalize() or known}")
        return super().resolve_command(ctx, args)


# ── which graph ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


TokenFor = Callable[[str], str | None]
"""The token for the address of a server."""


def address(uri: str | None = None, token: TokenFor | None = None) -> str:
    """The path or address of the graph a command is to work on: of a folder, a bucket, or a server, which is asked with `token`
    if that is not the one that is known for it."""
    flags = here()
    named = {"": uri, "--store ": flags.store, "--server ": flags.server, "--cluster ": flags.cluster}
    given = [f"{flag}{value}" for flag, value in named.items() if value is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} both name a graph", hint="Give one of them.")
    explicit = uri if uri is not None else flags.store
    if explicit is not None:
        if flags.graph is not None:
            raise ScopeError(
                f"{explicit} is already a single graph; --graph picks one of a server or cluster", hint="Leave --graph out."
            )
        return checked(explicit)
    if flags.server is not None:
        return _served(flags.server, flags.graph, token)
    if flags.cluster is not None:
        return _in_cluster(flags.cluster, flags.graph)
    profile = flags.profile or os.environ.get("OMNIGRAPH_PROFILE")
    if profile:
        bound = flags.settings.profile(profile)
        if bound.kind == "server":
            return _served(bound.target, flags.graph or bound.graph, token)
        if bound.kind == "cluster":
            return _in_cluster(bound.target, flags.graph or bound.graph)
        return _store(bound.target)
    if flags.settings.server is not None:
        return _served(flags.settings.server, flags.graph or flags.settings.default_graph, token)
    if flags.settings.store is not None:
        return _store(flags.settings.store)
    legacy = " An omnigraph.yaml here is of an older layout and is not read." if os.path.exists("omnigraph.yaml") else ""
    raise ScopeError(
        "no graph addressed",
        hint=f"{_ways_to_name_it()}, or set defaults.store (`omnigraph config set defaults.store PATH`).{legacy}",
    )


def _ways_to_name_it() -> str:
    """How the command that runs takes a graph."""
    taken = {param.name: param for param in click.get_current_context().command.params}
    if isinstance(taken.get("uri"), click.Argument):
        return "Give its path or s3:// address, or --store, --server or --profile"
    return f"Give its path or s3:// address with --store{' or --uri' if 'uri' in taken else ''}, or --server or --profile"


def _already_one(graph: str) -> ScopeError:
    said = f"{graph} is already a single graph; --graph picks one of a server or cluster"
    return ScopeError(said, hint="Leave --graph out.")


def _store(target: str) -> str:
    if here().graph is not None:
        raise ScopeError(
            f"{target} is already a single graph; --graph picks one of a server or cluster", hint="Leave --graph out."
        )
    return checked(target)


def _label(context: click.Context | None = None) -> str:
    """What the command that runs is called."""
    words = (context or click.get_current_context()).command_path.split()[1:]
    return " ".join(words if words[0] in _IN_TWO_WORDS else words[:1])


def _served(server: str, graph: str | None, token: TokenFor | None = None) -> str:
    command = click.get_current_context().command
    if isinstance(command, Command) and command.capability is Capability.DIRECT:
        hint = "Give --store, or --cluster and --graph." if "cluster" in command.usable else "Give --store."
        raise ScopeError(f"`{_label()}` works on a graph itself, not through a server", hint=hint)
    from omnigraph.surfaces.cli.servers import served

    return served(server, graph, here().settings, token)


def _in_cluster(cluster: str, graph: str | None) -> str:
    """A graph of a cluster; the only one, if none is named."""
    command = click.get_current_context().command
    if isinstance(command, Command) and "cluster" not in command.usable:
        instead = "Go through a server (--server)" if command.capability is Capability.DATA else "Give the path of the graph"
        raise ScopeError(f"`{_label()}` does not work on a cluster", hint=f"{instead}, or give --store.")
    from omnigraph.cluster.serving.revision import find_graph

    return find_graph(here().settings.cluster(cluster), graph)[1]


def cluster_named(uri: str | None = None) -> tuple[str, str | None] | None:
    """The cluster that is named by `--cluster` or a profile, and the graph of it if one is; None if something else is named."""
    flags = here()
    if uri is not None or flags.store is not None or flags.server is not None:
        if flags.cluster is not None:
            address(uri)  # which says that they exclude each other
        return None
    if flags.cluster is not None:
        return flags.settings.cluster(flags.cluster), flags.graph
    profile = flags.profile or os.environ.get("OMNIGRAPH_PROFILE")
    bound = flags.settings.profile(profile) if profile else None
    if bound is None or bound.kind != "cluster":
        return None
    return flags.settings.cluster(bound.target), flags.graph or bound.graph


def is_served(where: str) -> bool:
    """Whether an address is one of a server."""
    return where.startswith(("http://", "https://"))


def checked(uri: str) -> str:
    """An address, unless it is one of a server."""
    if is_served(uri):
        raise ScopeError(f"{uri} is the address of a server", hint="Give --server and --graph.")
    return uri


def actor() -> str | None:
    """The actor recorded in the commit: `--as`, or `operator.actor`."""
    flags = here()
    return flags.actor if flags.actor is not None else flags.settings.actor


def caller() -> Caller:
    """Who asks."""
    return Caller(actor(), Origin.CLI)


@frozen(slots=False)
class Connection:
    """What a command has of a graph: its name, and the door that everything it wants done goes through."""

    ref: GraphRef
    service: Service | RemoteDoor
    caller: Caller

    def run(self, operation: Operation[R]) -> R:
        """Have something done."""
        return self.service.run(self.caller, operation)

    def close(self) -> None:
        """Let go of the graph, and wait for what it is still doing."""
        self.service.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def connect(uri: str | None = None, *, read_only: bool = True) -> Connection:
    """A connection to the graph a command works on."""
    return connect_to(address(uri), read_only=read_only)


def connect_to(where: str, *, read_only: bool = True, frames: bool = False, token: str | None = None) -> Connection:
    """A connection to the graph at an address. Nothing heavy is imported before this. `frames`: data frames may be met. `token`:
    for a server, instead of the one that is known for it."""
    import_engine(frames=frames)
    if is_served(where):
        from omnigraph.surfaces.cli.servers import RemoteDoor

        if here().actor is not None:
            raise ScopeError("--as names the actor of a direct write, and a server takes it from the token", hint="Leave it out.")
        return Connection(GraphRef(where, read_only), RemoteDoor(here().settings, token), Caller(None, Origin.CLI))
    service = here().service
    if service is None:
        from omnigraph.service.direct import DirectGraphs

        service = Service(DirectGraphs())
    return Connection(GraphRef(where, read_only), service, caller())


def uri_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--uri`, for commands whose positional arguments are something else."""
    return click.option("--uri", metavar="URI", help="The graph: a path or an s3:// address.")(function)
