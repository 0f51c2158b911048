"""What is known while a query is checked: the catalog, the parameters, the variables bound so far, the problems found so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.catalog import logical as lg
from omnigraph.catalog.catalog import Catalog, Property
from omnigraph.language.diagnostics import Family, Problems, did_you_mean, one_of
from omnigraph.language.gq import tree as t
from omnigraph.language.pg.tree import Name
from omnigraph.language.source import Span
from omnigraph.model.frozen import frozen
from omnigraph.model.types import PropertyType, Scalar

ID = Property("id", 0, PropertyType(Scalar.STRING))
"""What every entity has without declaring it, as a query reads it."""


PATH = {
    "length": Property("length", 0, PropertyType(Scalar.I64)),
    "nodes": Property("nodes", 0, PropertyType(Scalar.STRING, is_list=True)),
}
"""What a path has: how many edges it follows, and the ids of its nodes from one end to the other."""


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
    is_path: bool = False
    """A shortest path, which is no entity."""


class Scope:
    """Variables visible at one place. `inner()` opens a block whose own variables stay inside.

    A variable whose clause was refused is *spoilt*: it has no type, and using it is not reported again.
    """

    __slots__ = ("aliases", "bound", "catalog", "of_groups", "parameters", "problems", "spoilt")

    def __init__(self, catalog: Catalog, problems: Problems, parameters: dict[str, PropertyType]) -> None:
        self.catalog = catalog
        self.problems = problems
        self.parameters = parameters
        self.bound: dict[str, Bound] = {}
        self.spoilt: set[str] = set()
        self.aliases: dict[str, lg.Expression] = {}
        """What the aliases of the return block stand for, as far as it was read."""
        self.of_groups = False
        """Whether it is groups that are spoken of, and not rows."""

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

    def meant(self, value: lg.Expression | None) -> lg.Expression | None:
        """What an alias stands for; the alias itself if it stands for nothing."""
        followed: set[str] = set()
        while isinstance(value, lg.Column) and value.name in self.aliases and value.name not in followed:
            followed.add(value.name)
            value = self.aliases[value.name]
        return value

    def refuse(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.problems.add(Family.TYPE, code, message, span, help)

    def property_of(self, bound: Bound, name: str) -> Property | None:
        """A property that a variable has; `id` is one, too."""
        return bound.properties.get(name) or (ID if name == ID.name and not bound.is_path else None)

    def unknown_property(self, code: str, label: str, name: Name, properties: Mapping[str, Property]) -> None:
        """Report a property that does not exist, with the nearest one that does."""
        known = f"it has {one_of(properties)}" if properties else f"`{label}` declares no properties"
        help = did_you_mean(name.text, properties) or known
        self.refuse(code, f"`{label}` has no property `{name}`", name.span, help)
