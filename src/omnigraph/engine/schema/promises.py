"""Existing data checked against new constraints: `@unique`, `@range`, `@check`, required properties, tighter cardinalities.

The rules are those of every write. They are checked for all entities of a type, with a type that has nothing but what
is new; and about the table as it is going to be, after columns were renamed and filled.

    @range(age, 0..150) is new      Person { age, @range(age, 0..150) }      every row whose age is outside
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.catalog.migration.steps import AddConstraint, AddProperty, MigrationPlan, RequireProperty, TightenCardinality
from omnigraph.catalog.shape import Check, Constraint, Index, Range, Unique
from omnigraph.engine.snapshot.view import View
from omnigraph.engine.write.changeset import ChangeSet, Delta
from omnigraph.engine.write.rules import cardinality, unique, values
from omnigraph.engine.write.violations import Violation
from omnigraph.model.frozen import frozen
from omnigraph.storage.tables.table import Table


@frozen
class Promises:
    """What is new about one type, as a type of its own."""

    type: EntityType
    """The desired type, with the properties and constraints that are new, and no others."""
    of_sets: tuple[str, ...]
    """Columns that rules about many rows at once look at."""


def promises_of(plan: MigrationPlan, type_: EntityType) -> Promises | None:
    """What a plan promises about a type of the desired schema that was not promised before; None: nothing."""
    kind = type_.kind
    constraints: list[Constraint] = []
    filled: list[str] = []
    tightened = False
    for step in plan.steps:
        match step:
            case AddConstraint(k, name, constraint) if (k, name) == (kind, type_.name) and not isinstance(constraint, Index):
                constraints.append(constraint)
            case RequireProperty(k, name, property_, _) if (k, name) == (kind, type_.name):
                filled.append(property_)
            case AddProperty(k, name, property_, _, backfill) if (k, name) == (kind, type_.name) and backfill is not None:
                filled.append(property_)
            case TightenCardinality(name) if (kind, name) == ("edge", type_.name):
                tightened = True
            case _:
                pass
    if not constraints and not filled and not tightened:
        return None
    properties = {name: type_.properties[name] for name in filled}
    of_sets = {column for constraint in constraints if isinstance(constraint, Unique) for column in constraint.columns}
    if type_.is_edge:
        bounds = (type_.minimum, type_.maximum) if tightened else (0, None)
        reduced: EntityType = replace(
            type_, properties=properties, constraints=tuple(constraints), minimum=bounds[0], maximum=bounds[1]
        )
        of_sets |= {"src"} if tightened else set()
    else:
        reduced = replace(type_, properties=properties, constraints=tuple(constraints))
    return Promises(reduced, tuple(sorted(of_sets)))


def broken(promises: Promises, table: Table, view: View) -> Iterator[Violation]:
    """Every entity that does not keep a promise. Rules about a row alone are checked row by row, so they need no memory."""
    of_rows = _columns_of_rows(promises.type)
    if of_rows:
        for batch in table.scan(["id", *of_rows]):
            yield from values.check(Delta(promises.type, pa.Table.from_batches([batch])))
    if promises.of_sets:
        delta = Delta(promises.type, table.read(["id", *promises.of_sets]), replaces_all=True)
        yield from unique.check(delta, view)
        if "src" in promises.of_sets and promises.type.is_edge:
            yield from cardinality.check(delta, ChangeSet([delta]), view)


def _columns_of_rows(type_: EntityType) -> list[str]:
    bounded = {c.property for c in type_.constraints if isinstance(c, Range | Check)}
    return sorted({*type_.properties, *bounded})
