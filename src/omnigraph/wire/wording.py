"""Hints in the words of HTTP: members of a request, and routes below the graph that is asked.

    Option("mode", "merge")         `mode=merge`
    Option("from_")                 `from`
    Action("show_schema")           `GET …/schema`

An option that is not in the table is no member of any request, and an operation that is not has no route.
"""

from __future__ import annotations

from typing import Final

from omnigraph.hints import ANY, Action, Option

MEMBERS: Final = {
    "allow_data_loss": "allow_data_loss",
    "from_": "from",
    "mode": "mode",
    "name": "name",
    "params": "params",
    "since": "start",
}
"""Members of requests, by the names of options in Python."""

ROUTES: Final = {
    "apply_schema": "POST …/schema/apply",
    "baseline": "POST …/changes/baseline",
    "create_review": "POST …/reviews",
    "help": "GET /openapi.json",
    "list_commits": "GET …/commits",
    "list_reviews": "GET …/reviews",
    "load": "POST …/load",
    "mutate": "POST …/mutate",
    "query": "POST …/query",
    "show_schema": "GET …/schema",
}
"""Routes by operation."""


class HttpWords:
    """Members and routes."""

    def option(self, option: Option) -> str | None:
        """`` `mode=merge` ``."""
        member, value = MEMBERS.get(option.name), option.value
        if member is None or value is ANY or isinstance(value, dict):
            return None if member is None else f"`{member}`"
        return f"`{member}={str(value).lower() if isinstance(value, bool) else value}`"

    def action(self, action: Action) -> str | None:
        """`` `GET …/schema` ``."""
        route = ROUTES.get(action.operation)
        options = [self.option(option) for option in action.options]
        return None if route is None or None in options else " with ".join([f"`{route}`", *(o for o in options if o)])


HTTP: Final = HttpWords()
