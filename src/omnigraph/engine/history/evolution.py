"""What a commit did to the schema, for those who follow changes.

A feed goes on over a change of the schema. Types and properties are matched by their identity, which a rename keeps, and the
images of a commit have the names of its own schema. What a change of the schema does to every entity at once is said once, in
the block of its commit, instead of in a change per entity:

    a property added, which nobody has a value of yet     said once         filled by a backfill     an update of each entity
    a property dropped or renamed                         said once         a type renamed           said once
    a type added                                          said once         a type dropped           said, and a delete of each
    an enum or a type widened, other promises, notes      said once, with no types: no entity is another one
    values of an enum renamed, or computed                said once         who has another value    an update of each entity

So whoever keeps a copy applies what the block says of the schema, and then its changes, and has what the graph has. What cannot
be expressed that way, values of a property that is the same one and has another type, is a boundary (`SchemaBoundary`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from omnigraph.catalog.catalog import Catalog, Kind
from omnigraph.engine.history.changes import Filter, Op, opaque_type_id
from omnigraph.engine.history.deltas import Type, types_of
from omnigraph.engine.snapshot.view import View
from omnigraph.model.frozen import frozen
from omnigraph.model.phrases import counted, one_line


@frozen(slots=False)
class TypeChange:
    """What happened to one type."""

    kind: Kind
    id: str
    """Opaque; survives a rename."""
    op: Op
    name: str
    """After the commit, or before it if the type is gone."""
    renamed_from: str | None = None
    added: tuple[str, ...] = ()
    """Properties that are new. No entity has a value of them yet, unless a change says so."""
    dropped: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Properties that have another name, old to new."""

    def __repr__(self) -> str:
        was = "" if self.renamed_from is None else f", was {self.renamed_from}"
        named = (("added", self.added), ("dropped", self.dropped), ("renamed", [f"{a} to {b}" for a, b in self.renamed.items()]))
        parts = "; ".join(f"{what} {', '.join(names)}" for what, names in named if names)
        return one_line(f"{self.op.capitalize()} of {self.kind} type {self.name}{was}{': ' if parts else ''}{parts}")

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON-ready data."""
        data: dict[str, Any] = {"kind": self.kind, "type": {"id": self.id, "name": self.name}, "op": self.op}
        if self.renamed_from is not None:
            data["renamed_from"] = self.renamed_from
        if self.op == "update":
            data |= {"added": list(self.added), "dropped": list(self.dropped), "renamed": dict(self.renamed)}
        return data


@frozen(slots=False)
class SchemaChange:
    """What a commit did to the schema. Without types: nothing that an entity shows."""

    types: tuple[TypeChange, ...] = ()

    @classmethod
    def between(cls, old: Catalog, new: Catalog, chosen: Filter) -> SchemaChange:
        """What is different about the types that are wanted, in the order of changes."""
        before, after = types_of(old), types_of(new)
        found = []
        for key in before.keys() | after.keys():
            first, second = before.get(key), after.get(key)
            if any(t is not None and chosen.wants(t) for t in (first, second)):
                change = _type_change(new.ir.domain, first, second)
                if change is not None:
                    found.append(change)
        return cls(tuple(sorted(found, key=lambda c: (c.kind != "node", c.id))))

    @classmethod
    def of(cls, old: View, new: View, chosen: Filter | None = None) -> SchemaChange | None:
        """What is different about the schemas of two states; None if it is one schema."""
        if old.snapshot.schema == new.snapshot.schema:
            return None
        return cls.between(old.catalog, new.catalog, chosen or Filter.of((), (), ()))

    @property
    def lines(self) -> list[str]:
        """The change for people, a line per type."""
        said = [f"  {type_!r}" for type_ in self.types]
        return ["schema changed" + ("" if said else ", no type or property"), *said]

    def __repr__(self) -> str:
        if not self.types:
            return "Schema changed, no type or property"
        return one_line(
            f"Schema changed, {counted(len(self.types), 'type')}: {', '.join(f'{t.op} {t.name}' for t in self.types)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON-ready data."""
        return {"types": [type_.to_dict() for type_ in self.types]}


def incomparable(old: Type, new: Type) -> str | None:
    """A property that is the same one on both sides, with values that do not compare. None: there is none."""
    before = {prop.property_id: prop.type for prop in old.properties.values()}
    for prop in sorted(new.properties.values(), key=lambda p: p.property_id):
        was = before.get(prop.property_id)
        if was is not None and was.form != prop.type.form and not prop.type.widens(was) and not was.widens(prop.type):
            return prop.name
    return None


def _type_change(domain: str, old: Type | None, new: Type | None) -> TypeChange | None:
    type_ = new or old
    assert type_ is not None
    kind: Kind = type_.kind
    id_ = opaque_type_id(domain, type_)
    if old is None or new is None:
        return TypeChange(kind, id_, "delete" if new is None else "insert", type_.name)
    before = {prop.property_id: name for name, prop in old.properties.items()}
    after = {prop.property_id: name for name, prop in new.properties.items()}
    change = TypeChange(
        kind,
        id_,
        "update",
        new.name,
        old.name if old.name != new.name else None,
        tuple(sorted(after[number] for number in after.keys() - before.keys())),
        tuple(sorted(before[number] for number in before.keys() - after.keys())),
        {before[n]: after[n] for n in sorted(before.keys() & after.keys()) if before[n] != after[n]},
    )
    return change if change.renamed_from or change.added or change.dropped or change.renamed else None
