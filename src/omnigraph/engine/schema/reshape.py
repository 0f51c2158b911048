"""A table gets the columns of a new schema.

    drop property     the column goes; its bytes stay in files that hold other columns too, unless they are to be lost
    rename property   the column has another name
    add property      a column without values, or with one value for every row that exists (backfill)
    require property  with a backfill: rows without a value get one; the column is made anew beside the old one, which then goes

A hard drop writes the rows again without the column, so that nothing the newest commit refers to holds it. Older commits are as
they were until `cleanup` takes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.migration.steps import AddProperty, DropMode, DropProperty, MigrationPlan, RequireProperty
from omnigraph.engine.schema.indexes import declared_indexes
from omnigraph.errors import UsageError
from omnigraph.model.conversions import Misfit, convert
from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.filters import is_null
from omnigraph.storage.rewriting.columns import add_computed_columns, add_nullable_columns, drop_columns, rename_columns
from omnigraph.storage.rewriting.derived import then
from omnigraph.storage.rewriting.scrub import scrub
from omnigraph.storage.tables.changes import Applied, TableState, unchanged
from omnigraph.storage.tables.table import Tables

_BEING_FILLED = "being filled"
"""What a column is called while the one that takes its place is made. No property can be called that."""


@frozen
class Reshaping:
    """What a plan says about the columns of one type, beyond what its two states show."""

    backfill: Mapping[str, object] = field(default_factory=dict)
    """Values as they are stored, by the name of the property."""
    loses_data: bool = False


def reshaping_of(plan: MigrationPlan, type_: EntityType) -> Reshaping:
    """What a plan says about a type of the desired schema. Raises `UsageError` for a backfill that the property cannot hold."""
    kind = type_.kind
    values: dict[str, object] = {}
    hard = False
    for step in plan.steps:
        match step:
            case (
                AddProperty(type_kind=k, type_name=t, property_name=name, backfill=value)
                | RequireProperty(type_kind=k, type_name=t, property_name=name, backfill=value)
            ) if (k, t) == (kind, type_.name) and value is not None:
                values[name] = _stored(type_.name, type_.properties[name], value)
            case DropProperty(type_kind=k, type_name=t, mode=DropMode.HARD) if (k, t) == (kind, type_.name):
                hard = True
            case _:
                pass
    return Reshaping(values, hard)


def _stored(owner: str, prop: Property, value: Json) -> object:
    if prop.type.is_blob:
        raise UsageError(
            f"backfill `{owner}.{prop.name}`: a Blob cannot be filled in", hint="Add it as Blob? and load the bytes."
        )
    try:
        return convert(prop.type, value)
    except Misfit as misfit:
        raise UsageError(f"backfill `{owner}.{prop.name}` {misfit}") from None


def reshaped(tables: Tables, state: TableState, before: EntityType, after: EntityType, asked: Reshaping) -> Applied:
    """A table whose columns are those of the new type: some go, some have other names, some come, some are filled."""
    old = {prop.property_id: prop.name for prop in before.properties.values()}
    new = {prop.property_id: prop.name for prop in after.properties.values()}
    applied = unchanged(state)
    gone = [name for number, name in old.items() if number not in new]
    if gone:
        applied = then(applied, drop_columns(tables, applied.state, gone))
    renamed = {name: new[number] for number, name in old.items() if number in new and new[number] != name}
    if renamed:
        applied = then(applied, rename_columns(tables, applied.state, renamed))
    fields = columns_of(after)
    came = [name for number, name in new.items() if number not in old]
    empty = [fields.field(name) for name in came if name not in asked.backfill]
    if empty:
        applied = then(applied, add_nullable_columns(tables, applied.state, empty))
    for name, value in asked.backfill.items():
        fill = _added if name in came else _completed
        applied = then(applied, fill(tables, applied.state, fields.field(name).with_nullable(True), value))
    if asked.loses_data and gone:
        applied = then(applied, scrub(tables, applied.state, declared_indexes(after, state.rows)))
    return applied


def _added(tables: Tables, state: TableState, column: pa.Field, value: object) -> Applied:
    """A new column with one value in every row."""
    one = pa.array([value], column.type)
    return add_computed_columns(
        tables, state, [column], lambda batch: pa.record_batch([_repeated(one, batch.num_rows)], [column.name]), ["id"]
    )


def _completed(tables: Tables, state: TableState, column: pa.Field, value: object) -> Applied:
    """A column with one value wherever it had none."""
    if not tables.open(state).count(is_null(column.name)):
        return unchanged(state)
    one = pa.array([value], column.type)

    def filled(batch: pa.RecordBatch) -> pa.RecordBatch:
        there = batch.column(_BEING_FILLED)
        given = pc.if_else(there.is_valid(), there, _repeated(one, batch.num_rows))
        return pa.record_batch([given], [column.name])

    aside = rename_columns(tables, state, {column.name: _BEING_FILLED})
    made = then(aside, add_computed_columns(tables, aside.state, [column], filled, [_BEING_FILLED]))
    return then(made, drop_columns(tables, made.state, [_BEING_FILLED]))


def _repeated(one: pa.Array, times: int) -> pa.Array:
    return one.take(pa.array([0] * times, pa.int64()))
