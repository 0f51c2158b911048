"""Hints in the words of the command line, for `omnigraph` and the server's own command.

    Option("skip_unknown", True)                    --skip-unknown
    Option("lossy", "round")                        --lossy round
    Option("types", {"x.csv": "Person"})            --type x.csv=Person
    Action("list_commits")                          `omnigraph commit list`

An option that is not in the table is no option of any command. A test holds every flag and command against those that there are.
"""

from __future__ import annotations

import json
from typing import Final

from omnigraph.hints import ANY, Action, Option

FLAGS: Final = {
    "allow_data_loss": "--allow-data-loss",
    "allow_empty": "--allow-empty",
    "again": "--reembed-all",
    "dialect": "--dialect",
    "dry_run": "--dry-run",
    "engine": "--engine",
    "from_": "--from",
    "lossy": "--lossy",
    "max_bad": "--max-bad",
    "memory_limit": "--memory-limit",
    "mode": "--mode",
    "params": "--params",
    "quarantine": "--quarantine",
    "resolve": "--resolve",
    "since": "--start",
    "skip_unknown": "--skip-unknown",
    "timeout": "--timeout",
    "types": "--type",
}
"""Options by their name in Python."""

PLAIN: Final = {"name": "NAME", "resolve": "--resolve or --interactive"}
"""Options whose value is for the reader to choose, where that reads better than flag and value."""

COMMANDS: Final = {
    "apply_schema": "omnigraph schema apply",
    "baseline": "omnigraph changes baseline",
    "create_review": "omnigraph review create",
    "embed": "omnigraph embed",
    "init": "omnigraph init",
    "list_commits": "omnigraph commit list",
    "list_reviews": "omnigraph review list",
    "load": "omnigraph load",
    "mutate": "omnigraph mutate",
    "plan_schema": "omnigraph schema plan",
    "query": "omnigraph query",
    "read_blob": "omnigraph blob stat",
    "show_schema": "omnigraph schema show",
    "verify": "omnigraph verify",
}
"""Commands by operation."""


class CommandLineWords:
    """Flags and commands."""

    def option(self, option: Option) -> str | None:
        """`--lossy round`."""
        value, name = option.value, option.name
        if value is ANY and name in PLAIN:
            return PLAIN[name]
        flag = FLAGS.get(name)
        if flag is None or value is True:
            return flag
        if name == "types" and isinstance(value, dict):
            return " ".join(f"{flag} {file}={type_}" for file, type_ in value.items())
        return f"{flag} '{json.dumps(value, ensure_ascii=False)}'" if isinstance(value, dict) else f"{flag} {value}"

    def action(self, action: Action) -> str | None:
        """`` `omnigraph verify` ``."""
        if action.operation == "help":
            return "`--help`"
        command = COMMANDS.get(action.operation)
        options = [self.option(option) for option in action.options]
        return None if command is None or None in options else f"`{' '.join([command, *(o for o in options if o)])}`"


COMMAND_LINE: Final = CommandLineWords()
