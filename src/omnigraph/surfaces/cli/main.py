"""The entry point: a command table, loaded on demand, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from omnigraph.errors import GraphError, OutputFailed, UsageError, exit_code
from omnigraph.model.printable import printable
from omnigraph.model.versions import API_VERSION, __version__
from omnigraph.service import Service
from omnigraph.surfaces.cli.output import fail, say, wants_json
from omnigraph.surfaces.cli.scope import Globals, global_options

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "A graph": {
        "init": ("init", "Create a graph."),
        "load": ("load", "Load files into a branch as one commit."),
        "query": ("query", "Run a query."),
        "mutate": ("mutate", "Insert, update or delete as one commit."),
        "shell": ("shell", "Ask a graph at a prompt."),
        "export": ("export", "Write a graph as JSON lines."),
        "view": ("view", "Draw a schema, a query or a diff in the browser."),
        "blob": ("blob", "Read the bytes of Blob properties."),
    },
    "History and branches": {
        "branch": ("branch", "Create, list, delete and merge branches."),
        "review": ("review", "Ask for a branch to be merged, approve it, merge it."),
        "tag": ("tag", "Create, list and delete tags, which name commits."),
        "commit": ("commit", "Show commits and what they changed."),
        "changes": ("changes", "Follow what is committed to a branch."),
        "diff": ("diff", "Show what differs between two states."),
        "history": ("history", "Show what changed one entity."),
        "revert": ("revert", "Undo a commit with a new one."),
    },
    "Schemas and queries": {
        "schema": ("schema", "Show a schema, plan a change, or apply it."),
        "queries": ("queries", "List stored queries, and check them against a schema."),
        "lint": ("lint", "Check a query file against a schema."),
        "fmt": ("fmt", "Format .pg and .gq files."),
        "explain": ("explain", "Show the plan of a query."),
        "embed": ("embed", "Make vectors of texts, of a graph or a file."),
    },
    "Maintenance": {
        "stats": ("stats", "Show the number of entities and the indexes of each type."),
        "snapshot": ("snapshot", "Show where each type is stored."),
        "optimize": ("optimize", "Compact small fragments and complete indexes."),
        "cleanup": ("cleanup", "Remove old commits and free their space."),
        "verify": ("verify", "Check the stored graph for damage."),
        "repair": ("repair", "Explain that nothing needs repairing."),
    },
    "Servers": {
        "serve": ("serve", "Serve graphs over HTTP."),
        "mcp": ("mcp", "Serve a graph to an agent."),
        "audit": ("audit", "Show what was decided and written."),
        "graphs": ("graphs", "List the graphs of a server."),
        "login": ("login", "Keep the token of a server."),
        "logout": ("logout", "Forget the token of a server."),
        "policy": ("policy", "Check, test and explain policies."),
    },
    "Clusters": {
        "cluster": ("cluster", "Plan and apply several graphs from one configuration."),
    },
    "This command": {
        "alias": ("alias", "Run a query by its short name."),
        "profile": ("profile", "Show the profiles of config.yaml."),
        "config": ("config", "Show and change config.yaml."),
        "completion": ("completion", "Set up completion in a shell."),
        "version": ("version", "Print the version."),
    },
}
"""Command name to (module under `commands`, one line of help), by section. It stands here so that listing imports nothing."""

COMMANDS = {name: about for section in SECTIONS.values() for name, about in section.items()}

OLDER = {"check": "lint", "read": "query", "change": "mutate"}
"""Older names that still work, with a warning."""

HIDDEN = {"ingest": ("load", "ingest")}
"""Commands that are not listed: module, attribute."""

MEANT = {
    "add": "mutate",
    "apply": "schema apply",
    "branches": "branch list",
    "checkout": "query --branch",
    "commits": "commit list",
    "create": "init",
    "delete": "mutate",
    "draw": "view",
    "gc": "cleanup",
    "import": "load",
    "insert": "mutate",
    "log": "commit list",
    "merge": "branch merge",
    "new": "init",
    "open": "view",
    "plan": "schema plan",
    "poll": "changes poll",
    "select": "query",
    "show": "schema show",
    "status": "snapshot",
    "undo": "revert",
    "update": "mutate",
    "vacuum": "cleanup",
    "viz": "view",
}
"""What people type who know other tools, and what it is called here."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in OLDER:
            say(f"warning: `omnigraph {name}` is now `omnigraph {OLDER[name]}`", err=True)
            name = OLDER[name]
        module, attribute = HIDDEN.get(name) or (COMMANDS[name][0] if name in COMMANDS else None, "command")
        if module is None:
            return None
        command = getattr(importlib.import_module(f"omnigraph.surfaces.cli.commands.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:2] in (["query", "lint"], ["query", "check"]):
            say(f"warning: `omnigraph {' '.join(args[:2])}` is now `omnigraph lint`", err=True)
            args = ["lint", *args[2:]]
        if args and args[0] not in {*COMMANDS, *OLDER, *HIDDEN} and not args[0].startswith("-"):
            from omnigraph.language.diagnostics import did_you_mean

            meant = f"Did you mean `omnigraph {MEANT[args[0]]}`?" if args[0] in MEANT else ""
            near = meant or did_you_mean(args[0], COMMANDS).capitalize() or "See `omnigraph --help`."
            ctx.fail(f"No such command '{args[0]}'. {near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), help) for name, (_, help) in commands.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Errors exit with 1, misuse of the command line with 2, a lost --if-commit with 4. Every command takes --json.",
)
@click.version_option(API_VERSION, "-v", "--version", message=f"omnigraph %(version)s (package {__version__})")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """OmniGraph: a typed property graph with branches, for people and fleets of agents."""
    ctx.ensure_object(Globals)


cli.params += global_options(frozenset({"server", "graph", "store", "profile", "as", "yes", "quiet"}))


def run(arguments: Sequence[str] | None = None, *, service: Service | None = None) -> int:
    """Run the command line and give its exit code. `service` is the door it goes through, if not that of direct access."""
    given = None if arguments is None else list(arguments)
    as_json = wants_json(sys.argv[1:] if given is None else given)
    try:
        code = cli.main(args=given, prog_name="omnigraph", standalone_mode=False, obj=Globals(service=service))
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as misuse:
        return _report_misuse(misuse, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        say("Stopped; nothing was changed.", err=True)
        return 130
    except BrokenPipeError:  # whoever read the output has had enough
        return 141
    except GraphError as error:
        return _failed(error, as_json=as_json)
    except OSError as error:  # of a stream that was written to by others than us, a help text for one
        return _failed(OutputFailed.of(str(error.filename or "standard output"), error), as_json=as_json)


def _failed(error: GraphError, *, as_json: bool) -> int:
    """Tell an error, if there is anywhere left to tell it."""
    try:
        return fail(error, as_json=as_json)
    except (OutputFailed, BrokenPipeError):
        return exit_code(error)


def _report_misuse(misuse: click.ClickException, *, as_json: bool) -> int:
    """Misuse of the command line: with the usage for people, as an error like every other one for programs."""
    if as_json and isinstance(misuse, click.UsageError):
        hint = "See `omnigraph --help`." if misuse.ctx is None else f"See `{misuse.ctx.command_path} --help`."
        fail(UsageError(misuse.format_message(), hint=hint), as_json=True)
        return misuse.exit_code
    if sys.stderr.isatty():
        vars(misuse)["message"] = printable(misuse.message)
    misuse.show()
    return misuse.exit_code
