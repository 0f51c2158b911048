"""What whoever changes a schema says about the entities that exist: a plan is made without reading them.

The schema language has no defaults. So values for what is new, or may no longer be missing, are given beside the schema, property
by property in the words of the desired one; either one value for all, or an expression over the properties that each entity had:

    backfill   {"Person.email": "unknown", "Named.label": "?"}   a property of an interface: in every node that has it from there
    compute    {"Person.name": 'concat(first, " ", last)'}       `first` and `last` may go in the same change

That values of an enum have other names now stands in the schema itself (`@rename_value("done", to="finished")`), as renames of
properties do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.declare.names import TypeKind
from omnigraph.catalog.ir import PropertyIR, TypeIR
from omnigraph.catalog.matching import declared_types
from omnigraph.catalog.shape import Shape
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.frozen import frozen

RenamedValues = Mapping[tuple[TypeKind, str, str], tuple[tuple[str, str], ...]]
"""Old and new values of enums, by kind, type and property of the desired schema."""


@frozen
class Computed:
    """A value for each entity, by an expression over what it had."""

    expression: str

    def __str__(self) -> str:
        return self.expression


Fill = Json | Computed
"""What entities get that exist already: a value, one for each, or (None) nothing."""


@dataclass
class Instructions:
    """Values and expressions by `Type.property`, renamed values of enums, and which properties could use them."""

    backfill: Mapping[str, Json] = field(default_factory=dict)
    compute: Mapping[str, str] = field(default_factory=dict)
    renamed_values: RenamedValues = field(default_factory=dict)
    _offered: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name in sorted(self.backfill.keys() & self.compute.keys()):
            raise UsageError(f"`{name}` has a value (backfill) and an expression (compute)", hint="Give one of them.")

    def fill(self, owner: TypeIR, prop: PropertyIR) -> Fill:
        """What existing entities get as a property of a desired type, if anything was said."""
        names = [f"{owner.name}.{prop.name}", *(f"{ref.owner}.{ref.name}" for ref in prop.satisfies)]
        self._offered.update(names)
        for name in names:
            if name in self.backfill:
                return _frozen(self.backfill[name])
            if name in self.compute:
                return Computed(self.compute[name])
        return None

    def values_renamed(self, owner: TypeIR, prop: PropertyIR) -> dict[str, str]:
        """Values of an enum that have another name in the desired schema, old to new."""
        return dict(self.renamed_values.get((owner.kind, owner.name, prop.name), ()))

    def refuse_unused(self) -> None:
        """Raise for what no change of the schema has use for."""
        for what, given in (("backfill", self.backfill), ("compute", self.compute)):
            for name in sorted(given.keys() - self._offered):
                raise UsageError(
                    f"{what} `{name}`: the schema adds no such property, and makes none required",
                    hint=did_you_mean(name, self._offered) or "Name it as in the desired schema: Type.property.",
                )


def renamed_values(shape: Shape) -> RenamedValues:
    """What a declared schema says of values that had other names."""
    return {
        (kind, type_.name, prop.name): prop.renamed_values
        for kind, type_ in declared_types(shape)
        for prop in type_.properties
        if prop.renamed_values
    }


def _frozen(value: Json) -> Json:
    """Steps are values: they can be compared and put into sets, and so can what they hold."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
