"""What `delete` is given, as what a load reads: rows of keys, each of which says that it deletes.

{"Person": ["Ada", "Bob"]}                         keys, or ids where a type has none
{"Order": [("acme", 7)], "Knows": [{"from": "Ada", "to": "Bob"}]}
{"Person": [node]}                                 nodes and edges that were read before
{"Person": frame}                                  columns of keys, or of ids; other properties do not matter
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from omnigraph.catalog.catalog import EntityType
from omnigraph.engine.export.entities import named
from omnigraph.engine.load.read.inputs.naming import type_named
from omnigraph.engine.load.read.inputs.sources import BATCH_ROWS, arrow_batches, is_distributed, is_frame, of_frame
from omnigraph.engine.load.read.rows.removals import COLUMN, DELETE
from omnigraph.engine.planning.keys import KeySchema
from omnigraph.errors import UsageError


def deletions(source: Mapping[str, Any], schema: KeySchema) -> dict[str, Any]:
    """What to load so that entities are deleted."""
    return {str(name): _rows(type_named(str(name), schema.catalog), given, schema) for name, given in source.items()}


def _rows(type_: EntityType, given: Any, schema: KeySchema) -> Any:
    if is_distributed(given):
        return given.selectExpr("*", f"'{DELETE}' as {COLUMN}")
    if is_frame(given):
        content = of_frame(type_, given)
        return list(_keys(type_, content, schema)) if isinstance(content, list) else _marked(content)
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise UsageError(
            f"cannot delete {type_.name} by {type(given).__name__}",
            hint=f"Give a list of keys, a frame of them, or load a file with a column `{COLUMN}`.",
        )
    return list(_keys(type_, given, schema))


def _marked(content: Any) -> pa.Table | pa.RecordBatchReader:
    """The same rows, each of which says that it deletes: as they are, if they are few, so that they can be read again."""
    if isinstance(content, pa.Table) and content.num_rows <= BATCH_ROWS:
        return content.append_column(COLUMN, pa.array([DELETE] * content.num_rows, pa.string()))
    batches = arrow_batches(content)
    columns = content.schema.append(pa.field(COLUMN, pa.string()))

    def marked() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column = pa.array([DELETE] * min(batch.num_rows, BATCH_ROWS), pa.string())
            yield pa.RecordBatch.from_arrays([*batch.columns, column], schema=columns)

    return pa.RecordBatchReader.from_batches(columns, marked())


def _keys(type_: EntityType, keys: Iterable[Any], schema: KeySchema) -> Iterator[dict[str, Any]]:
    for key in keys:
        row = dict(key) if isinstance(key, Mapping) else {"id": named(schema, type_, key)}
        yield {**row, COLUMN: DELETE}
