"""The part of a graph an algorithm works on: node types, and edge types between them.

edges="Knows"                   those edges, and the node types at their ends
nodes=["Person", "Company"]     those nodes, and every edge type both of whose ends are among them
neither                         everything
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Literal

from omnigraph.catalog.catalog import Catalog
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen

Names = str | Iterable[str] | None
Sources = Mapping[str, str | Iterable[str]] | str | Iterable[str]
DirectionName = Literal["out", "in", "both"]


class Direction(Enum):
    """Which way edges are walked."""

    OUT = "out"
    IN = "in"
    BOTH = "both"

    @classmethod
    def of(cls, name: str) -> Direction:
        """A direction by its name."""
        try:
            return cls(name)
        except ValueError:
            raise UsageError(f"no direction `{name}`", hint="It is one of out, in, both.") from None


@frozen
class Scope:
    """Names of node and edge types, each sorted."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]


def scope_of(catalog: Catalog, nodes: Names, edges: Names) -> Scope:
    """What was requested, checked."""
    chosen_nodes, chosen_edges = _names(nodes), _names(edges)
    for given, known, what in ((chosen_nodes, catalog.nodes, "node"), (chosen_edges, catalog.edges, "edge")):
        for name in sorted((given or set()) - set(known)):
            hint = did_you_mean(name, known) or f"There are {', '.join(sorted(known)) or 'none'}."
            raise UsageError(f"there is no {what} type `{name}`", hint=hint)
    if chosen_edges is None:
        within = set(catalog.nodes) if chosen_nodes is None else chosen_nodes
        chosen_edges = {e.name for e in catalog.edges.values() if {e.source, e.target} <= within}
        return Scope(tuple(sorted(within)), tuple(sorted(chosen_edges)))
    ends = {end for name in chosen_edges for end in (catalog.edges[name].source, catalog.edges[name].target)}
    if chosen_nodes is not None and not ends <= chosen_nodes:
        missing = ", ".join(sorted(ends - chosen_nodes))
        raise UsageError(
            f"edges of the given types end at {missing}", hint="Name these node types too, or name no node types at all."
        )
    return Scope(tuple(sorted(chosen_nodes or ends)), tuple(sorted(chosen_edges)))


def _names(given: Names) -> set[str] | None:
    return None if given is None else {given} if isinstance(given, str) else set(given)


def sources_of(scope: Scope, sources: Sources) -> dict[str, list[str]]:
    """Ids to start from, by node type."""
    if not scope.nodes:
        raise UsageError("no node type is named", hint="Name at least one, or leave them all out.")
    if not isinstance(sources, Mapping):
        if len(scope.nodes) != 1:
            raise UsageError(
                "the type of the ids to start from is not given",
                hint=f'Give {{"{scope.nodes[0]}": […]}} instead of a list.',
            )
        sources = {scope.nodes[0]: sources}
    found = {name: [ids] if isinstance(ids, str) else list(ids) for name, ids in sources.items()}
    for name in found:
        if name not in scope.nodes:
            raise UsageError(f"`{name}` is not among the chosen node types", hint=f"These are {', '.join(scope.nodes)}.")
    if not any(found.values()):
        raise UsageError("there is nothing to start from", hint="Give at least one id.")
    return found
