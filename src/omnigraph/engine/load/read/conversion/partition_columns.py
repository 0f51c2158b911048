"""What batches have beyond the columns of their file: those that folders are called after (`country=de`), at the end of each.

Every reader gives at least one batch, so that columns are known where there is no row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from omnigraph.engine.load.read.conversion.columns import UNCERTAIN, from_cells
from omnigraph.engine.load.read.inputs.sources import CELLS, Input
from omnigraph.engine.write.violations import Violation
from omnigraph.model.types import PropertyType, Scalar


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch that has columns only."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def with_columns(input_: Input, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows with the columns that folders are called after."""
    for name, text in input_.columns:
        one = _cell(input_, name, text)
        column = one.take(pa.array(np.zeros(batch.num_rows, np.int32)))
        batch = pa.RecordBatch.from_arrays(
            [*batch.columns, column], schema=pa.schema([*batch.schema, pa.field(name, column.type)])
        )
    return batch


def column_misfits(input_: Input) -> Iterator[Violation]:
    """Values in the names of folders that do not fit their properties."""
    assert input_.type is not None
    for name, text in input_.columns:
        prop = input_.type.properties.get(name)
        if prop is not None and text is not None and input_.format not in CELLS and _typed(prop.type, text) is None:
            message = f"{input_.type.name}.{name} is {json.dumps(text)[:80]} in the name of a folder, not {prop.type}"
            yield Violation("type", input_.type.name, message, name, value=text, file=input_.name)


def _cell(input_: Input, name: str, text: str | None) -> pa.Array:
    """One value as a column: as text where everything is, of the type of its property elsewhere, if it fits that."""
    prop = None if input_.type is None or input_.format in CELLS else input_.type.properties.get(name)
    typed = None if prop is None or text is None else _typed(prop.type, text)
    return pa.array([text], pa.string()) if typed is None else typed


def _typed(type_: PropertyType, text: str) -> pa.Array | None:
    if type_.is_list or type_.is_vector or type_.scalar is Scalar.BLOB:
        return None
    try:
        return from_cells(type_, pa.array([text], pa.string()), lossy=False)
    except UNCERTAIN:
        return None
