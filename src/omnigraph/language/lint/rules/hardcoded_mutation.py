"""A mutation without parameters changes the same thing every time it runs. It carries no code: it is a note on the query
itself.
"""

from __future__ import annotations

from omnigraph.language.gq.tree import Query


def warning(query: Query) -> str | None:
    if query.is_read or query.parameters:
        return None
    return "mutation declares no params; hardcoded mutations are easy to miss"
