"""What is known while a query is checked: the catalog, the parameters, the variables bound so far, the problems found so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.catalog.catalog import Catalog, Property
from omnigraph.language.diagnostics import Family, Problems, did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.language.source import Span
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType


@frozen
class Bound:
    """What a variable stands for."""

    is_edge: bool
    label: str
    """Name of the node type, interface or edge type."""
    types: tuple[str, ...]
    """Node types it may be; the edge type for an edge."""
    properties: Mapping[str, Property]
    nullable: bool = False
    """Bound inside an `optional` block: it may be missing."""


class Scope:
    """Variables visible at one place. `inner()` opens a block whose own variables stay inside.

    A variable whose clause was refused is *spoilt*: it has no type, and using it is not reported again.
    """

    __slots__ = ("bound", "catalog", "parameters", "problems", "spoilt")

    def __init__(self, catalog: Catalog, problems: Problems, parameters: dict[str, PropertyType]) -> None:
        self.catalog = catalog
        self.problems = problems
        self.parameters = parameters
        self.bound: dict[str, Bound] = {}
        self.spoilt: set[str] = set()

    def inner(self) -> Scope:
        scope = Scope(self.catalog, self.problems, self.parameters)
        scope.bound = dict(self.bound)
        scope.spoilt = set(self.spoilt)
        return scope

    def adopt(self, inner: Scope) -> tuple[str, ...]:
        """Take over the variables an `optional` block introduced, as nullable; gives their names."""
        fresh = tuple(name for name in inner.bound if name not in self.bound)
        for name in fresh:
            self.bound[name] = replace(inner.bound[name], nullable=True)
        self.spoilt |= inner.spoilt
        return fresh

    def spoil(self, *variables: t.Variable | None) -> None:
        """Note that the clause that would have bound these variables was refused."""
        self.spoilt.update(v.name for v in variables if v is not None and v.name != t.ANONYMOUS and v.name not in self.bound)

    def is_spoilt(self, name: str) -> bool:
        return name in self.spoilt and name not in self.bound

    def bind_node(self, name: str, node_type: str) -> None:
        """Bind a variable to a node type unless it is bound already or anonymous."""
        if name != t.ANONYMOUS and name not in self.bound:
            self.bound[name] = Bound(False, node_type, (node_type,), self.catalog.nodes[node_type].properties)

    def refuse(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.problems.add(Family.TYPE, code, message, span, help)

    def _instead_of_id(self, label: str) -> str:
        """What a query has for the id of an entity, which is no property."""
        node = self.catalog.nodes.get(label)
        if label in self.catalog.edges and node is None:
            return "queries do not show ids of edges; `diff` and `export` do"
        keys = "" if node is None or not node.key else f"; to match one, compare its key, {one_of(p.name for p in node.key)}"
        return f"a variable alone is the id of its node: `return {{ $p }}`{keys}"

    def unknown_property(self, code: str, label: str, name: Name, properties: Mapping[str, Property]) -> None:
        """Report a property that does not exist, with the nearest one that does."""
        known = f"it has {one_of(properties)}" if properties else f"`{label}` declares no properties"
        help = self._instead_of_id(label) if name.text == "id" else did_you_mean(name.text, properties) or known
        self.refuse(code, f"`{label}` has no property `{name}`", name.span, help)
