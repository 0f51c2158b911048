"""Values for entities that exist already and have none: what makes a property required that is new, or that could be missing.

The schema language has no defaults, and a plan is made without reading data. So whoever plans says it, property by property,
in the words of the desired schema:

    {"Person.email": "unknown", "Named.label": "?"}        a property of an interface: in every node that has it from there
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.ir import PropertyIR, TypeIR
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean


@dataclass
class Backfill:
    """Values by `Type.property`, and which of them were used."""

    values: Mapping[str, Json] = field(default_factory=dict)
    _offered: set[str] = field(default_factory=set)

    def value(self, owner: TypeIR, prop: PropertyIR) -> Json:
        """What existing entities get as a property of a desired type, if anything was said."""
        names = [f"{owner.name}.{prop.name}", *(f"{ref.owner}.{ref.name}" for ref in prop.satisfies)]
        self._offered.update(names)
        return next((_frozen(self.values[name]) for name in names if name in self.values), None)

    def refuse_unused(self) -> None:
        """Raise for values that no change of the schema has use for."""
        for name in sorted(self.values.keys() - self._offered):
            raise UsageError(
                f"backfill `{name}`: the schema adds no such property, and makes none required",
                hint=did_you_mean(name, self._offered) or "Name it as in the desired schema: Type.property.",
            )


def _frozen(value: Json) -> Json:
    """Steps are values: they can be compared and put into sets, and so can what they hold."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
