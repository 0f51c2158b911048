"""The entry point: a command table, loaded on demand, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from omnigraph.errors import GraphError
from omnigraph.model.versions import API_VERSION, __version__
from omnigraph.surfaces.cli.output import fail, wants_json

COMMANDS: dict[str, tuple[str, str]] = {
    "fmt": ("fmt", "Lay out .pg and .gq files the standard way."),
    "lint": ("lint", "Check a query file against a schema."),
    "schema": ("schema", "Show a schema, or plan a change of one."),
    "version": ("version", "Print the version."),
}
"""Command name to (module under `commands`, one line of help). The help stands here so that listing imports nothing."""

ALIASES = {"check": "lint"}
"""Older names that still work, with a warning."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in ALIASES:
            click.echo(f"warning: `omnigraph {name}` is now `omnigraph {ALIASES[name]}`", err=True)
            name = ALIASES[name]
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"omnigraph.surfaces.cli.commands.{COMMANDS[name][0]}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and args[0] not in ALIASES and not args[0].startswith("-"):
            from omnigraph.language.diagnostics import did_you_mean

            ctx.fail(f"No such command '{args[0]}'. {did_you_mean(args[0], COMMANDS).capitalize() or 'See `omnigraph --help`.'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Errors exit with 1, misuse of the command line with 2. Every command takes --json.",
)
@click.version_option(API_VERSION, "-v", "--version", message=f"omnigraph %(version)s (package {__version__})")
def cli() -> None:
    """OmniGraph: a typed property graph with branches, for people and fleets of agents."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    try:
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="omnigraph", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as misuse:
        misuse.show()
        return misuse.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped; nothing was changed.", err=True)
        return 130
    except GraphError as error:
        return fail(error, as_json=wants_json(sys.argv[1:] if arguments is None else arguments))


def main() -> None:
    """The `omnigraph` script."""
    sys.exit(run())
