"""Hints in the words of tools: inputs and names of tools.

Option("mode", "merge")         `mode: "merge"`
Action("show_schema")           `schema_get`
"""

from __future__ import annotations

import json
from typing import Final

from omnigraph.hints import ANY, Action, Option

INPUTS: Final = {"from_": "from", "mode": "mode", "name": "name", "params": "params", "since": "start"}
"""Inputs of tools, by the names of options in Python."""

NAMES: Final = {
    "help": "tools/list",
    "list_commits": "commits_list",
    "list_reviews": "reviews_list",
    "load": "load",
    "mutate": "mutate",
    "query": "query",
    "show_schema": "schema_get",
}
"""Tools by operation."""


class ToolWords:
    """Inputs and tools."""

    def option(self, option: Option) -> str | None:
        """`` `mode: "merge"` ``."""
        member, value = INPUTS.get(option.name), option.value
        if member is None or value is ANY or isinstance(value, dict):
            return None if member is None else f"`{member}`"
        return f"`{member}: {json.dumps(value)}`"

    def action(self, action: Action) -> str | None:
        """`` `schema_get` ``."""
        tool = NAMES.get(action.operation)
        options = [self.option(option) for option in action.options]
        return None if tool is None or None in options else " with ".join([f"`{tool}`", *(o for o in options if o)])


TOOLS: Final = ToolWords()
