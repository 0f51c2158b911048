"""Property types as Spark types, both ways and without loss, or refused before any work starts.

    Bool I32 I64 F32 F64 String Date      boolean int bigint float double string date
    enum                                  string; values are checked when they are written
    U32                                   bigint
    U64                                   decimal(20,0)
    DateTime                              timestamp (its microseconds are whole milliseconds)
    Vector(n)                             array<float>
    Blob                                  binary; one that refers to another place is refused
    [T]                                   array<T>

A column may be written to a property if the table of conversions takes its kind of values (`omnigraph.model.conversions`). Each
value is then taken exactly, or is a violation with its row: `bigint` may go into U32 and `double` into F32, but not 0.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from omnigraph.catalog.catalog import Catalog, EntityType
from omnigraph.catalog.keys import end_rule
from omnigraph.engine.arrays.blob_cells import blob_properties, held_bytes
from omnigraph.engine.load.read.rows.ends import end_takes, node_at
from omnigraph.engine.load.read.rows.removals import COLUMN, names_column
from omnigraph.errors import UsageError
from omnigraph.language.diagnostics import did_you_mean
from omnigraph.model.conversions import Door, takes
from omnigraph.model.given import Kind
from omnigraph.model.phrases import counted
from omnigraph.model.types import PropertyType, Scalar

_SPARK: dict[Scalar, st.DataType] = {
    Scalar.STRING: st.StringType(),
    Scalar.BLOB: st.BinaryType(),
    Scalar.BOOL: st.BooleanType(),
    Scalar.I32: st.IntegerType(),
    Scalar.I64: st.LongType(),
    Scalar.U32: st.LongType(),
    Scalar.U64: st.DecimalType(20, 0),
    Scalar.F32: st.FloatType(),
    Scalar.F64: st.DoubleType(),
    Scalar.DATE: st.DateType(),
    Scalar.DATETIME: st.TimestampType(),
}

_KINDS: dict[type[st.DataType], Kind] = {
    st.BooleanType: Kind.BOOL,
    **dict.fromkeys((st.ByteType, st.ShortType, st.IntegerType, st.LongType), Kind.INTEGER),
    **dict.fromkeys((st.FloatType, st.DoubleType), Kind.FLOAT),
    st.DecimalType: Kind.DECIMAL,
    **dict.fromkeys((st.StringType, st.CharType, st.VarcharType), Kind.TEXT),
    st.BinaryType: Kind.BYTES,
    st.DateType: Kind.DATE,
    **dict.fromkeys((st.TimestampType, st.TimestampNTZType), Kind.MOMENT),
}
_ENDS = {"from": "src", "src": "src", "to": "dst", "dst": "dst"}
_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL)


def spark_type(type_: PropertyType) -> st.DataType:
    """The Spark type of a property."""
    if type_.is_vector:
        return st.ArrayType(st.FloatType(), containsNull=False)
    scalar = _SPARK[type_.scalar]
    return st.ArrayType(scalar, containsNull=False) if type_.is_list else scalar


def spark_schema(type_: EntityType, columns: Sequence[str] | None = None) -> st.StructType:
    """The columns of a node or edge type, or some of them, in the order asked for."""
    fields = {name: st.StructField(name, st.StringType(), nullable=False) for name in _implicit(type_)}
    for name, prop in sorted(type_.properties.items()):
        fields[name] = st.StructField(name, spark_type(prop.type), nullable=prop.type.nullable)
    for name in columns or ():
        if name not in fields:
            hint = did_you_mean(name, fields) or f"There are {', '.join(fields)}."
            raise UsageError(f"{type_.name} has no column `{name}`", hint=hint)
    return st.StructType([fields[name] for name in (fields if columns is None else dict.fromkeys(columns))])


def _implicit(type_: EntityType) -> tuple[str, ...]:
    return type_.implicit


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """How Spark wants to have these columns in Arrow."""
    return to_arrow_schema(schema, timezone="UTC")


def to_spark(type_: EntityType, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Stored columns in the types that Spark wants."""
    columns = {name: batch.column(name) for name in schema.names}
    for name in columns.keys() & set(blob_properties(type_)):
        hint = 'Spark holds bytes. Read the other columns: .option("columns", "…").'
        columns[name] = held_bytes(type_, name, columns[name], hint)
    return pa.RecordBatch.from_arrays([_cast(columns[f.name], f.type) for f in schema], schema=schema)


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if column.type == wanted:
        return column
    if pa.types.is_list(wanted) and pa.types.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    return column.cast(wanted)


def check_writable(type_: EntityType, schema: st.StructType, catalog: Catalog, *, partial: bool = False) -> None:
    """Refuse columns that a type does not have, lacks, or cannot hold. All of them at once. `partial`: it may lack most."""
    wrong: list[str] = []
    known = {"id", COLUMN, *type_.properties} | ({"src", "dst", "from", "to"} if type_.is_edge else set())
    given = {field.name: field.dataType for field in schema.fields}
    for name, spark in given.items():
        if name not in known:
            hint = did_you_mean(name, known)
            wrong.append(f"{type_.name} has no property `{name}`" + (f": {hint}" if hint else ""))
        elif name in type_.properties:
            prop = type_.properties[name].type
            if not _holds(prop, spark):
                wanted = spark_type(prop).simpleString()
                wrong.append(f"{type_.name}.{name} is {prop} and cannot hold {spark.simpleString()}: cast it to {wanted}")
        elif type_.is_edge and name in _ENDS:
            node = node_at(catalog, type_, _ENDS[name])
            if not isinstance(spark, st.NullType) and not end_takes(node, _KINDS.get(type(spark), Kind.OTHER), Door.COLUMNS):
                wrong.append(f"column `{name}` is {spark.simpleString()}, and {end_rule(node)}")
        elif not isinstance(spark, st.StringType):
            wrong.append(f"column `{name}` is {spark.simpleString()}: ids are strings")
    partial |= names_column(type_, given)  # rows then say what they need
    for name, prop_ in type_.properties.items():
        if name not in given and not prop_.type.nullable and not (partial and name not in type_.key_names):
            wrong.append(f"column `{name}` is missing, and {type_.name}.{name} must have a value")
    if partial and not type_.key and "id" not in given and COLUMN not in given:
        wrong.append(f"column `id` is missing: {type_.name} has no key, and `id` says which one changes")
    if type_.is_edge:
        for spellings in (("src", "from"), ("dst", "to")):
            if partial and spellings[0] not in type_.key_names and not given.keys() & set(spellings):
                continue
            if len(given.keys() & set(spellings)) != 1:
                wrong.append(
                    f"exactly one of the columns {' and '.join(f'`{s}`' for s in spellings)} names an end of {type_.name}"
                )
    if wrong:
        head = wrong[0] if len(wrong) == 1 else f"{counted(len(wrong), 'column')} do not fit"
        raise UsageError(
            "\n".join([head, *(f"  {line}" for line in wrong if len(wrong) > 1)]), hint="Nothing was read or written."
        )


def _holds(prop: PropertyType, spark: st.DataType) -> bool:
    """Whether values of a Spark type may become values of a property; which of them do is looked at row by row."""
    if prop.is_list or prop.is_vector:
        if not isinstance(spark, st.ArrayType):
            return isinstance(spark, st.NullType)
        spark = spark.elementType
    if isinstance(spark, st.NullType):  # there are no values
        return True
    kind = _KINDS.get(type(spark), Kind.OTHER)
    return kind in _NUMBERS if prop.is_vector else takes(prop.scalar, kind, Door.COLUMNS)
