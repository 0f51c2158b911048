"""A table gets the columns of a new schema.

    drop property        the column goes; its bytes stay in files that hold other columns too, unless they are to be lost
    rename property      the column has another name
    add property         a column without values, with one value for every row that exists (backfill), or one for each (compute)
    require property     with a backfill or an expression: rows without a value get one
    widen, rename values the values are written in another form
    relax property       the column may be null: no data is touched

A column whose values change is made anew beside the old one, which then goes. Expressions are over the columns of before the
change, so they come first: what they give stands aside until it is used.

A hard drop writes the rows again without the column, so that nothing the newest commit refers to holds it. Older commits are as
they were until `cleanup` takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, is_dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.catalog import logical as lg
from omnigraph.catalog.canonical_json import Json
from omnigraph.catalog.catalog import EntityType, Property
from omnigraph.catalog.columns import columns_of
from omnigraph.catalog.migration.computing import computed_value
from omnigraph.catalog.migration.instructions import Computed
from omnigraph.catalog.migration.steps import (
    AddProperty,
    DropMode,
    DropProperty,
    MigrationPlan,
    RenameEnumValues,
    RequireProperty,
)
from omnigraph.engine.execution.evaluate import vector
from omnigraph.engine.execution.run import Run
from omnigraph.engine.schema.indexes import declared_indexes
from omnigraph.engine.write.searching import TableRows
from omnigraph.errors import UsageError
from omnigraph.model.arrow import arrow_type
from omnigraph.model.conversions import Misfit, convert
from omnigraph.model.frozen import frozen
from omnigraph.storage.lance_format.filters import is_null
from omnigraph.storage.rewriting.columns import (
    add_computed_columns,
    add_nullable_columns,
    allow_nulls,
    drop_columns,
    rename_columns,
)
from omnigraph.storage.rewriting.derived import then
from omnigraph.storage.rewriting.scrub import scrub
from omnigraph.storage.tables.changes import Applied, TableState, unchanged
from omnigraph.storage.tables.table import Tables

_MADE_ANEW = "made anew"
"""What a column is called while the one that takes its place is made. No property can be called that, or this: """
_COMPUTED = "computed {}"

_Values = Callable[[pa.Array], pa.Array]
"""Other values for those of a column."""


@frozen
class Reshaping:
    """What a plan says about the columns of one type, beyond what its two states show."""

    backfill: Mapping[str, object] = field(default_factory=dict)
    """Values as they are stored, by the name of the property."""
    compute: Mapping[str, Computed] = field(default_factory=dict)
    """Expressions over the properties of before, by the name of the property."""
    renamed_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Values of enums, old to new, by the name of the property."""
    loses_data: bool = False


def reshaping_of(plan: MigrationPlan, type_: EntityType) -> Reshaping:
    """What a plan says about a type of the desired schema. Raises `UsageError` for a backfill that the property cannot hold."""
    values: dict[str, object] = {}
    compute: dict[str, Computed] = {}
    renamed: dict[str, Mapping[str, str]] = {}
    hard = False
    for step in plan.steps:
        match step:
            case AddProperty(k, t, name, _, fill) | RequireProperty(k, t, name, fill) if (k, t) == (type_.kind, type_.name):
                if isinstance(fill, Computed):
                    compute[name] = fill
                elif fill is not None:
                    values[name] = _stored(type_.name, type_.properties[name], fill)
            case RenameEnumValues(k, t, name, pairs) if (k, t) == (type_.kind, type_.name):
                renamed[name] = dict(pairs)
            case DropProperty(type_kind=k, type_name=t, mode=DropMode.HARD) if (k, t) == (type_.kind, type_.name):
                hard = True
            case _:
                pass
    return Reshaping(values, compute, renamed, hard)


def _stored(owner: str, prop: Property, value: Json) -> object:
    if prop.type.is_blob:
        raise UsageError(
            f"backfill `{owner}.{prop.name}`: a Blob cannot be filled in", hint="Add it as Blob? and load the bytes."
        )
    try:
        return convert(prop.type, value)
    except Misfit as misfit:
        raise UsageError(f"backfill `{owner}.{prop.name}` {misfit}") from None


def reshaped(tables: Tables, state: TableState, before: EntityType, after: EntityType, asked: Reshaping, run: Run) -> Applied:
    """A table whose columns are those of the new type: some go, some have other names, some come, some are filled.

    `run` is one on the state of before the change, which expressions are about.
    """
    old = {prop.property_id: prop for prop in before.properties.values()}
    new = {prop.property_id: prop for prop in after.properties.values()}
    columns = {field.name: field.with_nullable(True) for field in columns_of(after)}
    applied = unchanged(state)
    if asked.compute:
        applied = then(applied, _computed(tables, state, before, after, asked.compute, run))
    for number, prop in new.items():
        if number in old:
            values = _other_values(old[number], prop, asked.renamed_values.get(prop.name, {}))
            if values is not None:
                made = columns[prop.name].with_name(old[number].name)
                applied = then(applied, _made_anew(tables, applied.state, made, values))
    gone = [prop.name for number, prop in old.items() if number not in new]
    if gone:
        applied = then(applied, drop_columns(tables, applied.state, gone))
    renamed = {p.name: new[number].name for number, p in old.items() if number in new and new[number].name != p.name}
    if renamed:
        applied = then(applied, rename_columns(tables, applied.state, renamed))
    came = [prop.name for number, prop in new.items() if number not in old]
    empty = [columns[name] for name in came if name not in asked.backfill and name not in asked.compute]
    if empty:
        applied = then(applied, add_nullable_columns(tables, applied.state, empty))
    for name, value in asked.backfill.items():
        fill = _added if name in came else _completed
        applied = then(applied, fill(tables, applied.state, columns[name], value))
    for name in asked.compute:
        take = _taken if name in came else _completed_by
        applied = then(applied, take(tables, applied.state, columns[name], _COMPUTED.format(name)))
    strict = {field.name for field in tables.open(applied.state).schema if not field.nullable}
    loose = [p.name for p in new.values() if p.type.nullable and p.name in strict]
    if loose:
        applied = then(applied, allow_nulls(tables, applied.state, loose))
    if asked.loses_data and gone:
        applied = then(applied, scrub(tables, applied.state, declared_indexes(after, state.rows)))
    return applied


# ── values from others ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _other_values(old: Property, new: Property, renamed: Mapping[str, str]) -> _Values | None:
    """What makes the values of a property those it has from now on; None: they are the same."""
    if renamed:
        names, others = pa.array(list(renamed), pa.string()), pa.array(list(renamed.values()), pa.string())

        def called(values: pa.Array) -> pa.Array:
            place = pc.index_in(values, value_set=names)
            return pc.if_else(place.is_valid(), others.take(place), values)

        return called
    return None if old.type.form == new.type.form else lambda values: values  # the column has the wider type, and casts


def _computed(
    tables: Tables, state: TableState, before: EntityType, after: EntityType, compute: Mapping[str, Computed], run: Run
) -> Applied:
    """Columns aside with what expressions give for each row."""
    given = {name: computed_value(run.view.catalog, before, after, name, how) for name, how in compute.items()}
    made = {name: columns_of(after).field(name).with_nullable(True).with_name(_COMPUTED.format(name)) for name in given}
    needed = sorted({"id", *(part.property for value in given.values() for part in _parts(value))})

    def values(batch: pa.RecordBatch) -> pa.RecordBatch:
        scope = TableRows(run, pa.Table.from_batches([batch]))
        found = [_fitting(vector(value, scope).to_arrow(), after, name) for name, value in given.items()]
        return pa.record_batch(found, [field.name for field in made.values()])

    return add_computed_columns(tables, state, list(made.values()), values, needed)


def _parts(tree: object) -> Iterator[lg.PropertyValue]:
    """Properties that an expression is about."""
    if isinstance(tree, lg.PropertyValue):
        yield tree
    elif isinstance(tree, tuple):
        for item in tree:
            yield from _parts(item)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for about in fields(tree):
            yield from _parts(getattr(tree, about.name))


def _fitting(values: pa.Array | pa.ChunkedArray, owner: EntityType, name: str) -> pa.Array:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    type_ = owner.properties[name].type
    try:
        return whole.cast(arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UsageError(
            f"compute `{owner.name}.{name}`: a value that the expression gives is not one of {type_.as_required()}",
            hint="Nothing was changed. Take a wider type, or an expression that stays in its range.",
        ) from None


def _taken(tables: Tables, state: TableState, column: pa.Field, aside: str) -> Applied:
    """A new column of what was computed."""
    return rename_columns(tables, state, {aside: column.name})


def _completed_by(tables: Tables, state: TableState, column: pa.Field, aside: str) -> Applied:
    """A column with what was computed wherever it had nothing."""

    def filled(batch: pa.RecordBatch) -> pa.RecordBatch:
        there = batch.column(_MADE_ANEW)
        return pa.record_batch([pc.if_else(there.is_valid(), there, batch.column(aside))], [column.name])

    if not tables.open(state).count(is_null(column.name)):
        return drop_columns(tables, state, [aside])
    old = rename_columns(tables, state, {column.name: _MADE_ANEW})
    made = then(old, add_computed_columns(tables, old.state, [column], filled, [_MADE_ANEW, aside]))
    return then(made, drop_columns(tables, made.state, [_MADE_ANEW, aside]))


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
    return _made_anew(tables, state, column, lambda there: pc.if_else(there.is_valid(), there, _repeated(one, len(there))))


def _made_anew(tables: Tables, state: TableState, column: pa.Field, values: _Values) -> Applied:
    """A column with other values, in the place of the one that had its name."""

    def computed(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch([values(batch.column(_MADE_ANEW))], [column.name])

    aside = rename_columns(tables, state, {column.name: _MADE_ANEW})
    made = then(aside, add_computed_columns(tables, aside.state, [column], computed, [_MADE_ANEW]))
    return then(made, drop_columns(tables, made.state, [_MADE_ANEW]))


def _repeated(one: pa.Array, times: int) -> pa.Array:
    return one.take(pa.array([0] * times, pa.int64()))
